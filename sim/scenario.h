// Scenario: graphs, the jobs that clients want, what the workers of each topic answer, and what is asked of the
// jobs meanwhile. Data only: the world runs it, the model predicts how every job of it must end, whatever fails
// meanwhile.
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

// What a worker does with a request. It depends on the topic and on the number of the try, and on nothing else, so
// that a second run of the same try says the same.
struct Behaviour {
  std::uint32_t pendings = 0;  // replies before the last one
  core::ReplyStatus status = core::ReplyStatus::success;
  std::int32_t code = 200;
  std::size_t padding = 0;  // bytes added to each reply
  bool answers_twice = false;
  bool answers_late = false;  // and once more when everybody has forgotten it
  bool kills_engine = false;  // the poison that the limits on re-entry are for
  bool remote = false;        // claimed from the queue by a worker outside the engines

  std::uint32_t fails_first = 0;  // so many tries fail before one answers as above
  core::ReplyStatus failure = core::ReplyStatus::error;
  std::int32_t failure_code = 503;
  std::uint32_t silent_tries = 0;  // so many tries are never answered
  std::uint32_t silent_runs = 0;   // so many hand-outs are never answered, tries or not
  bool hangs = false;              // a run that is never answered does not return when it is told to
  bool unserved = false;           // nobody serves the topic
  std::uint32_t heartbeats = 0;    // before a run answers or falls silent
  bool later = false;              // the run ends without an answer; it comes by token, through the store
  std::uint32_t forgotten = 0;     // of these, so many hand-outs are never answered
  Duration takes{0};               // how long a run takes; 0: drawn
  bool echoes = false;             // it answers what it was asked
  bool transaction = false;  // what it does is committed with its successful answer, once (effects.h); not on islands

  // What is found out about a lost run, by the probe or, if that cannot tell, by a person.
  enum class Finding : std::uint8_t { done, failed, retry };
  Finding finding = Finding::done;
  bool probe_can_tell = true;
};

// Whether this try fails, and whether this run is never answered.
bool fails(const Behaviour& behaviour, std::uint32_t failures);
bool is_silent(const Behaviour& behaviour, std::uint32_t failures, std::uint32_t runs);

struct WantedJob {
  std::string name_space = "default";
  std::string id;
  std::string graph;
  std::uint32_t submits = 1;  // more: duplicates from other clients
  Duration at{0};
  std::string tag{};  // tells several jobs of one id apart
  store::Reuse reuse = store::Reuse::never;
  Duration delay{0};
  Duration end_within{0};
  std::optional<Duration> keep{};
  std::int32_t priority = 0;
  std::string input{};  // none: one that names the job
};

// What somebody asks of a job or a topic. Interrupt, pause, pause_topic, remove and signal are asked once, at a time;
// the others are asked from that time on, whenever they have something to act upon: a person who sees the job stand.
struct Ask {
  enum class Kind : std::uint8_t {
    interrupt,
    pause,
    resume,
    redrive,
    settle,
    pause_topic,
    resume_topic,
    remove,
    signal,
  };
  Kind kind = Kind::interrupt;
  std::string of;  // a job's id, or a topic
  std::string name_space = "default";
  Duration at{0};
  std::string data{};  // of a signal
};

// Somebody sets the wall clock of all machines.
struct ClockStep {
  Duration at{0};
  Duration by{0};
  bool puts_right = false;  // an earlier step: no leap
};

// How a job of the graph language must end, whoever started it. Written down, not computed: its graph is small.
struct JobEnd {
  std::string id;
  core::JobStatus status = core::JobStatus::completed;
  std::vector<std::string> data{};                   // any of these, if it ends as it should; none: not compared
  std::map<std::string, std::uint32_t> instances{};  // by activity, likewise
  std::optional<core::JobStatus> or_else{};          // it may end so as well
  bool may_be_missing = false;                       // what started it may have been ended before it did
};

struct Scenario {
  std::string name;
  runtime::GraphCatalog* graphs = nullptr;      // never null; outlives the scenario
  std::map<std::string, Behaviour> behaviours;  // by topic; a topic not named here succeeds
  std::vector<WantedJob> jobs;
  std::vector<Ask> asks;
  bool small = false;           // cheap enough for every pair of faults
  bool poisoned = false;        // one job of it must end parked
  bool life = false;            // of tries, times, doubts and requests
  std::uint32_t slots_min = 1;  // a worker that never answers keeps its slot
  bool by_priority = false;     // one slot, and without a fault runs begin in the order of their jobs' priorities
  Duration keep_keys = std::chrono::seconds(40);  // longer than any client asks again
  std::vector<JobEnd> ends{};  // of the jobs of the graph language: then all jobs of the scenario are such
  bool race = false;           // two ends are right, and who is faster decides
  bool endless = false;        // a job of it goes on until it is ended: a fault that takes long costs a million steps
  std::uint64_t starts_within =
      0;                   // without any fault a job's first bundle comes after so many of others; 0: not compared
  std::uint64_t runs = 0;  // of activities, without any fault; of jobs of the graph language
  std::vector<ClockStep> clock_steps{};
  Duration took_max{0};                             // without any fault all of it is over by then; 0: whenever
  std::optional<runtime::EngineBytes> bytes_max{};  // none: as the world's options say

  const Behaviour& behaviour(const std::string& topic) const;
  bool is_graphs() const { return !ends.empty(); }
  const JobEnd* find_end(const std::string& id) const;
  // The graphs of the jobs that are wanted, and of those that they may start.
  std::vector<std::shared_ptr<const Graph>> all_graphs() const;
};

// What the worker of `topic` answers to `input`: a pure function, so every run of a request says
// the same.
Payload reply_data(const std::string& topic, std::string_view input, const Behaviour& behaviour,
                   std::optional<std::uint32_t> pending);
// What a failed try says, and what is found out about a lost run that failed.
Payload failure_data(const std::string& topic, std::string_view input);

// The scenarios of the boundary tests, built once. Their order is part of the printed commands.
const std::vector<Scenario>& all_scenarios();
const Scenario* find_scenario(const std::string& name);

}  // namespace pawl::sim
