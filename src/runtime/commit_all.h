// CommitAll: commits what a request asks of many jobs, together. Each operation has its own result, in their order, so
// that what is known of one does not depend on the others.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "store/job_store.h"

namespace pawl::runtime {

using CommitResults = std::vector<Result<store::Outcome>>;  // an error: the operation was not asked, or not in time
using CommitAll = std::function<CommitResults(std::vector<store::Operation>)>;

// In one call of the store.
inline CommitResults commit_in_one(store::JobStore& store, const std::vector<store::Operation>& operations) {
  auto outcomes = store.commit(operations);
  if (!outcomes) return CommitResults(operations.size(), outcomes.error());
  CommitResults results;
  for (store::Outcome& outcome : *outcomes) results.emplace_back(std::move(outcome));
  return results;
}

inline Result<store::Outcome> commit_one(const CommitAll& commit, store::Operation operation) {
  std::vector<store::Operation> one;
  one.push_back(std::move(operation));
  return std::move(commit(std::move(one)).front());
}

}  // namespace pawl::runtime
