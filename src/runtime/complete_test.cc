// What a reply by token reads: its work, not its job.
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "base/clock.h"
#include "pawl/runtime.h"
#include "runtime/local_runtime.h"
#include "store/fault/store.h"
#include "store/memory/store.h"

namespace pawl::runtime {
namespace {

using namespace std::chrono_literals;

// A runtime over a store that counts reads. Its worker leaves all work, and keeps the tokens.
class CompleteTest : public ::testing::TestWithParam<Collation> {
 protected:
  CompleteTest() {
    store::Operation pool = store::OpenPool{Pool("graphs"), 1};
    EXPECT_TRUE(memory_.commit({&pool, 1}));
    OpenedStore opened;
    auto counting = std::make_unique<store::fault::Store>(memory_, store::fault::Options{});
    reads_ = counting.get();
    opened.duplex = &counting->wrap(memory_.duplex());
    opened.store = std::move(counting);
    opened.lease = std::chrono::hours(24);
    opened.on_problem = [](const auto&) {};
    opened.stats = [] { return RuntimeStats{}; };
    RuntimeOptions options;
    options.worker_threads = 1;
    runtime_ = std::make_unique<Runtime>(
        std::make_shared<LocalRuntime>(options, std::move(opened), **memory_.read_pool(Pool("graphs"))));
    // The activity after it waits: the clean-up of a job reads it whole.
    auto graph = GraphBuilder("step")
                     .trigger("t")
                     .worker("act", "work")
                     .after("t")
                     .worker("next", "nobody")
                     .after("act")
                     .collation(GetParam())
                     .build();
    EXPECT_TRUE(runtime_->deploy(std::move(*graph)));
    EXPECT_TRUE(runtime_->serve("work", [this](Work& work) {
      const std::lock_guard lock(mutex_);
      token_ = work.token();
      return Reply::later(1h);
    }));
    EXPECT_TRUE(runtime_->launch());
  }
  std::string token() {
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (!token_.empty()) return token_;
      }
      std::this_thread::sleep_for(1ms);
    }
  }

  SystemClock clock_;
  store::memory::Store memory_{clock_};
  store::fault::Store* reads_ = nullptr;
  std::mutex mutex_;
  std::string token_;  // guarded by mutex_
  std::unique_ptr<Runtime> runtime_;
};

TEST_P(CompleteTest, reads_no_whole_job_whether_the_token_is_good_or_stale) {
  const auto job = runtime_->start("step", Payload("{}"), {.id = "j"});
  ASSERT_TRUE(job);
  const std::string named = token();
  // That the worker left is committed a moment later.
  Status answered = Error{ErrorCode::retry_later, ""};
  std::uint64_t before = 0;
  while (!answered && answered.error().code == ErrorCode::retry_later) {
    std::this_thread::sleep_for(20ms);
    before = reads_->jobs_read();
    answered = runtime_->complete(named, Reply::success("done"));
    EXPECT_EQ(reads_->jobs_read(), before);
  }
  ASSERT_TRUE(answered) << to_string(answered.error());
  std::this_thread::sleep_for(100ms);  // the engine continues with it
  before = reads_->jobs_read();
  EXPECT_FALSE(runtime_->complete(named, Reply::success("again")));
  EXPECT_EQ(reads_->jobs_read(), before);
}

INSTANTIATE_TEST_SUITE_P(collations, CompleteTest, ::testing::Values(Collation::ledger, Collation::duplex),
                         [](const auto& one) { return one.param == Collation::ledger ? "ledger" : "duplex"; });

}  // namespace
}  // namespace pawl::runtime
