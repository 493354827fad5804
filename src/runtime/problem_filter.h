// ProblemFilter: limits reports of problems that repeat. A damaged file can give thousands in a second, and the reader
// should see each kind and how many there were.
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
  // What to report now: nothing when the same was reported within the window or the window is full; and first, when a
  // new window begins, what the last one left out.
  std::vector<std::string> pass(const std::string& text, Duration now) { return pass(text, text, now); }
  // The same for problems with different texts and one cause, which `about` names.
  std::vector<std::string> pass(const std::string& about, const std::string& text, Duration now);

 private:
  Duration window_end_{0};
  struct Said {
    std::string text;
    std::uint64_t again = 0;  // how often it was repeated
  };
  std::unordered_map<std::string, Said> said_;  // in this window, by subject
  std::uint64_t unsaid_ = 0;                    // left out, beyond the limit
};

}  // namespace pawl::runtime
