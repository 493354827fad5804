// DuplexRunner: the duplex engine as the runtime sees it. It shares the runtime's store, graphs, worker threads and
// the engine's thread; LocalRuntime owns it and gives it whatever concerns a graph under collation duplex.
//
// The operations of different messages share a sync. Each is still a step of its own: of one message there is never
// more than one operation in a group.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "duplex/engine.h"
#include "pawl/runtime.h"
#include "runtime/engine.h"
#include "runtime/graph_catalog.h"
#include "store/store.h"

namespace pawl::runtime {

class DuplexRunner final : private duplex::Events {
 public:
  // What it tells: `events` as the other engine does, `observer` (may be empty) what happens to activities. The
  // references must outlive it.
  DuplexRunner(std::uint64_t seed, store::Store& store, const Clock& clock, const GraphCatalog& graphs,
               EngineEvents& events, const std::function<void(const Event&)>& observer);

  bool takes(const GraphName& graph) const;  // its newest version is one of ours
  void submit(SubmitRequest request, core::LaneId lane, Ticket ticket);
  bool answer(const WorkAnswer& answer);         // false: not one of ours
  bool give_back(const core::WorkItem& item);    // likewise
  // Likewise. Its progress is kept nowhere: a duplex job has no row for it.
  bool heartbeat(const WorkRun& run) const { return running_.contains(run); }
  bool leave(const WorkRun& run, Duration within);  // likewise; the answer comes by token
  void caller_committed(const store::Operation& operation);  // not a step of ours, but of one of our jobs
  void own(std::vector<duplex::OwnedLane> lanes) { engine_.own(std::move(lanes)); }
  void serve(const Topic& topic) { engine_.serve(topic); }
  void add_slots(std::size_t count) { engine_.add_slots(count); }
  void look() { engine_.look(); }
  void stop() { engine_.stop(); }
  void leave_runs();  // nobody here waits for any worker: as after a crash

  bool commit_something();  // false: nothing to commit now
  std::optional<Duration> next_wake() const { return engine_.next_wake(); }
  bool drained() const { return engine_.drained(); }
  bool store_refuses() const { return engine_.store_refuses(); }

 private:
  // duplex::Events
  void dispatch(const store::ClaimedMessage& request, const core::JobRow& job) override;
  void submitted(Ticket ticket, Result<duplex::Started> result) override;
  void replied(Ticket, Status) override {}
  void changed(const core::JobRow& job, const Graph& graph, const duplex::Change& change) override;
  void ended(RunId run) override;
  void problem(const std::string& text) override { events_.problem(text); }

  store::Store& store_;
  const Clock& clock_;
  const GraphCatalog& graphs_;
  EngineEvents& events_;
  const std::function<void(const Event&)>& observer_;
  std::unordered_map<WorkRun, core::Guid, WorkRunHash> running_;  // with local workers, to their requests
  duplex::Engine engine_;
};

// What `inspect` shows of a duplex job: the 15 digits of each instance are its duplex state.
JobDetail duplex_detail_of(const store::DuplexJob& job, const Graph* graph);

}  // namespace pawl::runtime
