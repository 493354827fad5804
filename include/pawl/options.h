// Options: named values for what can be chosen. Each has a default, so that a call names only what differs:
//
//   const pawl::RuntimeOptions small{.store = "orders.db", .worker_threads = 2};
//   const pawl::StartOptions hurry{.id = "order-17", .end_within = std::chrono::hours(1), .priority = 10};
//   const pawl::SignalOptions repeatable{.id = "approval-17"};
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "pawl/ids.h"
#include "pawl/payload.h"
#include "pawl/time.h"

namespace pawl {

// How much of what it works on a process keeps in memory: payloads, and roughly what goes with them. Each of these lets
// one more through, however large that is. The store's own caches come on top (SQLite: 82 MB).
struct MemoryOptions {
  // Jobs that are being started, signals and replies on their way, and jobs that are being served. When it is used up,
  // start() waits for room (or says retry_later, see WhenFull), and worker threads begin nothing new.
  std::size_t waiting = std::size_t{48} << 20;
  std::size_t hot_jobs = std::size_t{48} << 20;      // jobs at rest; the longest unused leave memory and are read again
  std::size_t worker_queue = std::size_t{16} << 20;  // inputs of work that is claimed for the worker threads
};

struct RuntimeOptions {
  // The path of a SQLite file, which one process at a time works on; or a server that many share: postgres://...,
  // redis://..., rediss://..., redis-cluster://..., redis-sentinel://... (docs/POSTGRES.md, docs/REDIS.md). ":memory:"
  // keeps nothing.
  std::string store = "pawl.db";
  // Take a server whose settings keep less than docs/GUARANTEES.md says; else it is refused.
  bool accept_weaker_store = false;
  std::string pool = "graphs";  // which jobs this process runs
  std::uint32_t lanes = 0;  // fixed when the pool is made; 0: 1 in a file, 16 on a server, for its processes share them
  // On a server: how long what a process had stays its own when nothing comes from it; then others go on with it. 0:
  // 10 s.
  Duration lease{0};
  std::uint32_t worker_threads = 4;
  std::uint32_t worker_queue = 4096;  // requests claimed for those threads at the most
  // Bytes of the file's log, while another program keeps a transaction open on it: then nothing is accepted
  // (retry_later) until that one ends.
  std::uint64_t log_bytes_max = 1u << 30;
  bool fusion = true;  // false: every step commits alone (for proofs and for the curious)
  MemoryOptions memory{};
  // A worker that is told to stop (Work::cancelled) returns within this time. One that does not is reported, and
  // another thread takes its place.
  Duration worker_grace = std::chrono::seconds(2);
  // A worker that gives neither an answer nor a heartbeat for this time is reported, and another thread takes its
  // place; should it answer after all, that counts. 0: never. So many threads can be replaced at once: 64
  // (hung_threads_max).
  Duration worker_silence = std::chrono::minutes(5);
  // stop(), and the destructor, let what runs finish for this long, then tell the workers to stop; those that do not
  // return within worker_grace are left behind.
  Duration stop_within = std::chrono::seconds(10);
};

// What a taken job id means to whoever starts a job under it again.
enum class IdReuse : std::uint8_t {
  attach,       // the job that has it is the answer (created() is false), whatever its state: start or attach
  reject,       // an error, already_exists
  after_close,  // attach while that job is open; once it has ended, a new one begins
  replace,      // that job is interrupted if it is open, and a new one begins
};

// What start() does when MemoryOptions::waiting bytes or 65,536 requests (submits_waiting_max) are on their way.
enum class WhenFull : std::uint8_t {
  wait,    // until there is room
  refuse,  // an error, retry_later: nothing happened, the same call may succeed later
};

struct StartOptions {
  // Unique in its name space. Empty: the app's `stats.id` says it, or a fresh one is made. Give one if you may call
  // again after a lost answer.
  std::string id{};
  std::string name_space = "default";
  IdReuse reuse = IdReuse::attach;
  Duration delay{0};               // it starts after this time
  Duration end_within{0};          // it is interrupted after this time; 0: never
  std::optional<Duration> keep{};  // how long it stays once it has ended; none: for ever
  std::int32_t priority = 0;       // larger goes first
  WhenFull when_full = WhenFull::wait;
};

struct FindOptions {
  std::string name_space = "default";
};

// What a signal says beside its data.
struct SignalOptions {
  std::string name_space = "default";  // of a signal to a job: the job's own
  bool pending = false;                // its taker waits on for the next one
  std::int32_t code = 0;               // 0: 200, or 202 of a pending one
  // Names this signal, 1 to 200 bytes as other names. Told again under the same id, to the same hook or key, it counts
  // once, for a day: repeat it freely when an answer was lost. Empty: one is made, and the error of a signal whose
  // outcome is not known says which.
  std::string id{};
};

struct RemoveOptions {
  Duration keep_id{0};  // so long the id stays taken
};

struct HeartbeatOptions {
  Duration lease = std::chrono::hours(24);  // until the next heartbeat or the answer; then the work is handed out again
};

// One instance of an activity.
struct ActivityPlace {
  std::string activity;
  std::string address{};  // such as ,0,1,0; empty: the first instance whose effect is unknown
};

struct AppName {
  std::string app;
  std::string version{};
};

}  // namespace pawl
