// JobRows: the jobs that a group names, locked in the order of their runs until the commit. Only the transaction that
// locks a job's row may change what belongs to the job: its activities, ledgers, messages and work.
//
// The step of a job and the snapshot of the message that closed it are one statement, step_semaphore_and_snapshot
// (store/snapshot.h), for all jobs of the group at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/bundle.h"
#include "core/job_state.h"
#include "store/operation.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

// The state that guards a job, and the names that notifications need.
struct JobGuard {
  core::Rev rev{0};
  core::BundleId bundle{0};
  core::JobStatus status = core::JobStatus::running;
  std::int64_t semaphore = 1;
  std::uint32_t completions = 0;
  std::uint32_t next_activity = 0;
  Namespace name_space{""};
  JobId id{""};
  GraphName graph{""};
  std::optional<core::Guid> parent_request;
};

class JobRows {
 public:
  void want(RunId run) { wanted_.insert(run); }

  void ask(Script& script);
  Status take(Done& answers);
  void write_new(Script& script) const;
  // For jobs that are locked: called after all ledgers are written, because it adds to them. For jobs that are not:
  // called before any other write to them, because it locks them in their order. A job that begins here and runs on is
  // written with its step by write_new().
  void write_steps(Script& script) const;
  void write_removed(Script& script) const;  // after all other writes
  void forget() { *this = JobRows(); }

  const JobGuard* find(RunId run) const;
  // Assumes, without reading, that the job is as the bundle expects it. The step compares this when it is written.
  void assume(const core::Bundle& bundle, const core::JobHead& head);
  void make(RunId run, const Submit& submit, const std::optional<core::ParentLink>& parent);
  bool has_stepped(RunId run) const { return steps_.contains(run); }
  // REQUIRES: the job was found, and its guards hold. The references must stay valid until the commit.
  void step(const core::Bundle& bundle, const core::JobHead& head);
  // The message whose ledger gets the digit if the step hits. `activity` none: the ledger has its own row.
  void snapshot(RunId run, std::optional<core::ActivitySeq> activity, const core::Guid& guid, std::int64_t ledger);
  void remove(RunId run);

 private:
  struct Step {
    const core::Bundle* bundle;
    const core::JobHead* head;
    JobGuard before;
    std::optional<core::ActivitySeq> activity;
    std::optional<core::Guid> guid;
    std::int64_t ledger = 0;
  };
  // Whether the job runs before and after the step, and only its counters change.
  static bool is_running_on(const Step& one);
  bool is_made_as_stepped(RunId run) const;
  void write_running_steps(Script& script, const std::vector<RunId>& runs) const;  // REQUIRES: all of them run on
  struct Made {
    const Submit submit;
    std::optional<core::ParentLink> parent;
  };
  std::set<RunId> wanted_;
  std::optional<std::size_t> at_;
  std::map<RunId, JobGuard> rows_;
  std::map<RunId, Step> steps_;
  std::map<RunId, Made> made_;
  std::vector<RunId> removed_;
};

// Text from outside, in a form that a text column accepts.
std::string stored_text(std::string_view text);

}  // namespace pawl::store::postgres
