// World: engines, workers and clients over one store, on one thread, under virtual time. Every event has a time; all
// delays are random numbers from the seed, so a seed repeats a simulation exactly.
//
// A simulation has two phases. Until `heal_at` faults may strike, and no oracle may be violated. After it nothing fails
// any more and every job must end within `patience`. Then the world continues for a while, so that late messages
// arrive; they must change nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "pawl/bulk.h"
#include "runtime/engine.h"
#include "runtime/lane_table.h"
#include "runtime/run_clocks.h"
#include "sim/clock.h"
#include "sim/effects.h"
#include "sim/event_queue.h"
#include "sim/faults.h"
#include "sim/journal.h"
#include "sim/lane_watch.h"
#include "sim/model.h"
#include "sim/scenario.h"
#include "sim/seeded_store.h"
#include "sim/trace.h"
#include "sim/verdict.h"
#include "sim/watch_store.h"
#include "store/fault/store.h"
#include "store/memory/store.h"

namespace pawl::sim {

inline constexpr Duration ring_late = std::chrono::seconds(1);  // that the store promises (Notification::ring_late_max)

// An engine that joins late or goes early.
struct Coming {
  enum class Kind : std::uint8_t { joins, leaves, dies };  // for good: it does not come back
  Kind kind = Kind::joins;
  std::uint32_t engine = 0;
  Duration at{0};
};

struct WorldOptions {
  std::uint64_t seed = 1;
  std::uint32_t engines = 1;
  std::uint32_t lanes = 1;
  std::uint32_t slots = 4;    // per engine: attempts that it may hand out
  std::uint32_t threads = 2;  // per engine: attempts that can run at once; the rest wait in the queue
  bool renewals = true;  // false: the engine holds its lanes as long as it is alive, as over SQLite, and no renewal
                         // scans them. REQUIRES then: one engine that keeps its name
  Duration lease = std::chrono::seconds(10);
  core::Fusion fusion = core::Fusion::on;
  std::size_t hot_jobs_max = 1000;
  std::size_t bundles_per_group_max = 1024;
  std::uint32_t groups_out_max = 1;  // in transit at once; over a store with renewals they arrive in any order
  runtime::EngineBytes bytes_max;
  std::vector<ClockStep> clock_steps;
  std::uint32_t reentries_max = limits::reentries_max;
  bool guests = false;  // some clients are separate processes: they commit their submit and send a notification
  std::string damaged;  // a job of the default namespace, which cannot be read from damage_at on
  Duration damage_at{0};
  bool homes = false;           // every engine had its share of the lanes before it restarted, and comes back to them
  std::vector<Coming> comings;  // REQUIRES: renewals, and one engine that stays
  bool new_name_at_restart = false;  // then a crashed engine's lanes are free only after the lease
  std::int64_t drift_ppm_max = 0;
  Duration clock_error_max{0};  // how far an engine's time of day is ahead of the store's
  Duration latency_max = std::chrono::milliseconds(1);
  Duration work_max = std::chrono::milliseconds(5);
  std::vector<PlannedFault> planned;
  FaultRates rates;
  bool prints = false;          // every operation
  bool traces_bundles = false;  // into WorldReport::trace, to compare two runs of a seed
  Duration heal_at{0};          // of the random faults; planned ones end without it
  // Each lane is a separate node of the store: a group goes to one lane, and each is sent, arrives and is answered
  // independently. REQUIRES: renewals
  bool islands = false;
  bool reads_later = false;          // engines ask in batches; the answers come later, in any order, and in parts
  Duration lane_clock_error_max{0};  // of islands: how far a lane's clock is ahead of the store's
};

struct WorldReport {
  std::optional<Violation> violation;
  std::uint64_t calls = 0;         // commit calls of engines and remote workers
  std::uint64_t calls_to_end = 0;  // of these, until the last job ended
  std::uint64_t fired = 0;         // of these, broken ones
  std::uint64_t crashes = 0;
  std::uint64_t reads_failed = 0;
  std::uint64_t bells_lost = 0;
  std::uint64_t damage_said = 0;
  std::uint64_t trace = 0;
  std::uint64_t runs = 0;  // attempts of activities
  std::uint64_t rows_max = 0;
  std::uint64_t bundles = 0;
  std::uint64_t first_steps = 0;
  std::uint64_t sent_across = 0;  // messages between entities of different lanes
  std::uint64_t stops = 0;
  std::uint64_t letters_disturbed = 0;  // between islands
  std::uint64_t comings = 0;
  std::uint64_t lane_moves = 0;                  // from one engine to another
  Duration lanes_settled{0};                     // when a lane last changed hands
  Duration took{0};                              // virtual
  std::map<std::string, std::string> canonical;  // per job
};

class World {
 public:
  // `scenario` must outlive the world.
  World(const Scenario& scenario, WorldOptions options);
  ~World();

  WorldReport run();

 private:
  struct Node;     // one engine, alive or between two processes
  struct Client {  // one submit that a client waits for
    const WantedJob* wanted;
    std::uint64_t attempt = 0;
    bool answered = false;
  };
  struct Asked {  // one request, repeated until the answer is definite
    const Ask* ask;
    std::uint64_t attempt = 0;
    std::uint64_t number = 0;       // of the request: its guid
    std::uint32_t lane = 0;         // of islands: where a topic is paused next, from 0
    std::uint32_t repeats = 0;      // of a signal that was answered
    bool waits = false;             // for an answer
    bool done = false;              // asked once, and answered
    Duration again_at{0};           // not repeated before this: the request needs time to have an effect
    std::optional<RunId> failed{};  // that a new run goes on for
    std::optional<store::Operation> operation;
  };
  static constexpr runtime::Ticket ask_tickets = 1u << 30;  // above: of submits that are asked, not of clients
  struct Request {  // what one engine was asked to commit: its answer may come when another request is current
    std::size_t asked = 0;
    store::Operation operation;
    std::function<void(const Result<store::Outcome>&)> done{};  // of a remote worker, instead of `asked`
  };
  struct Run;  // one attempt of a work item, with its worker

  // world.cc: time, faults, the main loop
  void post(Duration delay, std::function<void()> act);
  void post_to(Node& node, Duration delay, std::function<void()> act);
  core::JobSecret draw_secret() {
    return core::JobSecret(core::Guid{Random::mix(options_.seed), Random::mix(++secrets_)});
  }
  Duration drawn(Duration up_to) {
    return Duration(1 + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(up_to.count()))));
  }
  std::optional<FaultKind> draw_fault();
  // For a call that no engine makes: it cannot be stopped.
  std::optional<FaultKind> draw_foreign_fault() {
    const auto fault = draw_fault();
    return fault == FaultKind::stopped ? std::nullopt : fault;
  }
  std::uint32_t slots() const { return scenario_.by_priority ? 1 : std::max(options_.slots, scenario_.slots_min); }
  std::uint32_t threads() const { return std::min(slots(), std::max(options_.threads, scenario_.slots_min)); }
  bool healed() const { return clock_.monotonic() >= options_.heal_at; }
  bool all_done() const;
  void run_until(const std::function<bool()>& done, Duration deadline);
  Result<std::vector<store::Outcome>> commit(std::span<const store::Operation> group, store::fault::Fault fault);
  Result<std::vector<store::Outcome>> commit_group(const runtime::Group& group,
                                                   store::fault::Fault fault);  // effects.cc

  // world_engines.cc
  std::string name_of(const Node& node, std::uint32_t boot) const;
  void give_homes();
  void come_and_go(const Coming& coming);
  void watch_shares();
  void boot(Node& node);
  void crash(Node& node);
  void stop(Node& node);
  void end_stop(Node& node);
  void watch_lanes(Node& node);
  void step(Node& node);
  void send(Node& node, runtime::Group group);
  void send_reads(Node& node);
  void plan_wake(Node& node);
  void set_clocks(const ClockStep& set);
  const runtime::EngineBytes& bytes_max() const {
    return scenario_.bytes_max ? *scenario_.bytes_max : options_.bytes_max;
  }
  void submit(std::size_t client);
  void submit_as_guest(std::size_t client);
  bool is_damaged(RunId run) const;
  void acknowledged(std::size_t client, const Result<runtime::Submitted>& result);

  // world_islands.cc
  std::vector<std::size_t> disturb_letters(const runtime::Group& group);
  Result<std::vector<store::Outcome>> commit_to_island(const runtime::Group& group,
                                                       const std::vector<std::size_t>& order,
                                                       store::fault::Fault fault);
  Duration lane_error(core::LaneId lane) const;

  // What happens to a commit call.
  struct Passage {
    store::fault::Fault store;
    Duration arrives{0};
    Duration replies{0};
    bool crash_after = false;
  };
  Passage passage_of(std::optional<FaultKind> fault, std::size_t operations);

  // world_asks.cc
  void look_for_asks();
  std::optional<store::Operation> answer_to_hook(RunId run, const std::string& data);
  std::optional<store::Operation> go_on(Asked& asked);
  std::optional<store::Operation> operation_for(Asked& asked);
  store::Operation signal_for(const Asked& asked);
  void repeat_signal(std::size_t index);
  std::optional<store::Operation> plan(RunId run, const BulkRequest& request);
  void ask(std::size_t index);
  void answered(std::size_t index, const Result<store::Outcome>& outcome);
  void probe(Node& node, const core::WorkItem& item);

  // world_workers.cc
  struct Said {
    core::ReplyStatus status;
    std::int32_t code;
    Payload data;
    core::Guid guid;
  };
  Said said_by(const Run& run) const;
  void begin(const core::WorkItem& item);
  Duration time_of(const Behaviour& behaviour);
  void work(Node& node, const core::WorkItem& item);
  void check_started(const Node& node);
  void begin_some(Node& node);
  void expect_end(Node& node, const std::shared_ptr<Run>& run);
  void go_on(Node& node, std::shared_ptr<Run> run);
  void cancelled(Node& node, const runtime::WorkRun& run);
  void withdraw(Node& node, const runtime::WorkRun& run);
  bool give_back_queued(Node& node, const runtime::WorkRun& run);
  void leave_silence(Node& node, const std::shared_ptr<Run>& run);
  void end(Node& node, const Run& run);
  void answer(Node& node, std::shared_ptr<Run> run);

  // world_remote.cc
  void remote_poll();
  void remote_claim(core::LaneId lane);
  void remote_begin(const std::vector<core::WorkItem>& items);
  void remote_go_on(std::shared_ptr<Run> run);
  void remote_answer(std::shared_ptr<Run> run);
  void remote_answered(const std::shared_ptr<Run>& run, const store::Operation& operation,
                       const store::Outcome& outcome);
  void remote_give_back(std::shared_ptr<Run> run);
  std::optional<runtime::FarTaker> find_far_taker(Node& node, const core::WorkItem& item);
  void far_given(Node& node, const core::WorkItem& item);
  Node* draw_server();
  void ask_server(Node& node, store::Operation operation, std::function<void(const Result<store::Outcome>&)> done);
  void ask_server_until_done(const std::shared_ptr<Run>& run, store::Operation operation,
                             std::function<void(const store::Outcome&)> done);
  void answer_later(std::shared_ptr<Run> run);
  void ring(const store::Operation& operation, const store::Outcome& outcome);  // sends the notification of the commit
  bool loses_ring(Node& node);
  void notify(Node& node, const store::Change& change, Duration after);
  void miss_bell();  // the committing process died before its notification

  // oracle.cc
  void check_end();
  const WantedJob* wanted_of(RunId run) const;
  void check_job(const store::memory::DumpedJob& job, const WantedJob& wanted);
  void check_graph_job(const store::memory::DumpedJob& job, const JobEnd& end);
  void check_sends(const store::memory::Dump& dump);
  void check_closed(const store::memory::DumpedJob& job, const std::string& name);
  void check_ending(const store::memory::DumpedJob& job, const WantedJob& wanted, const std::string& name);
  void check_slots();
  void check_bytes(const Node& node);
  void check_row(const core::JobRow& held);
  void check_runs();
  void check_leftovers(const store::memory::Dump& dump);
  void check_effects(const store::memory::Dump& dump);
  bool is_calm() const;
  bool joins_late(const Node& node) const;

  const Scenario& scenario_;
  const WorldOptions options_;
  Random random_;
  std::uint64_t secrets_ = 0;  // made so far: no two jobs have the same
  VirtualClock clock_;
  Verdict verdict_;
  TraceHash trace_;
  Journal journal_;
  store::memory::Store memory_;
  EffectStore effects_;
  SeededStore seeded_;
  WatchStore watch_;
  LaneWatch lanes_;
  store::fault::Fault current_fault_;
  store::fault::Store store_;
  EventQueue events_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Client> clients_;
  std::vector<Asked> asks_;
  std::uint64_t requests_asked_ = 0;
  std::vector<Request> requests_;  // by ticket, from 1
  std::map<const WantedJob*, Expected> expected_;
  std::size_t parked_expected_ = 0;
  std::map<const WantedJob*, RunId> acknowledged_;
  std::map<const WantedJob*, std::uint32_t> created_;
  WorldReport report_;
  std::size_t payload_max_ = 0;  // of any input or reply
  std::size_t replies_max_ = 0;  // of any job, pending ones too
  std::uint32_t random_faults_ = 0;
  bool in_order_ = true;                 // only stops happened: attempts can be counted exactly
  std::vector<Topic> remote_topics_;     // that jobs of this simulation need
  std::set<core::LaneId> remote_lanes_;  // lanes of their work; lane 0: the store looks in all of them
};

// The node is an EngineEvents: it turns the calls of its engine into events of the world.
struct World::Node final : runtime::EngineEvents, store::Listener {
  Node(World& w, std::size_t i, EngineClock::Error error) : world(w), index(i), clock(w.clock_, error) {}
  void dispatch(const core::WorkItem& item) override;
  void cancel(const runtime::WorkRun& run) override { world.cancelled(*this, run); }
  void withdraw(const runtime::WorkRun& run) override { world.withdraw(*this, run); }
  void probe(const core::WorkItem& item) override { world.probe(*this, item); }
  std::optional<runtime::FarTaker> find_far_taker(const core::WorkItem& item) override {
    return world.find_far_taker(*this, item);
  }
  void give_far(std::uint64_t, const core::WorkItem& item, const core::JobRow*) override {
    world.far_given(*this, item);
  }
  void free_far_room(std::uint64_t) override { --promised; }
  void answered(runtime::Ticket ticket, Result<store::Outcome> outcome) override;
  void submitted(runtime::Ticket ticket, Result<runtime::Submitted> result) override;
  void committed(const core::JobState& after, const core::Bundle&) override { world.check_row(after.job); }
  void closed(const core::JobRow& job) override;
  void problem(const std::string& text) override;
  void ring(core::LaneId lane, const store::Change& change) override { world.store_.ring(lane, change); }
  void rung(const store::Change& change) override {
    world.notify(*this, change, world.drawn(world.options_.latency_max));
  }
  void owner_gone() override {}

  World& world;
  const std::size_t index;
  EngineClock clock;
  std::unique_ptr<runtime::Engine> engine;  // null: dead
  std::uint64_t life = 0;                   // events of an earlier process of this node are dropped
  std::uint32_t boots = 0;
  std::uint32_t crashes = 0;
  Duration paused_until{0};
  std::int64_t promised = 0;  // rooms of those who wait at it, for work on its way to the store
  std::uint32_t groups_out = 0;
  Duration last_arrival{0};  // of a group
  std::optional<Duration> wake_at;
  std::set<std::string> damage_said;
  std::deque<core::WorkItem> queue;                        // handed out, and not begun by a thread
  std::map<core::WorkToken, std::shared_ptr<Run>> active;  // each on a thread
  bool stopping = false;
  bool gone = false;  // for good
};

struct World::Run {
  core::WorkItem item;
  std::uint32_t reply = 0;  // pending ones first
  std::uint32_t beats = 0;
  std::uint64_t asked = 0;  // requests of a remote one to servers: only the answer to the last one counts
  std::optional<std::size_t> server{};  // all replies of it go there
  bool silent = false;      // it replies only when it is cancelled, if at all
  bool cancelled = false;
};

WorldReport run_world(const Scenario& scenario, const WorldOptions& options);

}  // namespace pawl::sim
