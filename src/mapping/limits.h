// Every limit of the mapping language. Expressions come from other people's files and run inside the engine, so
// everything that can grow has a limit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pawl::mapping {

// At compile time.
inline constexpr std::size_t expression_depth_max = 64;      // nested objects, arrays, pipes in a source
inline constexpr std::size_t expression_nodes_max = 50'000;  // values in one source
inline constexpr std::size_t reference_bytes_max = 1'024;    // characters between { and }
inline constexpr std::size_t reference_parts_max = 64;       // names between the dots
inline constexpr std::size_t expression_bytes_max = 4'096;   // between {= and }
inline constexpr std::size_t mistakes_max = 100;             // further mistakes are not reported

inline constexpr std::size_t json_depth_max = 64;  // nesting of JSON text that is read

// At evaluation time; Budget holds what is left of the first two.
inline constexpr std::uint64_t evaluation_steps_max = 1'000'000;
inline constexpr std::uint64_t evaluation_bytes_max = 64ULL * 1024 * 1024;
inline constexpr std::size_t value_depth_max = 128;          // nesting of a value an expression builds
inline constexpr std::size_t pattern_bytes_max = 4'096;      // a regular expression's text
inline constexpr std::int64_t pattern_memory_max = 1 << 20;  // what RE2 may spend on one pattern
inline constexpr std::size_t cron_bytes_max = 256;           // a cron expression's text

}  // namespace pawl::mapping
