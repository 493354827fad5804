// Runtime: a store, an engine and local workers in this process. Start here:
//
//   auto runtime = pawl::Runtime::open({.store = "orders.db"});
//   (*runtime)->deploy(std::move(*graph));
//   (*runtime)->serve("payments.charge", [](pawl::Work& work) { return pawl::Reply::success(work.input()); });
//   (*runtime)->start();
//   auto job = (*runtime)->submit({.graph = "order", .id = "order-17", .input = "{}"});
//   auto end = (*runtime)->wait(job->run, std::chrono::seconds(10));
//
// An accepted submit survives kill -9 and power loss. Workers run at least once, with a stable idempotency key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pawl/graph.h"
#include "pawl/ids.h"
#include "pawl/job.h"
#include "pawl/result.h"
#include "pawl/time.h"
#include "pawl/transaction.h"
#include "pawl/worker.h"

namespace pawl {

// How much of what it works on a process keeps in memory: payloads, and roughly what goes with them. Each of these lets
// one more through, however large that is. The store's own caches come on top (SQLite: 82 MB).
struct MemoryOptions {
  // Submits, signals and answers on their way, and jobs that are being served. When it is used up, submit() waits for
  // room, the form with a callback says retry_later, and worker threads begin nothing new.
  std::size_t waiting = std::size_t{48} << 20;
  std::size_t hot_jobs = std::size_t{48} << 20;      // jobs at rest; the longest unused leave memory and are read again
  std::size_t worker_queue = std::size_t{16} << 20;  // inputs of work that is claimed for the worker threads
};

struct RuntimeOptions {
  // The path of a SQLite file, which one process at a time works on; or a server that many share: postgres://...,
  // redis://..., rediss://..., redis-cluster://..., redis-sentinel://... (docs/POSTGRES.md, docs/REDIS.md). ":memory:"
  // keeps nothing.
  std::string store = "pawl.db";
  bool accept_weaker_store =
      false;                    // of a server whose settings keep less than docs/GUARANTEES.md says; else it is refused
  std::string pool = "graphs";  // which jobs this process runs
  std::uint32_t lanes = 0;  // fixed when the pool is made; 0: 1 in a file, 16 on a server, for its processes share them
  // On a server: how long what a process had stays its own when nothing is heard of it; then others go on with it. 0:
  // 10 s.
  Duration lease{0};
  std::uint32_t worker_threads = 4;
  std::uint32_t worker_queue = 4096;       // requests claimed for those threads at the most
  std::uint64_t log_bytes_max = 1u << 30;  // of the file's log, while another program keeps a transaction open on
                                           // it: then nothing is accepted (retry_later) until that one ends
  bool fusion = true;                      // false: every step commits alone (for proofs and for the curious)
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

// What a taken job id means to whoever submits it again.
enum class IdReuse : std::uint8_t {
  attach,       // the job that has it is the answer (created = false), whatever its state: start or attach
  reject,       // an error, already_exists
  after_close,  // attach while that job is open; once it has ended, a new one begins
  replace,      // that job is interrupted if it is open, and a new one begins
};

struct JobRequest {
  std::string graph;
  std::string id;
  Payload input;
  std::string name_space = "default";
  IdReuse reuse = IdReuse::attach;
  Duration delay{0};             // it starts after this time
  Duration end_within{0};        // it is interrupted after this time; 0: never
  std::optional<Duration> keep;  // how long it stays once it has ended; none: for ever
  std::int32_t priority = 0;     // larger goes first
  // Instead of `graph`: a topic that the active version of an app subscribes to. The id may then be left out: the
  // trigger's `stats.id` says it, or a fresh one is made.
  std::string topic{};
};

// A version of an app in the graph language, as the store keeps it.
struct AppVersion {
  std::string app;
  std::string version;
  bool active = false;  // new jobs start on it
  Instant deployed_at;
  std::vector<std::string> topics;  // what its graphs subscribe to
};

// What a signal says beside its data.
struct SignalOptions {
  std::string name_space = "default";
  bool pending = false;   // its taker waits on for the next one
  std::int32_t code = 0;  // 0: 200, or 202 of a pending one
  // Names this signal, 1 to 200 bytes as other names. Told again under the same id, to the same hook or key, it counts
  // once, for a day: repeat it freely when an answer was lost. Empty: one is made, and the error of a signal whose
  // outcome is not known says which.
  std::string id{};
};

// What a person found out about an effect that was unknown.
class Finding {
 public:
  static Finding done(Payload output, std::int32_t code = 200) { return {Kind::done, code, std::move(output)}; }
  static Finding failed(Payload error, std::int32_t code = 500) { return {Kind::failed, code, std::move(error)}; }
  static Finding retry() { return {Kind::retry, 0, {}}; }  // it did not happen: run it again
  enum class Kind : std::uint8_t { done, failed, retry };
  Kind kind() const { return kind_; }
  std::int32_t code() const { return code_; }
  const Payload& data() const { return data_; }

 private:
  Finding(Kind kind, std::int32_t code, Payload data) : kind_(kind), code_(code), data_(std::move(data)) {}
  Kind kind_;
  std::int32_t code_;
  Payload data_;
};

struct Submission {
  RunId run{0};
  bool created = false;  // false: the id was taken; `run` is the job that has it
};

enum class JobOrder : std::uint8_t { oldest_first, newest_first };

// Which jobs to list, by when they were made. Page on with the cursor of the last one that was seen: nothing is missed
// and nothing comes twice, whatever is submitted meanwhile. `newest_first` lists what was there when its first page
// was read, `oldest_first` also what came since.
struct JobFilter {
  std::optional<JobStatus> status;
  std::string name_space;  // empty: all
  JobOrder order = JobOrder::oldest_first;
  std::string after{};  // JobView::cursor; empty: from the beginning
  std::uint32_t rows_max = 100;
  // Only jobs of this graph whose activities stand as `where` says: names with the digit or the word of the
  // collation key, such as {{"charge", "errored"}}. Needs the graph to be deployed here.
  std::string graph;
  std::vector<std::pair<std::string, std::string>> where;
  // Only jobs that have this label (docs/GRAPHS.md, "Finding and counting jobs"): an `index` measure by its name,
  // "entity", "parent", "adjacent", or with no name all jobs of a key. Needs `graph`.
  struct Label {
    std::string name;
    std::string value;
    std::optional<std::string> key{};  // none: any
  };
  std::optional<Label> label{};
};

// What was measured of a graph's jobs (`stats.measures`): a line per key, slice of time and target.
struct MeasureFilter {
  std::string topic;  // what the graph subscribes to
  std::string name_space = "default";
  std::optional<std::string> key{};  // none: all
  std::string from{}, to{};          // slices such as 202402291305, both included; empty: no bound
  std::uint32_t rows_max = 1000;
};
struct MeasureView {
  std::string key;
  std::string slice;   // when their jobs began
  std::string target;  // empty: the jobs themselves
  std::uint64_t count = 0;
  std::optional<double> sum{}, least{}, most{};                 // of a `sum`, `avg`, `min` or `max`
  std::optional<double> median{};                               // of a `mdn`
  std::vector<std::pair<std::string, std::uint64_t>> values{};  // of a `count` with a target: jobs by value
};

// What jobs announced on the topic that their graph publishes: of each lane in the order it became durable, of several
// lanes merged by time. It is kept as long as the job is, so a reader that goes on behind the last one it saw misses
// nothing and hears nothing twice, however many processes commit meanwhile.
struct AnnouncementFilter {
  std::string topic{};       // empty: all
  std::string name_space{};  // empty: all
  RunId run{0};              // 0: all
  std::string after{};       // Announcement::cursor; empty: from the first one
  std::uint32_t rows_max = 100;
};
struct Announcement {
  std::string cursor;  // the place behind it: a text of the store's own, some bytes for each lane
  std::string topic;
  Namespace name_space{""};
  JobId job{""};
  RunId run{0};
  bool end = false;  // false: the job's data so far
  bool error = false;
  std::int32_t code = 0;
  Instant at;
  Payload data;
};

// What happens, as it becomes durable.
struct Event {
  enum class Kind : std::uint8_t {
    job_started,
    activity_opened,
    activity_pending,
    activity_closed,
    job_closed,
    job_parked,
    activity_retried,  // a try failed; `at` is when the next one begins
    activity_unknown,  // at most once, and nobody knows whether it acted
    job_paused,
    job_resumed,
    job_announced,  // what its graph publishes: `output` is the job's data, `code` 202 while it goes on
  };
  Kind kind = Kind::job_started;
  JobId job{""};
  RunId run{0};
  ActivityName activity{""};
  std::string address;
  std::string ledger;
  std::int32_t code = 0;
  Instant at;
  std::optional<Graph::Kind> activity_kind{};  // none: it is about the job
  Payload output{};                            // of one that closed, or of the pending answer
  std::optional<WaitView> waits_for{};         // of one that opened and waits
};

struct RuntimeStats {
  std::uint64_t commits = 0;     // transactions, each one sync
  std::uint64_t operations = 0;  // bundles and other operations in them
  std::uint64_t row_writes = 0;
  std::uint64_t bytes = 0;  // written to the log
};

// Any thread may call any method, from workers and observers too (but not wait() or stop() there).
class Runtime {
 public:
  // Opens or creates the store. Nothing runs before start().
  static Result<std::unique_ptr<Runtime>> open(RuntimeOptions options);
  virtual ~Runtime() = default;  // stops, if that was not done

  virtual Status deploy(Graph graph) = 0;
  // Checks an app's file (docs/GRAPHS.md), keeps its text in the store for every process on it, and, unless told not
  // to, makes it the version that new jobs start on. Jobs that run stay on the version they have. The error of a
  // file with mistakes has a line for each.
  virtual Result<AppVersion> deploy_app(const std::string& path, bool activate = true) = 0;
  virtual Status activate_app(const std::string& app, const std::string& version) = 0;
  virtual Result<std::vector<AppVersion>> apps() = 0;
  // For the hook that waits for it, or for the first that will. Returns when it is durable. over_limit: too many of
  // this topic and key are kept that no hook has taken; this one is not.
  virtual Status signal(const std::string& topic, const Payload& data, const SignalOptions& options = {}) = 0;
  virtual Status serve(const std::string& topic, Worker worker) = 0;
  // A worker whose own SQL is committed with its answer: what it writes counts exactly once (docs/TRANSACTIONS.md). On
  // SQLite and PostgreSQL; unsupported: this store cannot, or a graph under collation duplex has the topic.
  virtual Status serve_transaction(const std::string& topic, TransactionWorker worker) = 0;
  // Who is asked when an at-most-once activity of this topic is unknown (WhenUnknown::ask_probe).
  virtual Status probe(const std::string& topic, Probe probe) = 0;
  // Called on the engine's thread: be quick. Set it before start().
  virtual void observe(std::function<void(const Event&)> observer) = 0;
  // What goes wrong without being anybody's answer: workers that do not return, a graph that is not deployed here, a
  // topic that nobody serves (after 10 s, unserved_after), parked jobs, a store that refuses. Each is told once, not
  // once per job. Without a reporter it goes to standard error. Set it before start(); it is called on the engine's
  // thread.
  virtual void on_problem(std::function<void(const std::string&)> reporter) = 0;

  virtual Status start() = 0;
  // Takes nothing new, gives back what no worker has begun, lets the running ones finish and commits their answers.
  // After stop_within they are told (Work::cancelled); what they answer then counts if it is a success, and is
  // otherwise handed out again by the next owner, without a failed try. Returns within stop_within + worker_grace: a
  // worker that runs on is left behind, and its work is handed out again as after a crash.
  virtual void stop() = 0;
  // The same within this time: the last worker_grace of it, or all if it is shorter, begins with telling the workers.
  virtual void stop(Duration at_most) = 0;

  // Returns when the job is durable.
  virtual Result<Submission> submit(JobRequest request) = 0;
  // The same without waiting: `done` is called on the engine's thread.
  virtual void submit(JobRequest request, std::function<void(Result<Submission>)> done) = 0;

  // Until the job is closed or parked; retry_later when the time is over first.
  virtual Result<JobView> wait(RunId run, Duration at_most) = 0;
  virtual Result<std::optional<RunId>> find(const std::string& job_id, const std::string& name_space = "default") = 0;
  virtual Result<JobDetail> inspect(RunId run) = 0;
  virtual Result<std::vector<JobView>> list(const JobFilter& filter) = 0;
  virtual Result<std::vector<MeasureView>> measures(const MeasureFilter& filter) = 0;
  virtual Result<std::vector<Announcement>> announcements(const AnnouncementFilter& filter) = 0;

  // --- what a person or a program asks of a job. Returns when the request is durable; the process that owns the
  // store carries it out, this one or another, at once or when it next runs. not_found: there is no such job;
  // invalid: it is in no state for that, and the error says in which.
  virtual Status interrupt(RunId run, const std::string& reason = "") = 0;
  virtual Status pause(RunId run, const std::string& reason = "") = 0;
  virtual Status resume(RunId run) = 0;
  virtual Status redrive(RunId run) = 0;  // a parked job: everything may be tried as often again
  // An empty address means the first instance of the activity that is unknown.
  virtual Status settle(RunId run, const std::string& activity, const std::string& address, Finding finding) = 0;
  // Takes away a job that has ended. Its id stays taken for `keep_id`.
  virtual Status remove(RunId run, Duration keep_id = Duration{0}) = 0;
  // Nothing of a paused topic is handed out, by no process on this store. What runs, runs on.
  virtual Status pause_topic(const std::string& topic) = 0;
  virtual Status resume_topic(const std::string& topic) = 0;
  virtual Result<std::vector<std::string>> paused_topics() = 0;

  // --- for workers that answer later, from any process on this store. conflict: the token is no longer good;
  // retry_later (collation duplex): the worker has not left the work yet, or its pending replies are being served.
  virtual Status complete(const std::string& token, Reply reply) = 0;
  virtual Status heartbeat(const std::string& token, Payload progress, Duration lease = std::chrono::hours(24)) = 0;

  // True while this process runs jobs; false while another process owns the store.
  virtual bool owns() const = 0;
  virtual RuntimeStats stats() const = 0;
};

}  // namespace pawl
