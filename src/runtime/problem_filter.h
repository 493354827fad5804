// ProblemFilter: what is reported of problems that come again and again. A damaged file can give thousands in a second,
// and whoever hears them is to see each kind and how many there were.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "pawl/time.h"

namespace pawl::runtime {

class ProblemFilter {
 public:
  // What to report now: nothing when the same was said within the window or the window is full; and first, when a
  // new window begins, what the last one left out.
  std::vector<std::string> pass(const std::string& text, Duration now);

 private:
  Duration window_end_{0};
  std::unordered_map<std::string, std::uint64_t> said_;  // in this window, with how often it came again
  std::uint64_t unsaid_ = 0;                             // others, beyond the limit
};

}  // namespace pawl::runtime
