// WorkRows: the work items that a group names. They belong to jobs whose rows are locked. Only a claim by topic
// (claims.cc) takes items without that lock. So a decision that was based on an item's token compares the token when it
// is written.
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
  // Assumes, without reading, that the topic is not paused. This is compared when the group is written.
  void assume_runs(const Topic& topic) { assumed_topics_.insert(topic); }

  void ask(Script& script);
  // Damaged items (rows that no store writes) are remembered (is_damaged()): every operation on them is refused.
  Status take(Done& answers);
  void write(Script& script) const;
  void forget() { *this = WorkRows(); }

  // Assumes, without reading, that this token holds the item. This is compared when the item is dropped.
  void assume(RunId run, core::ActivitySeq seq, core::WorkToken token);

  const core::WorkItem* find(RunId run, core::ActivitySeq seq) const;
  bool is_damaged(RunId run, core::ActivitySeq seq) const { return damaged_.contains({run, seq}); }
  bool is_paused(const Topic& topic, core::LaneId lane) const;
  // An item that is put again keeps its place in the queue.
  void put(core::WorkItem item);
  // Writes the fields that may change after an item was put.
  void move(core::WorkItem item);
  void drop(RunId run, core::ActivitySeq seq);
  void sweep(RunId run);
  std::vector<core::ActivitySeq> all_of(RunId run) const;  // REQUIRES: they were wanted

 private:
  struct Slot {
    std::optional<core::WorkToken> token;  // of the stored item, if it was read
    std::optional<core::WorkItem> now;
    bool is_assumed = false;
    bool replaced = false;  // all fields, not only those that change
    bool changed = false;
    std::uint64_t place = 0;  // of a new item, in the order of put()
  };
  std::set<Key> wanted_, wanted_whole_;
  std::set<RunId> wanted_runs_;
  std::set<Topic> wanted_topics_, assumed_topics_;
  bool wants_all_pauses_ = false;
  std::optional<std::size_t> at_, whole_at_, runs_at_, topics_at_;
  std::map<Key, Slot> slots_;
  std::set<Key> damaged_;
  std::vector<RunId> swept_;
  std::vector<std::pair<Key, std::optional<core::WorkToken>>> dropped_;  // and put again or swept since
  std::uint64_t next_place_ = 0;
  std::set<std::pair<Topic, core::LaneId>> paused_;  // lane 0: all lanes
};

extern const Statement move_work;
// Adds the row of a change.
void add_move(Batch& batch, const core::WorkItem& item, core::WorkToken before);

}  // namespace pawl::store::postgres
