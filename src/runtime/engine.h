// Engine: owns lanes, turns messages into bundles and delivers what was committed. It has no thread and no clock, and
// its only I/O is reads: the runtime drives it from one thread, the simulator drives many of them with virtual time. A
// driver's loop is
//
//   give it input (submit, answer, changed, tick)  ->  pump()  ->  take_group()
//     ->  store.commit(group)  ->  finished(group, result)  ->  pump() ...
//
// With EngineOptions::reads_later also take_reads() -> store.read(batch) -> answered(batch, answers) -> pump().
//
// Its work is done by its parts (parts.h): jobs, loader, workshop, post, alarms, lanes, outgoing.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/engine_types.h"
#include "runtime/graph_catalog.h"
#include "runtime/outgoing.h"
#include "runtime/reads.h"
#include "store/change.h"

namespace pawl::runtime {

struct Parts;

class Engine {
 public:
  // The references must outlive the engine.
  Engine(EngineOptions options, store::PoolInfo pool, store::Store& store, const Clock& clock,
         const GraphCatalog& graphs, EngineEvents& events);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  // --- input
  void serve(const Topic& topic);
  void add_slots(std::size_t count);
  // How many of the attempts that are handed out can begin at once; the others wait for a thread.
  void set_threads(std::size_t count);
  void submit(SubmitRequest request, Ticket ticket);
  void answer(WorkReply answer);
  // A thread begins what was handed out: its clocks start now. Needed only if RunClocks::watches it.
  void begun(const WorkRun& run);
  void heartbeat(const WorkRun& run, Payload progress);
  // The worker returned without a reply: the holder of the token replies within `lease`.
  void detach(const WorkRun& run, Duration lease);
  void probed(ProbeAnswer answer);
  void offer_probe(const Topic& topic);  // this process can probe lost attempts of the topic
  // Commits one operation that a caller waits for: Deliver, DeliverReply, ExtendWork, RemoveJob, PauseTopic.
  void request(store::Operation operation, Ticket ticket);
  // Handed out, but not run to its end: no worker began it, or this process stops and told the worker so. It is not
  // counted as handed out. If an at-most-once attempt began, its effect stays unknown.
  void give_back(const core::WorkItem& item, core::Began began);
  // Its worker was told to stop and does not return: others may use its slot. Its reply, if it comes, still counts.
  void write_off(const WorkRun& run);
  // The worker's writes were rolled back with the transaction; this was not the worker's fault.
  void undone(const WorkRun& run);
  // this process waits for no worker any more: as after a crash
  void leave_runs();
  void changed(const store::Change& change);                      // others committed this: look there
  void inbox_changed() { changed(store::Change::everything()); }  // others may have committed anything
  void graphs_changed();                                          // jobs may have waited for one
  void ownership_changed();                                       // lanes may have become free: ask for them
  void tick();                                                    // time passed
  void stop();                                                    // take nothing new; finish running attempts
  void release_lanes();                                           // after draining: others may take over at once

  // --- commits
  void pump();
  // A group with a transaction (Outgoing) is committed by that, not by the store: it goes before all others.
  std::optional<Group> take_group();
  std::optional<Group> take_group_with_transaction();
  void finished(Group group, Result<std::vector<store::Outcome>> result);

  // --- transactions of workers, while nothing else is committed (Transactions)
  bool hold_for_transaction(RunId run);
  void transaction_is_over(RunId run);

  // --- reads, of a remote store
  std::optional<ReadBatch> take_reads();
  std::size_t reads_waiting() const;  // in the next batch
  void answered(ReadBatch batch, std::vector<store::ReadAnswer> answers);

  // When tick() has something to do; none: not before the next input.
  std::optional<Duration> next_wake() const;
  bool has_due() const;    // pump() serves more timers at once, and the next group has room for them
  bool has_ready() const;  // pump() decides for more jobs
  bool drained() const;
  bool store_refuses() const;              // decided bundles wait for the store
  std::size_t operations_waiting() const;  // in the next group
  const std::string& name() const;         // as the store has it for its lanes; any thread
  bool owns_anything() const;
  // The lanes it owns now, with their epochs.
  std::vector<std::pair<core::LaneId, core::Epoch>> owned_lanes() const;
  std::size_t hot_jobs() const;
  // The bytes that it holds now: in requests and busy jobs, and in idle jobs.
  std::size_t waiting_bytes() const;
  std::size_t idle_bytes() const;
  std::size_t worker_bytes() const;
  std::size_t free_slots() const;
  std::size_t probes_remembered() const;  // attempts with unknown effect that were probed
  core::LaneId lane_for(const Namespace& name_space, std::string_view id) const;

 private:
  void tell(const store::Operation& operation, const store::Outcome& outcome);
  void settle(store::Operation& operation, store::Outcome outcome, Ticket ticket, Duration asked_at);
  void settle_asked(const store::Operation& operation, const store::Outcome& outcome);
  void settle_acquired(core::LaneId lane, const store::Outcome& outcome, Duration asked_at);
  void settle_renewed(core::LaneId lane, const store::Outcome& outcome, Duration asked_at);
  void lane_refused(core::LaneId lane, store::OutcomeKind kind);
  void begin_lane(core::LaneId lane, core::Epoch epoch);

  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl::runtime
