// Equality of JSON values as JSON Schema defines it: 1 and 1.0 are equal, the order of keys is not significant.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <cstdint>

namespace pawl::graph {

// Limits the steps of one validation; every value that is read costs a step.
class StepBudget {
 public:
  explicit StepBudget(std::size_t steps) : left_(steps) {}
  bool spend(std::size_t steps = 1) {
    if (steps > left_) {
      left_ = 0;
      exhausted_ = true;
      return false;
    }
    left_ -= steps;
    return true;
  }
  bool exhausted() const { return exhausted_; }

 private:
  std::size_t left_;
  bool exhausted_ = false;
};

long double number_of(const boost::json::value& value);  // REQUIRES: value.is_number()
bool equal(const boost::json::value& a, const boost::json::value& b, StepBudget& budget);
std::uint64_t hash_of(const boost::json::value& value, StepBudget& budget);

}  // namespace pawl::graph
