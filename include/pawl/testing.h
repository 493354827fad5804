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
// It drives the engine of pawl::Runtime itself, over a store in memory; only threads and time are different.
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

// The faults of a commit, which is the only moment at which a crash makes a difference.
enum class Fault : std::uint8_t {
  crash_before,  // the process crashes before the commit: nothing of it is durable
  crash_after,   // it crashes after the commit, and has reported nothing
  reply_lost,    // the commit is durable, but the process continues without knowing it
};
std::string_view name_of(Fault fault);

// One call of a worker.
struct Attempt {
  enum class Outcome : std::uint8_t {
    success,
    error,   // a failed attempt: the retry policy decides what follows
    fatal,   // an error that another attempt would not change
    later,   // the worker left the reply to somebody else
    silent,  // a mock that never replies
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
  Payload data;       // its reply
  bool lost = false;  // the process crashed before the reply was durable: the work is handed out again
};
std::string_view name_of(Attempt::Outcome outcome);

// A worker with prepared replies. Calls before then() are for the first request, calls after it for the next one, and
// the last ones for all others. A request is an activity's work, with all its attempts. An attempt that is repeated
// after a crash gets the reply that was lost. Without any call it replies {}.
class MockWorker {
 public:
  MockWorker& replies(Payload data, std::int32_t code = 200) { return replies(Reply::success(std::move(data), code)); }
  MockWorker& replies(Reply reply);
  // This many attempts fail before it replies.
  MockWorker& fails(std::uint32_t times, std::int32_t code = 500, Payload error = "\"a mocked failure\"");
  MockWorker& takes(Duration time);  // each attempt replies this much later
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
  // Chooses which of several workers begins first, and all random numbers. The same seed gives the same execution. 0:
  // the oldest work goes first.
  std::uint64_t seed = 0;
  Instant starts_at = Instant::from_micros(1'767'225'600'000'000);  // 2026-01-01 00:00:00 UTC
  bool fusion = true;  // false: every step is a separate commit, so that there are more of them to crash at
  // An execution with more commits than that is in an endless loop: it ends with an error.
  std::uint64_t commits_max = 100'000;
};

// Not for several threads.
class TestRuntime {
 public:
  explicit TestRuntime(TestOptions options = {});
  TestRuntime(TestRuntime&&) noexcept;
  TestRuntime& operator=(TestRuntime&&) noexcept;
  ~TestRuntime();

  // The runtime of the tested program: deploy, serve, start, signal, inspect and everything else. It is already
  // running. Calls return when their request is durable. wait() moves the clock until the job has ended or the time is
  // over. Transactions of workers and collation duplex are not supported.
  Runtime& runtime();
  Runtime* operator->() { return &runtime(); }

  MockWorker& mock(const std::string& topic);

  // --- time. Each returns an error when commits_max is reached.
  Instant now() const;
  // Until nothing is left to do at this time: everything has ended or waits for a signal or for a later time.
  Status run_until_idle();
  // Moves the clock. What is due on the way happens in order and at its time.
  Status advance(Duration by);
  // Moves the clock as far as needed: until every job has ended, is parked or paused, or waits for something other than
  // time.
  Status run_to_end();
  // When something happens next without input. None: nothing will.
  std::optional<Instant> next_due() const;

  // --- input from outside, later
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
  // A value that must be the same in every execution of crash_everywhere(): how often something was done, what a
  // service received.
  void note(std::string name, std::string value);
  void note(std::string name, std::int64_t value) { note(std::move(name), std::to_string(value)); }
  std::string fault() const;  // the fault of this execution, for messages. Empty: none

 private:
  friend class CrashRun;
  std::shared_ptr<VirtualRuntime> backend_;
  Runtime runtime_;
};

// An execution with a different result.
struct CrashFinding {
  std::uint64_t commit = 0;  // from 1
  Fault fault = Fault::crash_before;
  std::string what;        // what the commit was about, such as "order-17: charge closed, ship opened"
  std::string difference;  // the scenario's error, or what differs from the execution without a fault
};

struct CrashReport {
  std::uint64_t commits = 0;  // of the execution without a fault
  std::uint64_t runs = 0;     // executions with a fault
  std::string failed;         // why the execution without a fault failed: then there is no other. Empty: it did not
  std::vector<CrashFinding> findings;
  std::uint64_t findings_in_all = 0;  // `findings` has the first ones

  bool ok() const { return failed.empty() && findings_in_all == 0; }
  explicit operator bool() const { return ok(); }
  std::string text() const;  // for people, some lines
};

struct CrashOptions {
  TestOptions test{};
  std::vector<Fault> faults = {Fault::crash_before, Fault::crash_after, Fault::reply_lost};
  // Compare each job's status, code, result and data with the execution without a fault, beside the checks of the
  // scenario.
  bool compare_jobs = true;
  std::uint64_t only_commit = 0;  // to examine a finding: only this commit. 0: all
  std::size_t findings_max = 10;  // that are described
};

// Executes the scenario once without a fault, then once for each of its commits and each fault, always with a new
// runtime. The scenario deploys, serves, starts and checks: an error that it returns is a finding. So is a job that
// ends differently than without the fault, and a note() with another value. Calls whose process crashed are repeated,
// as docs/GUARANTEES.md asks of callers, so no call fails because of the fault alone.
CrashReport crash_everywhere(const std::function<Status(TestRuntime&)>& scenario, const CrashOptions& options = {});

}  // namespace pawl::testing
