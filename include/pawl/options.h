// Options: structs with named values. Each has a default, so that a call names only what differs:
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

// How much a process keeps in memory: payloads, and an estimate of what is stored with them. Each of these limits
// admits one more, of any size. The store's own caches are additional (SQLite: 82 MB).
struct MemoryOptions {
  // Jobs that are being started, signals and replies on their way, and jobs that are being served. When it is used up,
  // start() waits for room (or returns retry_later, see WhenFull), and worker threads begin nothing new.
  std::size_t waiting = std::size_t{48} << 20;
  std::size_t hot_jobs = std::size_t{48} << 20;      // idle jobs; the longest unused are dropped and read again later
  std::size_t worker_queue = std::size_t{16} << 20;  // inputs of work that is claimed for the worker threads
};

struct RuntimeOptions {
  // The path of a SQLite file, which one process at a time works on; or a server that many share: postgres://...,
  // redis://..., rediss://..., redis-cluster://..., redis-sentinel://... (docs/POSTGRES.md, docs/REDIS.md). ":memory:"
  // stores nothing.
  std::string store = "pawl.db";
  // Accept a server whose settings are less durable than docs/GUARANTEES.md promises; otherwise it is refused.
  bool accept_weaker_store = false;
  std::string pool = "graphs";  // which jobs this process runs
  // fixed when the pool is created; 0: 1 in a file, 4 on a Redis that is no cluster, 16 on other
  // servers. The processes of a server share them: no more processes than lanes run jobs at a time
  std::uint32_t lanes = 0;
  // On a server: how long a process keeps its lanes when it sends nothing; then other processes continue its jobs. 0:
  // 10 s.
  Duration lease{0};
  std::uint32_t worker_threads = 4;
  std::uint32_t worker_queue = 4096;  // at most this many requests are claimed for those threads
  // Maximum size of the file's log in bytes, while another program keeps a transaction open on it: then nothing is
  // accepted (retry_later) until that transaction ends.
  std::uint64_t log_bytes_max = 1u << 30;
  // In a file: payloads of at least this size are compressed when their job ends, if that makes them smaller. 0: never.
  // They are read without any setting (docs/OPERATIONS.md).
  std::size_t compress_payloads = 0;
  bool fusion = true;  // false: every step is a separate commit (for proofs and for the curious)
  MemoryOptions memory{};
  // A worker that is told to stop (Work::cancelled) should return within this time. One that does not is reported, and
  // another thread takes its place.
  Duration worker_grace = std::chrono::seconds(2);
  // A worker that sends neither a reply nor a heartbeat for this time is reported, and another thread takes its place;
  // if it replies after all, the reply counts. 0: never. At most 64 threads are replaced at once (hung_threads_max).
  Duration worker_silence = std::chrono::minutes(5);
  // stop(), and the destructor, let running attempts finish for this long, then tell the workers to stop; those that do
  // not return within worker_grace are left running.
  Duration stop_within = std::chrono::seconds(10);
};

// What happens when a job is started under an id that is taken.
enum class IdReuse : std::uint8_t {
  attach,       // returns the existing job (created() is false), in any state: start or attach
  reject,       // an error, already_exists
  after_close,  // attach while that job is open; once it has ended, a new one begins
  replace,      // the existing job is interrupted if it is open, and a new one begins
};

// What start() does when MemoryOptions::waiting bytes or 65,536 requests (submits_waiting_max) are on their way.
enum class WhenFull : std::uint8_t {
  wait,    // until there is room
  refuse,  // an error, retry_later: nothing happened, the same call may succeed later
};

struct StartOptions {
  // Unique in its name space. Empty: the app's `stats.id` sets it, or a new one is made. Set it if you may call again
  // after a lost reply.
  std::string id{};
  std::string name_space = "default";
  IdReuse reuse = IdReuse::attach;
  Duration delay{0};               // it starts after this time
  Duration end_within{0};          // it is interrupted after this time; 0: never
  std::optional<Duration> keep{};  // how long it is kept after its end; none: for ever
  std::int32_t priority = 0;       // larger goes first
  WhenFull when_full = WhenFull::wait;
  // The trace that it belongs to: a W3C traceparent, and behind a space its tracestate, if any. Workers get it
  // (Work::trace), and the jobs that this one starts.
  std::string trace{};
  bool compat_hotmesh = false;  // on the app as HotMesh reads it, as if its file said `compat: hotmesh`
};

struct FindOptions {
  std::string name_space = "default";
};

// Properties of a signal beside its data.
struct SignalOptions {
  std::string name_space = "default";  // for a signal to a job: the job's own
  bool pending = false;                // the hook continues to wait for the next one
  std::int32_t code = 0;               // 0: 200, or 202 if it is pending
  // Names this signal, 1 to 200 bytes like other names. Sent again under the same id, to the same hook or key, it
  // counts once, for a day: so repeat it freely when a reply was lost. Empty: one is made, and if the outcome is
  // unknown the error names it.
  std::string id{};
};

struct RemoveOptions {
  Duration keep_id{0};  // how long the id stays taken
};

// How a job that stopped goes on. A failed one goes on in a new run under its id: what was answered counts, and it
// begins with what failed. A parked one goes on as it is.
struct RedriveOptions {
  // Of a job that is parked because it could not take a worker's answer: this is taken instead. None: the worker is
  // asked again.
  std::optional<Payload> answer{};
  std::int32_t code = 200;  // of that answer
};

// A new job from the input of another one.
struct RerunOptions {
  std::string id{};                // of the new job; empty: the old one's, with .again and a number behind it
  std::optional<Payload> input{};  // none: as it was
  std::string from{};              // an activity: what was answered before it counts; empty: from the beginning
};

struct HeartbeatOptions {
  Duration lease = std::chrono::hours(24);  // until the next heartbeat or the reply; then the work is handed out again
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
