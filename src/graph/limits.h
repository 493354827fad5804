// Every limit of the graph language, in one place. docs/GRAPHS.md repeats them; a test compares.
#pragma once

#include <cstddef>

namespace pawl::graph {

inline constexpr std::size_t file_bytes_max = 4 * 1024 * 1024;
inline constexpr std::size_t files_max = 64;                // files of one app, all $refs together
inline constexpr std::size_t document_depth_max = 100;      // lists and maps inside each other
inline constexpr std::size_t document_nodes_max = 300'000;  // of one file, aliases expanded
inline constexpr std::size_t ref_nodes_max = 100'000;       // that the $refs of one app expand to
inline constexpr std::size_t key_bytes_max = 512;
inline constexpr std::size_t flow_depth_max = 256;  // brackets open at once, counted before YAML parses them
inline constexpr std::size_t mistakes_max = 200;    // more are counted, not kept
inline constexpr std::size_t graphs_max = 256;
inline constexpr std::size_t activities_max = 2'000;         // of one graph
inline constexpr std::size_t plain_activities_max = 20'000;  // of one without expressions (Graph::is_plain)
inline constexpr std::size_t transitions_max = 40'000;
inline constexpr std::size_t id_bytes_max = 128;
inline constexpr std::size_t parallel_max = 1'000;  // items of one map in flight

inline constexpr std::size_t schema_nodes_max = 10'000;
inline constexpr std::size_t schema_pattern_bytes_max = 1'000;
inline constexpr std::size_t schema_pattern_memory_max = 256 * 1024;
inline constexpr std::size_t schema_steps_max = 1'000'000;  // of one validation
inline constexpr std::size_t schema_depth_max = 256;        // of one validation, $refs included
inline constexpr std::size_t schema_faults_max = 32;        // reported by one validation

}  // namespace pawl::graph
