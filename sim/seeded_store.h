// SeededStore: bugs of a store, seeded around it. A store has many implementations and one contract; these break the
// contract, so no implementation needs a line for them. Only the copy of the sources for the bug hunt has it.
#pragma once

#include "store/forward_store.h"

#ifdef PAWL_SEEDED_BUGS
#include <map>
#include <set>
#include <string>
#include <utility>
#endif

namespace pawl::sim {

#ifdef PAWL_SEEDED_BUGS

class SeededStore final : public store::ForwardStore {
 public:
  using store::ForwardStore::ForwardStore;

  Result<std::vector<store::Outcome>> commit(std::span<const store::Operation> group) override;
  Result<store::LaneInfo> read_lane(core::LaneId lane) override;
  Result<std::optional<RunId>> find_run(const Namespace& name_space, const JobId& id) override;
  Result<std::optional<store::StoredJob>> read_job(RunId run) override;
  Result<store::Page<store::OutboxRow>> read_outbox(core::LaneId lane, std::size_t rows_max) override;

 private:
  using Row = std::pair<core::LaneId, std::uint64_t>;  // the target and the number

  store::Outcome put(const store::Operation& operation);
  store::Outcome commit_one(const store::Operation& operation);

  store::Outcome run(core::Bundle bundle);
  store::Outcome run(const store::Submit& submit);
  store::Outcome run(const store::Deliver& deliver);
  store::Outcome run(store::DropOutbox drop);
  store::Outcome run(const store::AcquireLane& acquire);
  store::Outcome run(const store::ClaimWork& claim);
  store::Outcome run(const store::RemoveJob& remove);
  store::Outcome run(const store::BeatEngine& beat);

  void forge_guards(store::Operation& operation);
  store::Outcome mistake_child(const store::Deliver& deliver, const core::JobKey& key, const core::StartChild& start);
  store::Outcome deliver_to_nobody(const store::Deliver& deliver);
  void overwrite_progress(const core::Bundle& bundle);
  core::WorkToken token_of(RunId run, core::ActivitySeq activity, core::WorkToken otherwise);

  std::uint64_t bundles_ = 0;                            // so far
  std::set<core::Guid> acknowledged_;                    // although their bundles were refused
  std::map<std::string, store::EngineInfo> ever_alive_;  // engines
  std::map<JobId, RunId> ids_;                           // of all tenants
  std::map<std::pair<core::LaneId, core::LaneId>, std::uint64_t>
      jumped_;                                                    // by source and target: the last row taken early
  std::map<core::LaneId, std::map<Row, std::uint64_t>> numbers_;  // of rows, by source, for all targets together
};

#else

using SeededStore = store::ForwardStore;

#endif

}  // namespace pawl::sim
