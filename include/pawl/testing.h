// Tests of your own workflows: a runtime in memory, a clock that the test moves, mocked workers, the history of
// attempts, and a crash at every commit with one call. For every test framework; nothing here sleeps or starts a
// thread.
//
//   bool is_shipped(const pawl::GraphBuilder& order) {
//     pawl::testing::TestRuntime test;
//     auto& charge = test.mock("payments.charge").fails(2, 503).replies("{\"receipt\": 17}");
//     if (!test->deploy(order)) return false;
//     auto job = test->start("order", pawl::Payload("{}"), {.id = "order-17"});
//     test.signal_after(std::chrono::hours(1), "order.approved", "{\"id\": \"order-17\"}");
//     return job && test.run_to_end() && *job->status() == pawl::JobStatus::completed && charge.attempts().size() == 3;
//   }
//   bool survives(const std::function<pawl::Status(pawl::testing::TestRuntime&)>& scenario) {
//     const auto report = pawl::testing::crash_everywhere(scenario);  // once for each commit and each fault
//     if (!report) std::printf("%s", report.text().c_str());
//     return report.ok();
//   }
//
// It drives the engine of pawl::Runtime itself, over a store in memory: what differs is who gives it threads and time.
// docs/TESTING.md explains all of it, examples/testing is a whole program.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/pawl.h"

namespace pawl::testing {

class VirtualRuntime;

// What can befall a commit, which is the only moment at which a crash makes a difference.
enum class Fault : std::uint8_t {
  crash_before,  // the process dies before the commit: nothing of it is durable
  crash_after,   // it dies after the commit, and has told nobody
  reply_lost,    // the commit is durable, the process lives on and does not know that it is
};
std::string_view name_of(Fault fault);

// One call of a worker.
struct Attempt {
  enum class Outcome : std::uint8_t {
    success,
    error,   // a failed attempt: the retry policy says what follows
    fatal,   // an error that no further attempt mends
    later,   // the worker left the answer to somebody else
    silent,  // a mock that never answers
  };
  std::string job;
  RunId run{0};
  std::string activity;
  std::string topic;
  std::string key;           // the idempotency key: the same in all attempts of one activity
  std::uint32_t number = 1;  // among the attempts of the activity
  Instant at;
  Payload input;
  Outcome outcome = Outcome::success;
  std::int32_t code = 0;
  Payload data;       // what it answered
  bool lost = false;  // the process crashed before the answer was durable: the work is handed out again
};
std::string_view name_of(Attempt::Outcome outcome);

// A worker that answers as it is told. What is said before then() is for the first request, what follows for the next
// one, and the last for all others. A request is an activity's work, in all its attempts. One that a crash makes
// necessary gets the answer that was lost. Without a word it replies {}.
class MockWorker {
 public:
  MockWorker& replies(Payload data, std::int32_t code = 200) { return replies(Reply::success(std::move(data), code)); }
  MockWorker& replies(Reply reply);
  // Before it replies, so many attempts fail.
  MockWorker& fails(std::uint32_t times, std::int32_t code = 500, Payload error = "\"a mocked failure\"");
  MockWorker& takes(Duration time);  // each attempt answers so much later
  MockWorker& never_answers();       // only a timeout, or an interrupt, ends the wait for it
  MockWorker& then();

  std::vector<Attempt> attempts() const;
  // How many different requests it got: attempts that a failure or a crash repeated count once.
  std::size_t requests() const;

 private:
  friend class VirtualRuntime;
  struct Script;
  struct State;
  explicit MockWorker(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Script& last();
  std::shared_ptr<State> state_;
};

struct TestOptions {
  // Chooses which of several workers that could begin goes first, and all that is drawn. The same seed gives the same
  // run. 0: the oldest work goes first.
  std::uint64_t seed = 0;
  Instant starts_at = Instant::from_micros(1'767'225'600'000'000);  // 2026-01-01 00:00:00 UTC
  bool fusion = true;  // false: every step is a commit of its own, so that there are more of them to crash at
  // A run that needs more commits than that goes round in a circle: an error says so.
  std::uint64_t commits_max = 100'000;
};

// Not for several threads.
class TestRuntime {
 public:
  explicit TestRuntime(TestOptions options = {});
  TestRuntime(TestRuntime&&) noexcept;
  TestRuntime& operator=(TestRuntime&&) noexcept;
  ~TestRuntime();

  // What the tested program works with: deploy, serve, submit, signal, inspect and all else. It runs already. Calls
  // return when what they asked for is durable. wait() moves the clock until the job has ended or the time is over.
  // Transactions of workers and collation duplex are not here.
  Runtime& runtime();
  Runtime* operator->() { return &runtime(); }

  MockWorker& mock(const std::string& topic);

  // --- time. Each returns an error when commits_max is reached.
  Instant now() const;
  // Until nothing is left to do at this time: everything has ended or waits for a signal or for a later time.
  Status run_until_idle();
  // Moves the clock. What is due on the way happens in its order and at its time.
  Status advance(Duration by);
  // Moves the clock as far as needed: until every job has ended, is parked or paused, or waits for what time alone does
  // not bring.
  Status run_to_end();
  // When something happens next by itself. None: nothing will.
  std::optional<Instant> next_due() const;

  // --- what comes from outside, later
  void call_after(Duration time, std::function<void()> what);
  void signal_after(Duration time, const std::string& topic, Payload data, SignalOptions options = {});

  // --- what happened
  const std::vector<Attempt>& attempts() const;  // of all workers, mocked or not, in order
  std::vector<Attempt> attempts_of(std::string_view activity) const;
  const std::vector<Event>& events() const;
  const std::vector<std::string>& problems() const;
  std::uint64_t commits() const;

  // --- faults
  // Kills the process, as kill -9 would between two commits, and starts it again.
  void crash();
  // What must be the same in every run of crash_everywhere(): how often something was done, what a service was told.
  void note(std::string name, std::string value);
  void note(std::string name, std::int64_t value) { note(std::move(name), std::to_string(value)); }
  std::string fault() const;  // of this run, in words: for messages. Empty: none

 private:
  friend class CrashRun;
  std::shared_ptr<VirtualRuntime> backend_;
  Runtime runtime_;
};

// One run that came out differently.
struct CrashFinding {
  std::uint64_t commit = 0;  // from 1
  Fault fault = Fault::crash_before;
  std::string what;        // what the commit was about, such as "order-17: charge closed, ship opened"
  std::string difference;  // what the scenario said, or what is not as in the run without a fault
};

struct CrashReport {
  std::uint64_t commits = 0;  // of the run without a fault
  std::uint64_t runs = 0;     // with one
  std::string failed;         // why the run without a fault failed: then there is no other. Empty: it did not
  std::vector<CrashFinding> findings;
  std::uint64_t findings_in_all = 0;  // `findings` has the first ones

  bool ok() const { return failed.empty() && findings_in_all == 0; }
  explicit operator bool() const { return ok(); }
  std::string text() const;  // for people, some lines
};

struct CrashOptions {
  TestOptions test{};
  std::vector<Fault> faults = {Fault::crash_before, Fault::crash_after, Fault::reply_lost};
  // Compare each job's status, code, result and data with the run without a fault, beside what the scenario checks.
  bool compare_jobs = true;
  std::uint64_t only_commit = 0;  // to look into a finding: this commit alone. 0: all
  std::size_t findings_max = 10;  // that are described
};

// Runs the scenario once as it is, then once for each of its commits and each fault, always with a fresh runtime.
// The scenario deploys, serves, starts and checks: an error that it returns is a finding. So is a job that ends
// otherwise than without the fault, and a note() with another value. Callers repeat a call whose process crashed, as
// docs/GUARANTEES.md asks of them, so no call fails for the fault alone.
CrashReport crash_everywhere(const std::function<Status(TestRuntime&)>& scenario, const CrashOptions& options = {});

}  // namespace pawl::testing
