// Shared by life_node and the tests that start it.
#pragma once

#include <map>
#include <string>

#include "life.h"

namespace pawl::testing {

inline AppText effect_graph(const std::string& policy) {
  static const std::map<std::string, WhenUnknown> known{
      {"hold", WhenUnknown::hold}, {"retry", WhenUnknown::retry}, {"ask_probe", WhenUnknown::ask_probe}};
  return step_graph([&](GraphBuilder& act) {
    if (const auto found = known.find(policy); found != known.end()) act.at_most_once(found->second);
  });
}

}  // namespace pawl::testing
