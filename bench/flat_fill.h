// Fills a file with finished jobs, much faster than by running them: a few jobs are run, and their rows are copied.
// Each copy has a run and a random id of its own. Some jobs come only a few times, so that filters find something.
#pragma once

#include <cstdint>
#include <string>

namespace pawl::bench {

inline constexpr std::uint32_t rare_jobs = 10;  // of each rare kind

// Bytes that a file with so many jobs needs, with its log and what the measurements add.
std::uint64_t bytes_of(std::uint64_t jobs);

// Nine of ten jobs are of the graph "one" (a trigger and one worker), each tenth is of the app "sold" and has a label,
// shop=north. In the middle are the rare ones: of "one" that failed with code 409, that completed although "work" was
// refused ("mends"), of namespace "aside", and of "sold" with shop=south. Ends the program if something is wrong.
void fill(const std::string& path, std::uint64_t jobs);

}  // namespace pawl::bench
