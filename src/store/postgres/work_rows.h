// WorkRows: the work items that a group names. They belong to their jobs, whose rows are held; only a claim by topic
// (claims.h) takes items without it. So whatever was decided by an item's token says so when it is written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/bundle.h"
#include "core/job_state.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

class WorkRows {
 public:
  using Key = std::pair<RunId, core::ActivitySeq>;
  void want(RunId run, core::ActivitySeq seq) { wanted_.emplace(run, seq); }
  void want_with_input(RunId run, core::ActivitySeq seq) { wanted_whole_.emplace(run, seq); }
  void want_all_of(RunId run) { wanted_runs_.insert(run); }
  void want_pauses(const Topic& topic) { wanted_topics_.insert(topic); }
  void want_all_pauses() { wants_all_pauses_ = true; }
  // As if it had been found nowhere among the paused ones. It says so when the group is written.
  void assume_runs(const Topic& topic) { assumed_topics_.insert(topic); }

  void ask(Script& script);
  // Items that no store can have written are in damaged(): whatever is asked of them is refused.
  Status take(Done& answers);
  void write(Script& script) const;
  void forget() { *this = WorkRows(); }

  // As if it had been read: held by this token. It says so when it is dropped.
  void assume(RunId run, core::ActivitySeq seq, core::WorkToken token);

  const core::WorkItem* find(RunId run, core::ActivitySeq seq) const;
  bool is_damaged(RunId run, core::ActivitySeq seq) const { return damaged_.contains({run, seq}); }
  bool is_paused(const Topic& topic, core::LaneId lane) const;
  // One that is put again keeps its place in the queue.
  void put(core::WorkItem item);
  // What may change of an item after it was put.
  void move(core::WorkItem item);
  void drop(RunId run, core::ActivitySeq seq);
  void sweep(RunId run);
  std::vector<core::ActivitySeq> all_of(RunId run) const;  // REQUIRES: they were wanted

 private:
  struct Slot {
    std::optional<core::WorkToken> token;  // of the stored item, if it was read
    std::optional<core::WorkItem> now;
    bool is_assumed = false;
    bool replaced = false;  // all of it, not only what moves
    bool changed = false;
    std::uint64_t place = 0;  // of a new one, in the order in which they were put
  };
  std::set<Key> wanted_, wanted_whole_;
  std::set<RunId> wanted_runs_;
  std::set<Topic> wanted_topics_, assumed_topics_;
  bool wants_all_pauses_ = false;
  std::optional<std::size_t> at_, whole_at_, runs_at_, topics_at_;
  std::map<Key, Slot> slots_;
  std::set<Key> damaged_;
  std::vector<RunId> swept_;
  std::vector<std::pair<Key, std::optional<core::WorkToken>>> dropped_;  // and put anew or swept since
  std::uint64_t next_place_ = 0;
  std::set<std::pair<Topic, core::LaneId>> paused_;  // lane 0: all of them
};

extern const Statement move_work;
// A row for it.
void add_move(Batch& batch, const core::WorkItem& item, core::WorkToken before);

}  // namespace pawl::store::postgres
