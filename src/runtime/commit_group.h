// How a group is committed: by the store, or by the worker's transaction that its bundle belongs to.
#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "runtime/commit_times.h"
#include "runtime/outgoing.h"
#include "store/job_store.h"

namespace pawl::runtime {

inline Result<std::vector<store::Outcome>> commit_group(store::JobStore& store, const Group& group,
                                                        CommitTimes& times) {
  if (group.transaction == nullptr) {
    const auto begin = std::chrono::steady_clock::now();
    auto outcomes = store.commit(group.operations);
    times.count(std::chrono::steady_clock::now() - begin, group.operations.size());
    return outcomes;
  }
  auto outcome = group.transaction->commit(std::get<core::Bundle>(group.operations.front()));
  if (!outcome) return outcome.error();
  std::vector<store::Outcome> outcomes;
  outcomes.push_back(std::move(*outcome));
  return outcomes;
}

}  // namespace pawl::runtime
