// Jobs under collation duplex over a remote store: while the store is slow, the engine continues.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "pawl/runtime.h"
#include "runtime/local_runtime.h"
#include "store/forward_store.h"
#include "store/memory/store.h"

namespace pawl::runtime {
namespace {

using namespace std::chrono_literals;

class ConnectedStore final : public store::ForwardStore {
 public:
  explicit ConnectedStore(std::unique_ptr<store::Store> inner) : ForwardStore(*inner), owned_(std::move(inner)) {}
  std::size_t connections() const override { return 4; }

 private:
  std::unique_ptr<store::Store> owned_;
};

// Every call waits at its gate while the gate is shut.
class GatedDuplexStore final : public store::DuplexStore {
 public:
  explicit GatedDuplexStore(store::DuplexStore& inner) : inner_(inner) {}
  void shut(bool commits, bool reads) {
    const std::lock_guard lock(mutex_);
    commits_shut_ = commits;
    reads_shut_ = reads;
    changed_.notify_all();
  }
  void await_a_caller() {  // a thread that waits at a gate
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return callers_ > 0; });
  }

  Result<std::vector<store::DuplexOutcome>> commit(std::span<const store::DuplexOperation> operations) override {
    pass(commits_shut_);
    return inner_.commit(operations);
  }
  Instant now() const override { return inner_.now(); }
  Result<std::optional<store::DuplexJob>> read(RunId run) override {
    pass(reads_shut_);
    return inner_.read(run);
  }
  Result<std::optional<store::DuplexJob>> read_under_way(RunId run) override { return inner_.read_under_way(run); }
  Result<std::optional<store::DuplexView>> view(RunId run, const store::Place& place) override {
    pass(reads_shut_);
    return inner_.view(run, place);
  }

 private:
  void pass(const bool& shut) {
    std::unique_lock lock(mutex_);
    ++callers_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !shut; });
    --callers_;
  }

  store::DuplexStore& inner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool commits_shut_ = false, reads_shut_ = false;
  int callers_ = 0;
};

class FarDuplexTest : public ::testing::Test {
 protected:
  FarDuplexTest() {
    auto memory = std::make_unique<store::memory::Store>(process_clock());
    const store::Operation pool = store::OpenPool{Pool("graphs"), 2};
    EXPECT_TRUE(memory->commit({&pool, 1}).ok());
    gated_ = std::make_unique<GatedDuplexStore>(memory->duplex());
    const auto info = **memory->read_pool(Pool("graphs"));
    OpenedStore opened;
    opened.store = std::make_unique<ConnectedStore>(std::move(memory));
    opened.duplex = gated_.get();
    opened.lease = 10s;
    opened.stats = [] { return RuntimeStats{}; };
    runtime_ = std::make_unique<Runtime>(std::make_shared<LocalRuntime>(RuntimeOptions{}, std::move(opened), info));
    for (const Collation collation : {Collation::ledger, Collation::duplex}) {
      const std::string name = collation == Collation::duplex ? "letters" : "digits";
      auto graph = GraphBuilder(name).collation(collation).trigger("in").worker("one", "work").after("in").build();
      EXPECT_TRUE(runtime_->deploy(std::move(*graph), {}).ok());
    }
    EXPECT_TRUE(runtime_->serve("work", [](Work&) { return Reply::success("{}"); }).ok());
    EXPECT_TRUE(runtime_->launch().ok());
  }
  ~FarDuplexTest() override {
    gated_->shut(false, false);
    runtime_->stop();
  }
  JobStatus end_of(const std::string& graph, const std::string& id) {
    const auto made = runtime_->start(graph, Payload("{}"), {.id = id});
    const auto end = made->wait(60s);
    return end->status;
  }

  std::unique_ptr<GatedDuplexStore> gated_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(FarDuplexTest, other_jobs_go_on_while_a_commit_of_duplex_takes_its_time) {
  gated_->shut(true, false);
  runtime_->start_async("letters", Payload("{}"), {.id = "slow"}, [](const Result<Job<>>&) {});
  gated_->await_a_caller();
  EXPECT_EQ(end_of("digits", "quick"), JobStatus::completed);
  gated_->shut(false, false);
  EXPECT_EQ(end_of("letters", "slow"), JobStatus::completed);
}

TEST_F(FarDuplexTest, other_jobs_go_on_while_a_read_of_duplex_takes_its_time) {
  gated_->shut(false, true);
  const auto slow = runtime_->start("letters", Payload("{}"), {.id = "slow"});
  ASSERT_TRUE(slow.ok());
  gated_->await_a_caller();
  EXPECT_EQ(end_of("digits", "quick"), JobStatus::completed);
  gated_->shut(false, false);
  EXPECT_EQ(slow->wait(60s)->status, JobStatus::completed);
}

}  // namespace
}  // namespace pawl::runtime
