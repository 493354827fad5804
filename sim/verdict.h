// Verdict: the first violation that an oracle found. Later ones are consequences and are not kept.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace pawl::sim {

struct Violation {
  std::string oracle;  // which check: the seeded-bug test prints it
  std::string detail;
};

class Verdict {
 public:
  void fail(std::string oracle, std::string detail) {
    if (!first_) first_ = Violation{std::move(oracle), std::move(detail)};
  }
  bool ok() const { return !first_; }
  const std::optional<Violation>& violation() const { return first_; }

 private:
  std::optional<Violation> first_;
};

}  // namespace pawl::sim
