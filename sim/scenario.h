// Scenario: graphs, the jobs that clients submit, the replies of the workers of each topic, and the requests on the
// jobs. Data only: the world runs it, and the model predicts how every job of it must end under any faults.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph.h"
#include "core/message.h"
#include "pawl/time.h"
#include "runtime/engine.h"
#include "runtime/graph_catalog.h"
#include "store/operation.h"

namespace pawl::sim {

using core::Graph;

inline constexpr std::uint32_t for_ever = std::numeric_limits<std::uint32_t>::max();

// What a worker does with a request. It depends on the topic and on the number of the attempt, and on nothing else, so
// that a repetition of the same attempt gives the same reply.
struct Behaviour {
  std::uint32_t pendings = 0;  // replies before the last one
  core::ReplyStatus status = core::ReplyStatus::success;
  std::int32_t code = 200;
  std::size_t padding = 0;  // bytes added to each reply
  bool answers_twice = false;
  bool answers_late = false;     // and once more, much later
  bool kills_engine = false;     // kills the engine that processes it: tests the limits on re-entry
  bool remote = false;           // claimed from the queue by a worker outside the engines
  std::uint32_t gives_back = 0;  // of a remote one: this many attempts end without a reply, given back by token

  std::uint32_t fails_first = 0;  // this many attempts fail before one replies as above
  core::ReplyStatus failure = core::ReplyStatus::error;
  std::int32_t failure_code = 503;
  std::uint32_t silent_tries = 0;  // this many counted attempts get no reply
  std::uint32_t silent_runs = 0;   // this many attempts get no reply, counted or not
  bool hangs = false;              // an attempt without a reply does not return when it is cancelled
  bool unserved = false;           // no process serves the topic
  std::uint32_t heartbeats = 0;    // before an attempt replies or falls silent
  bool later = false;              // the attempt ends without a reply; the reply comes by token, through the store
  std::uint32_t forgotten = 0;     // of these, this many attempts get no reply
  Duration takes{0};               // how long an attempt takes; 0: random
  bool echoes = false;             // it replies with its input
  bool broken_at_first = false;    // it fails for good, except in a run that goes on for a failed one
  bool transaction = false;  // its writes are committed with its successful reply, once (effects.h); not on islands

  // What is found out about a lost attempt, by the probe or, if the probe does not know, by a person.
  enum class Finding : std::uint8_t { done, failed, retry };
  Finding finding = Finding::done;
  bool probe_can_tell = true;
};

// Whether this attempt fails, and whether it never gets a reply.
bool fails(const Behaviour& behaviour, std::uint32_t failures);
bool is_silent(const Behaviour& behaviour, std::uint32_t failures, std::uint32_t runs);

struct WantedJob {
  std::string name_space = "default";
  std::string id;
  std::string graph;
  std::uint32_t submits = 1;  // more: duplicates from other clients
  Duration at{0};
  std::string tag{};  // distinguishes several jobs of one id
  store::Reuse reuse = store::Reuse::never;
  Duration delay{0};
  Duration end_within{0};
  std::optional<Duration> keep{};
  std::int32_t priority = 0;
  std::string input{};  // none: one that names the job
};

// What a client asks of a job or a topic. Interrupt, pause, pause_topic, remove, signal and answer are asked once, at a
// time: one that was accepted is not repeated, so one that is lost shows.
// The others are asked from that time on, whenever they have something to act upon, as by a person who sees that the
// job does not continue.
struct Ask {
  enum class Kind : std::uint8_t {
    interrupt,
    cancel,
    pause,
    resume,
    redrive,
    settle,
    go_on,   // of a failed job: a new run takes over its answers, and the failed one goes
    answer,  // of a parked job: in the place of the worker whose answer it refused; else: in the place of a signal
    pause_topic,
    resume_topic,
    remove,
    signal,
    drop_signal,
  };
  Kind kind = Kind::interrupt;
  std::string of;  // a job's id, or a topic
  std::string name_space = "default";
  Duration at{0};
  std::string data{};  // of a signal; of a drop: that of the signal, or of an answer
};

// Sets the wall clock of all machines.
struct ClockStep {
  Duration at{0};
  Duration by{0};
  bool puts_right = false;  // corrects an earlier step: no jump
};

// How a job of the graph language must end, whichever job started it. Written down, not computed: its graph is small.
struct JobEnd {
  std::string id;
  core::JobStatus status = core::JobStatus::completed;
  std::vector<std::string> data{};                   // any of these, if it ends as it should; none: not compared
  std::map<std::string, std::uint32_t> instances{};  // by activity; the same rule as for data
  std::optional<core::JobStatus> or_else{};          // it may also end with this status
  bool may_be_missing = false;                       // the job that starts it may have been ended before
  bool undone = false;                               // what it did has been undone
};

struct Scenario {
  std::string name;
  runtime::GraphCatalog* graphs = nullptr;      // never null; outlives the scenario
  std::map<std::string, Behaviour> behaviours;  // by topic; a topic not named here succeeds
  std::vector<WantedJob> jobs;
  std::vector<Ask> asks;
  bool small = false;           // cheap enough for every pair of faults
  bool poisoned = false;        // one job of it must end parked
  bool life = false;            // about attempts, times, unknown effects and requests
  std::uint32_t slots_min = 1;  // a worker that never replies keeps its slot
  bool by_priority = false;     // one slot, and without a fault attempts begin in the order of their jobs' priorities
  Duration keep_keys = std::chrono::seconds(40);  // longer than any client repeats a submit
  std::vector<JobEnd> ends{};  // of the jobs of the graph language: then all jobs of the scenario are of that language
  bool race = false;           // two ends are correct, and a race decides
  bool endless = false;        // a job of it continues until it is ended: a long fault costs a million steps
  std::uint64_t starts_within =
      0;                   // without any fault a job's first bundle comes after so many of others; 0: not compared
  std::uint64_t runs = 0;  // attempts of activities, without any fault; for jobs of the graph language
  std::vector<ClockStep> clock_steps{};
  Duration took_max{0};                             // without any fault everything is over by then; 0: no limit
  std::optional<runtime::EngineBytes> bytes_max{};  // none: as in the world's options

  const Behaviour& behaviour(const std::string& topic) const;
  bool is_graphs() const { return !ends.empty(); }
  const JobEnd* find_end(const std::string& id) const;
  // The graphs of the jobs that are wanted, and of those that they may start.
  std::vector<std::shared_ptr<const Graph>> all_graphs() const;
};

// The reply of the worker of `topic` to `input`: a pure function, so every attempt of a request gives the same reply.
Payload reply_data(const std::string& topic, std::string_view input, const Behaviour& behaviour,
                   std::optional<std::uint32_t> pending);
// The reply of a failed attempt, and the finding about a lost attempt that failed.
Payload failure_data(const std::string& topic, std::string_view input);

// The scenarios of the boundary tests, built once. Their order is part of the printed commands.
const std::vector<Scenario>& all_scenarios();
const Scenario* find_scenario(const std::string& name);

}  // namespace pawl::sim
