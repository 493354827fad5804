// SpanningStore: for the contract's tests. Many of them send ClaimWork, PauseTopic and DropKeys without a lane, which
// only a store with one domain for all lanes supports. This one wraps a store with a domain per lane and goes from lane
// to lane as an engine does, in the order that one domain would have: so the tests show whether each lane keeps its
// part of the contract.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "store/forward_store.h"

namespace pawl::store::redis {

class SpanningStore final : public ForwardStore {
 public:
  explicit SpanningStore(std::unique_ptr<Store> islands) : ForwardStore(*islands), islands_(std::move(islands)) {}

  Result<std::vector<Outcome>> commit(std::span<const Operation> group) override;
  bool spans_lanes() const override { return true; }
  Store& islands() { return *islands_; }

 private:
  using WorkKey = std::pair<RunId, core::ActivitySeq>;
  Result<Outcome> run(const ClaimWork& claim);
  Result<Outcome> run(const PauseTopic& pause);
  Result<Outcome> run(const DropKeys& drop);
  Result<Outcome> commit_one(Operation operation);
  // Numbers work items over all lanes, in the order of arrival.
  void note(const Operation& operation, const Outcome& outcome);
  void forget(RunId run);
  std::vector<core::LaneId> lanes();
  // A name belongs to one lane for ever: an operation that names another lane is sent to the right one.
  Operation at_home(Operation operation);
  template <class Key>
  core::LaneId home_of(const Key& key, core::LaneId said);

  std::unique_ptr<Store> islands_;
  std::map<WorkKey, std::uint64_t> numbers_;
  std::uint64_t next_ = 1;
  std::map<core::JobKey, core::LaneId> job_homes_;
  std::map<core::MailboxKey, core::LaneId> mailbox_homes_;
};

}  // namespace pawl::store::redis
