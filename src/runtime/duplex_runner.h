// DuplexRunner: the duplex engine as the runtime uses it. It shares the runtime's store, graphs, worker threads and the
// engine's thread; LocalRuntime owns it and passes it everything about graphs under collation duplex.
//
// If the store keeps no such jobs, this class does nothing.
//
// The operations of different messages share a sync. Each is still a separate step: a batch never has more than one
// operation of a message. Nothing here waits for the store: a batch is taken, carried out elsewhere, and its outcome
// reported.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "duplex/engine.h"
#include "pawl/event.h"
#include "pawl/options.h"
#include "runtime/duplex_batch.h"
#include "runtime/engine.h"
#include "runtime/graph_catalog.h"
#include "runtime/observers.h"
#include "store/duplex_store.h"

namespace pawl::runtime {

class DuplexRunner final : private duplex::Events {
 public:
  // The receivers: `events` like those of the other engine, `observers` for events of activities. The references must
  // outlive it.
  struct Setup {
    std::uint64_t seed = 1;
    store::DuplexStore* store = nullptr;  // none: there are no such jobs here
    MemoryOptions memory;
  };
  DuplexRunner(const Setup& setup, const Clock& clock, const GraphCatalog& graphs, EngineEvents& events,
               Observers<Event>& observers);

  // a graph that the store does not support is refused, with what to do
  Status admits(const Graph& graph) const;
  bool takes(const SubmitRequest& request) const;  // its graph is under collation duplex
  void submit(SubmitRequest request, core::LaneId lane, Ticket ticket);
  bool answer(const WorkReply& answer);        // false: not a duplex job
  bool give_back(const core::WorkItem& item);  // false: not a duplex job
  // False: not a duplex job. Its progress is not stored: a duplex job has no row for it.
  bool heartbeat(const WorkRun& run) const { return running_.contains(run); }
  bool leave(const WorkRun& run, Duration within);  // false: not a duplex job; the reply comes by token
  bool write_off(const WorkRun& run);               // false: not a duplex job; its worker does not return
  // One operation that a caller waits for.
  using Done = std::function<void(Result<store::DuplexOutcome>)>;
  void request(store::DuplexOperation operation, Done done);
  void refuse_requests(const Error& error);  // those that still wait
  void own(std::vector<duplex::OwnedLane> lanes);
  void serve(const Topic& topic);
  void add_slots(std::size_t count);
  void look();
  void stop();
  void leave_runs();  // this process waits for no worker any more: as after a crash

  // What is to be carried out now, one batch after the other; none: nothing, or a batch is on its way. A batch of reads
  // alone may come before each: with a local store reads cost little, and jobs that were read take part in the commit.
  std::optional<DuplexBatch> take_batch();
  std::optional<DuplexBatch> take_reads();
  void carried_out(const DuplexBatch& batch, DuplexAnswers answers);
  std::optional<Duration> next_wake() const { return engine_ ? engine_->next_wake() : std::nullopt; }
  bool drained() const { return !engine_ || (engine_->drained() && !is_out_ && ended_.empty()); }
  bool store_refuses() const { return engine_ && engine_->store_refuses(); }
  std::size_t waiting_bytes() const { return engine_ ? engine_->bytes() : 0; }

 private:
  // duplex::Events
  void dispatch(const duplex::HeldRequest& request, const core::JobRow& job) override;
  void submitted(Ticket ticket, Result<duplex::Started> result) override;
  void replied(Ticket, Status) override {}
  void answered(Ticket ticket, Result<store::DuplexOutcome> outcome) override;
  void changed(const core::JobRow& job, const Graph& graph, const duplex::Change& change) override;
  void ended(RunId run) override { ended_.push_back(run); }
  void problem(const std::string& text) override { events_.problem(text); }

  void add_reads(DuplexBatch& batch);
  void tell_end(const core::JobRow& job);
  std::shared_ptr<const Graph> graph_of(const SubmitRequest& request) const;

  store::DuplexStore* const duplex_;
  const Clock& clock_;
  const GraphCatalog& graphs_;
  EngineEvents& events_;
  Observers<Event>& observers_;
  std::unordered_map<WorkRun, core::Guid, WorkRunHash> running_;  // with local workers, to their requests
  std::unordered_map<Ticket, Done> asked_;
  Ticket next_ticket_ = 1;                // for these
  std::vector<RunId> ended_;              // their rows are to be read
  bool is_out_ = false;                   // a batch is on its way
  std::optional<duplex::Engine> engine_;  // none: the store keeps no such jobs
};

// What `inspect` shows of a duplex job: the 15 digits of each instance are its duplex state.
JobDetail duplex_detail_of(const store::DuplexJob& job, const Graph* graph);

}  // namespace pawl::runtime
