// A runtime over a remote store: every call is slow, and no thread of the engine waits for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "pawl/runtime.h"
#include "runtime/local_runtime.h"
#include "store/forward_store.h"
#include "store/memory/store.h"

namespace pawl::runtime {
namespace {

using namespace std::chrono_literals;

class FarStore final : public store::ForwardStore {
 public:
  FarStore(std::unique_ptr<store::Store> inner, Duration way)
      : ForwardStore(*inner), owned_(std::move(inner)), way_(way) {}
  std::size_t connections() const override { return 4; }
  Result<std::vector<store::Outcome>> commit(std::span<const store::Operation> group) override {
    const Under under(*this);
    std::this_thread::sleep_for(way_);
    const std::lock_guard lock(commits_);
    committers_.push_back(std::this_thread::get_id());
    return ForwardStore::commit(group);
  }
  Result<std::optional<core::JobRow>> read_job_row(RunId run) override {
    row_reads_ += 1;
    return ForwardStore::read_job_row(run);
  }
  std::vector<store::ReadAnswer> read(std::span<const store::Read> reads) override {
    std::this_thread::sleep_for(way_);
    batches_ += 1;
    reads_ += static_cast<int>(reads.size());
    return ForwardStore::read(reads);
  }
  int most_at_once() const { return most_; }
  int batches() const { return batches_; }
  int reads() const { return reads_; }
  int row_reads() const { return row_reads_; }
  // The threads of all commits so far.
  std::vector<std::thread::id> committers() {
    const std::lock_guard lock(commits_);
    return committers_;
  }

 private:
  struct Under {
    explicit Under(FarStore& its_store) : store(its_store) {
      const int now = ++store.under_way_;
      int most = store.most_;
      while (now > most && !store.most_.compare_exchange_weak(most, now)) {
      }
    }
    ~Under() { --store.under_way_; }
    FarStore& store;
  };
  std::unique_ptr<store::Store> owned_;
  const Duration way_;
  std::mutex commits_;
  std::vector<std::thread::id> committers_;  // guarded by commits_
  std::atomic<int> under_way_{0}, most_{0}, batches_{0}, reads_{0}, row_reads_{0};
};

class FarStoreTest : public ::testing::TestWithParam<store::memory::Lanes> {
 protected:
  FarStoreTest() { open(); }
  void open() {
    auto memory = std::make_unique<store::memory::Store>(process_clock(), GetParam());
    const store::Operation pool = store::OpenPool{Pool("graphs"), 4};
    EXPECT_TRUE(memory->commit({&pool, 1}).ok());
    OpenedStore opened;
    const auto info = **memory->read_pool(Pool("graphs"));
    auto far = std::make_unique<FarStore>(std::move(memory), 2ms);
    store_ = far.get();
    opened.store = std::move(far);
    opened.lease = 10s;
    opened.stats = [] { return RuntimeStats{}; };
    RuntimeOptions options;
    options.worker_threads = 2;
    runtime_ = std::make_unique<Runtime>(std::make_shared<LocalRuntime>(options, std::move(opened), info));
    auto graph =
        GraphBuilder("pair").trigger("in").worker("one", "work").after("in").worker("two", "work").after("one").build();
    EXPECT_TRUE(runtime_->deploy(std::move(*graph), {}).ok());
  }
  FarStore* store_ = nullptr;
  std::unique_ptr<Runtime> runtime_;
};

INSTANTIATE_TEST_SUITE_P(lanes, FarStoreTest,
                         ::testing::Values(store::memory::Lanes::one_domain, store::memory::Lanes::islands),
                         [](const auto& tested) {
                           return tested.param == store::memory::Lanes::islands ? "islands" : "one_domain";
                         });

TEST_P(FarStoreTest, jobs_of_all_lanes_go_on_while_commits_travel) {
  ASSERT_TRUE(runtime_->serve("work", [](Work&) { return Reply::success("{}"); }).ok());
  ASSERT_TRUE(runtime_->launch().ok());
  constexpr int jobs = 2000;
  constexpr int rounds_max = 5;  // on a busy machine the engine may be late each time that a commit is under way
  for (int round = 0; round < rounds_max && store_->most_at_once() <= 1; ++round) {
    std::vector<RunId> runs(jobs, RunId(0));
    std::atomic<int> made{0};
    for (int i = 0; i < jobs; ++i)
      runtime_->start_async("pair", Payload("{}"), {.id = std::to_string(round) + "-" + std::to_string(i)},
                            [&, i](Result<Job<>> result) {
                              ASSERT_TRUE(result.ok()) << result.error().detail;
                              runs[static_cast<std::size_t>(i)] = result->run();
                              ++made;
                            });
    while (made < jobs) std::this_thread::sleep_for(1ms);
    for (const RunId run : runs) {
      const auto end = runtime_->job(run).wait(30s);
      ASSERT_TRUE(end.ok()) << end.error().detail;
      EXPECT_EQ(end->status, JobStatus::completed);
    }
  }
  EXPECT_GT(store_->most_at_once(), 1) << "one commit waited for the other";
  runtime_->stop();
}

// No thread is woken to commit a reply, and who waits for the end reads nothing (docs/decisions/109).
TEST_P(FarStoreTest, the_steps_of_a_single_job_are_committed_by_its_workers_threads) {
  std::mutex mutex;
  std::vector<std::thread::id> workers;
  ASSERT_TRUE(runtime_
                  ->serve("work",
                          [&](Work&) {
                            std::this_thread::sleep_for(5ms);  // until the engine's thread sleeps
                            const std::lock_guard lock(mutex);
                            workers.push_back(std::this_thread::get_id());
                            return Reply::success("{}");
                          })
                  .ok());
  ASSERT_TRUE(runtime_->launch().ok());
  while (!runtime_->owns()) std::this_thread::sleep_for(1ms);
  constexpr int jobs = 20;
  for (int i = 0; i < jobs; ++i) {
    const auto job = runtime_->start("pair", Payload("{}"), {.id = std::to_string(i)});
    ASSERT_TRUE(job.ok()) << to_string(job.error());
    const auto end = job->wait(30s);
    ASSERT_TRUE(end.ok()) << to_string(end.error());
    EXPECT_EQ(end->status, JobStatus::completed);
  }
  const auto committers = store_->committers();
  const std::lock_guard lock(mutex);
  const auto own = std::count_if(committers.begin(), committers.end(), [&](const std::thread::id& thread) {
    return std::find(workers.begin(), workers.end(), thread) != workers.end();
  });
  // Each job has two replies. On a busy machine a caller may begin to wait when its job has ended.
  EXPECT_GE(own, jobs);
  EXPECT_LE(store_->row_reads(), jobs / 2);
  runtime_->stop();
}

TEST_P(FarStoreTest, jobs_that_wait_for_a_worker_are_read_many_at_a_time_when_one_comes) {
  ASSERT_TRUE(runtime_->launch().ok());
  constexpr int jobs = 300;
  for (int i = 0; i < jobs; ++i)
    ASSERT_TRUE(runtime_->start("pair", Payload("{}"), {.id = "job-" + std::to_string(i)}).ok());
  const int batches = store_->batches();
  const int reads = store_->reads();
  ASSERT_TRUE(runtime_->serve("work", [](Work&) { return Reply::success("{}"); }).ok());
  for (int i = 0; i < jobs; ++i) {
    const auto run = runtime_->find("job-" + std::to_string(i));
    const auto end = (*run)->wait(30s);
    ASSERT_TRUE(end.ok()) << end.error().detail;
  }
  EXPECT_LT(store_->batches() - batches, 60) << store_->reads() - reads << " reads";
  runtime_->stop();
}

}  // namespace
}  // namespace pawl::runtime
