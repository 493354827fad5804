// Tasks: the hooks with `escalation` that wait, over all running jobs.
//
// A task has no row: it is its hook. A claim is a signal that waits in a mailbox which only this task has, so claims
// stand in line in the order of their commits, on every store, and go after a day (docs/decisions/084).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pawl/task.h"
#include "runtime/apps.h"
#include "runtime/commit_all.h"
#include "runtime/graph_catalog.h"
#include "store/store.h"

namespace pawl::runtime {

inline constexpr const char* claims_topic = "pawl.claims";

class Tasks {
 public:
  // The references must outlive it.
  Tasks(store::Store& store, store::PoolInfo pool, const Apps& apps, const GraphCatalog& graphs, CommitAll commit)
      : store_(store), pool_(std::move(pool)), apps_(apps), graphs_(graphs), commit_(std::move(commit)) {}

  Result<std::vector<Task>> list(const TaskFilter& filter);
  // conflict: somebody else has it.
  Status claim(const std::string& id, const std::string& who, Duration time);
  Status release(const std::string& id, const std::string& who);
  // conflict: somebody else has it, or resolved it already.
  Status resolve(const std::string& id, const Payload& data, const ResolveOptions& options);

 private:
  struct Claim {
    core::Guid signal;
    std::string who;
    Instant until;
    bool is_over = false;
  };
  // A task and what a request to it needs.
  struct Found {
    Task task;
    store::StoredJob job;
    core::ActivitySeq activity{0};
  };
  Result<std::vector<GraphName>> graphs_with_tasks() const;
  Result<std::vector<Task>> tasks_of(const store::StoredJob& job);
  Result<Found> find(const std::string& id);
  Result<std::vector<Claim>> claims_of(const core::MailboxKey& key);
  Status drop_claims(const core::MailboxKey& key, const std::vector<Claim>& claims,
                     const std::function<bool(const Claim&)>& is_meant);

  store::Store& store_;
  const store::PoolInfo pool_;
  const Apps& apps_;
  const GraphCatalog& graphs_;
  const CommitAll commit_;
};

}  // namespace pawl::runtime
