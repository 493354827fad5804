// Compares the answers that clients got, what workers did and what the store holds with the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "history.h"

namespace storm {

struct Figures {
  std::uint64_t jobs = 0;      // accepted
  std::uint64_t submits = 0;   // calls
  std::uint64_t answered = 0;  // of them: accepted or exists
  std::uint64_t refused = 0;   // of them: an error
  std::uint64_t attempts = 0;  // of activities
  std::uint64_t repeated = 0;  // of them: not the first
  std::uint64_t cut = 0;       // of them: begun and never ended
};

struct Report {
  Figures figures;
  std::vector<std::string> violations;  // empty: nothing was found
};

// `answered_percent_min`: below it the storm proves too little, and that is a violation too.
Report check(const History& history, std::uint64_t answered_percent_min = 70);

}  // namespace storm
