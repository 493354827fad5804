// What the tests of faults share: a runtime that serves a chain of two steps under both collations, counts how often
// each step ran, and records what it reported.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/ids.h"
#include "life.h"
#include "testing.h"

namespace pawl::testing {

class ServedRuntime {
 public:
  explicit ServedRuntime(const std::string& address, std::uint32_t lanes = 4, bool accept_weaker = false) {
    RuntimeOptions options;
    options.store = address;
    options.lanes = lanes;
    options.accept_weaker_store = accept_weaker;
    options.lease = 3s;
    options.stop_within = 500ms;
    auto opened = pawl::open(options);
    EXPECT_TRUE(opened.ok()) << to_string(opened.error());
    if (!opened) return;
    runtime_ = std::make_unique<Runtime>(std::move(*opened));
    runtime_
        ->on_problem([this](const std::string& text) {
          const std::lock_guard lock(mutex_);
          problems_.push_back(text);
        })
        .keep();
    for (const Collation collation : {Collation::ledger, Collation::duplex}) {
      auto graph = GraphBuilder(name_of(collation))
                       .trigger("t")
                       .worker("one", "add")
                       .after("t")
                       .worker("two", "add")
                       .after("one");
      EXPECT_TRUE(runtime_->deploy(std::move(*graph.collation(collation).build())).ok());
    }
    EXPECT_TRUE(runtime_
                    ->serve("add",
                            [this](Work& work) {
                              const std::lock_guard lock(mutex_);
                              ++runs_[work.key()];
                              return Reply::success(work.input().str() + "+");
                            })
                    .ok());
    EXPECT_TRUE(runtime_->launch().ok());
  }

  Runtime& operator*() { return *runtime_; }
  Runtime* operator->() { return runtime_.get(); }
  explicit operator bool() const { return runtime_ != nullptr; }

  // Submits until it is accepted; the id is the same every time.
  RunId submit(const std::string& id, Collation collation = Collation::ledger) {
    RunId run(0);
    EXPECT_TRUE(comes_true([&] {
      const auto job = runtime_->start(name_of(collation), Payload("x"), {.id = id});
      if (job) run = job->run();
      return job.ok();
    })) << id;
    return run;
  }
  void expect_ends(const std::vector<RunId>& runs) {
    for (const RunId run : runs) {
      EXPECT_TRUE(comes_true(
          [&] {
            const auto end = runtime_->job(run).wait(5s);
            if (end) {
              EXPECT_EQ(end->status, JobStatus::completed) << end->reason;
              EXPECT_EQ(end->result.str(), "x++");
            }
            return end.ok();
          },
          60s))
          << run.raw();
    }
  }
  // Refused, with this text in the reason.
  ::testing::AssertionResult refuses(const std::string& id, Collation collation,
                                     std::initializer_list<std::string> parts) {
    const auto job = runtime_->start(name_of(collation), Payload("x"), {.id = id});
    if (job) return ::testing::AssertionFailure() << "it was accepted";
    return fails_with(job, job.error().code, parts);
  }
  // Of these jobs exactly those of these lanes cannot be read, because their lane is older than it was.
  ::testing::AssertionResult stopped_only(const std::vector<RunId>& runs, const std::set<std::uint32_t>& lanes) {
    std::set<std::uint32_t> seen;
    for (const RunId run : runs) {
      const std::uint32_t lane = core::lane_of(run).raw();
      const auto detail = runtime_->job(run).inspect();
      if (detail.ok() == lanes.contains(lane))
        return ::testing::AssertionFailure()
               << "lane " << lane << ": " << (detail ? "it is read" : to_string(detail.error()));
      if (!detail && detail.error().detail.find("older state") == std::string::npos)
        return ::testing::AssertionFailure() << "lane " << lane << ": " << to_string(detail.error());
      seen.insert(lane);
    }
    if (seen.size() < 2) return ::testing::AssertionFailure() << "all jobs are in one lane";
    return ::testing::AssertionSuccess();
  }
  bool reported(const std::string& part) {
    const std::lock_guard lock(mutex_);
    for (const std::string& text : problems_)
      if (text.find(part) != std::string::npos) return true;
    return false;
  }
  std::string problems() {
    const std::lock_guard lock(mutex_);
    std::string all;
    for (const std::string& text : problems_) all += text + "\n";
    return all;
  }
  // The largest number of attempts of a step.
  int runs_max() {
    const std::lock_guard lock(mutex_);
    int most = 0;
    for (const auto& [key, times] : runs_) most = std::max(most, times);
    return most;
  }
  static std::string name_of(Collation collation) { return collation == Collation::duplex ? "plain" : "chain"; }

 private:
  std::mutex mutex_;
  std::map<std::string, int> runs_;  // by the step's key
  std::vector<std::string> problems_;
  std::unique_ptr<Runtime> runtime_;  // last: it ends before what its workers use
};

// Submits jobs of both collations until it is stopped.
class Load {
 public:
  explicit Load(ServedRuntime& runtime) : runtime_(runtime), thread_([this] { run(); }) {}
  ~Load() { stop(); }
  std::vector<RunId> stop() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
    return runs_;
  }
  // Waits for this many more.
  bool makes(std::size_t more) {
    const std::size_t before = made_;
    return comes_true([&] { return made_ >= before + more; }, 60s);
  }

 private:
  void run() {
    for (int i = 0; !over_; ++i) {
      runs_.push_back(runtime_.submit("load-" + std::to_string(i), i % 4 == 3 ? Collation::duplex : Collation::ledger));
      ++made_;
    }
  }
  ServedRuntime& runtime_;
  std::vector<RunId> runs_;
  std::atomic<bool> over_{false};
  std::atomic<std::size_t> made_{0};
  std::thread thread_;
};

}  // namespace pawl::testing
