// The contract of store.h as tests. Every test here runs for every store in all_stores(): a store joins with one line
// in stores_test.cc and is done when all tests pass.
//
// Tests know a store only through its interface: lanes come from read_pool, runs from outcomes, and time from the clock
// that the store was made with.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/format.h"
#include "base/random.h"
#include "store/duplex_store.h"
#include "store/store.h"

namespace pawl::store {

// Moves only when a test moves it.
class ManualClock final : public Clock {
 public:
  Instant now() const override { return Instant::from_micros(1'000'000) + since_; }
  Duration monotonic() const override { return since_; }
  void advance(Duration by) { since_ += by; }

 private:
  Duration since_{0};
};

struct StoreFactory {
  std::string name;
  // The folder is empty, and deleted after the test. The clock outlives the store.
  std::function<std::unique_ptr<Store>(const Clock& clock, const std::filesystem::path& folder)> make;
  std::function<DuplexStore*(Store& made)> duplex{};  // its DuplexStore; null or not set: it has none
  // For lanes that are islands: the operation that touched another lane, if any.
  std::function<std::optional<std::string>(const Store&)> violation{};
  // Otherwise its bytes are printed, for each of thousands of tests, in each of their processes.
  friend void PrintTo(const StoreFactory& factory, std::ostream* out) { *out << factory.name; }
};
const std::vector<StoreFactory>& all_stores();
// Stores that can send directly but do not.
const std::vector<StoreFactory>& outbox_stores();
// Stores in which every lane is an island: for tests whose operations stay in one lane.
const std::vector<StoreFactory>& island_stores();

// Seeds of random histories: the given number, or from the environment: PAWL_HISTORY_SEEDS=n of them, starting at
// PAWL_HISTORY_FIRST (default 1).
struct Seed {
  std::string name;
  std::uint64_t value;
};
std::vector<Seed> history_seeds(std::uint64_t count);

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// One store with a pool of two lanes, both owned by engine-a, and short helpers for common operations.
class Bench : public testing::Test {
 protected:
  void use(const StoreFactory& factory);

  // Commits one operation; an error of the whole group fails the test.
  Outcome commit(Operation operation);
  OutcomeKind kind_of(Operation operation) { return commit(std::move(operation)).kind; }
  std::vector<Outcome> commit_all(const std::vector<Operation>& group);

  RunId submit(const std::string& id) { return submit_to(lane_, id); }
  RunId submit_to(core::LaneId lane, const std::string& id, const std::string& name_space = "default");
  StoredJob job(RunId run);
  StoredMailbox mailbox(RunId run);
  core::Epoch acquire(core::LaneId lane, const std::string& owner);
  // Gives the lane to another owner, by the clock or, where nothing expires, by release.
  core::Epoch take_over(core::LaneId lane, const std::string& owner);

  // A bundle that changes only the rev, with the right guards.
  core::Bundle bundle_for(RunId run);
  core::Bundle bundle_for_mailbox(RunId run);
  core::Bundle bundle_with(RunId run, std::vector<core::Write> writes);
  // Opens activity 0, 1, ... `count` - 1, each with an unclaimed work item.
  void enqueue(RunId run, std::uint32_t count, const std::string& topic = "topic");
  // Opens the next activity with this work item, whose run and number are filled in.
  core::WorkItem enqueue_item(RunId run, core::WorkItem item);
  void close(RunId run, core::JobStatus status);
  // Closed, with its completion tasks done: nothing more will happen to it.
  void end(RunId run, core::JobStatus status = core::JobStatus::completed, Instant remove_at = {});
  core::WorkItem stored_item(RunId run, std::uint32_t activity);
  std::vector<core::WorkItem> claim(std::size_t items_max, const std::string& topic = "topic") {
    return commit(ClaimWork{{Topic(topic)}, items_max, "w", lease}).items();
  }

  // Defined out of line: g++ 12 wrongly reports uninitialized strings in an inlined Deliver.
  static Deliver to_run(RunId run, core::Message message, std::optional<Deliver::Source> source = std::nullopt);
  // What the owner of both lanes does after a commit: delivers everything once, in order, and drops it. Returns the
  // runs that received something.
  std::vector<RunId> deliver_outboxes();
  static Deliver to_mailbox(core::MailboxKey key, core::Message message, core::LaneId lane);
  static Deliver to_job(core::JobKey key, core::Message message, core::LaneId lane);

  core::Guid guid(std::uint64_t number) const { return core::Guid{number, Random::mix(number + 1)}; }
  core::Message start_message(std::uint64_t number, Payload input = {}) const {
    return core::Message{guid(number), core::Start{std::move(input)}};
  }
  core::WorkItem work_item(RunId run, std::uint32_t activity, const std::string& topic = "topic") const;
  core::Message answer_to(const core::WorkItem& item, core::ReplyStatus status = core::ReplyStatus::success) const;
  static core::Activity activity(std::uint32_t seq, std::uint64_t ledger = 1'100'000'000'000);
  static ledger::ActivityLedger activity_ledger(std::uint64_t digits);
  static ledger::MessageLedger message_ledger(std::uint64_t digits);

  static constexpr Duration lease = std::chrono::seconds(30);

  TemporaryFolder folder_;
  ManualClock clock_;
  std::unique_ptr<Store> store_;
  DuplexStore* duplex_ = nullptr;
  core::LaneId lane_{0};
  core::LaneId other_lane_{0};
  core::Epoch epoch_{0};
  core::Epoch other_epoch_{0};
  std::uint64_t next_bundle_ = 1;
};

// A suite that runs once per store.
class StoreTest : public Bench, public testing::WithParamInterface<StoreFactory> {
 protected:
  void SetUp() override { use(GetParam()); }
  void TearDown() override {
    if (GetParam().violation == nullptr) return;
    EXPECT_EQ(GetParam().violation(*store_), std::nullopt);
  }
};
inline std::string store_name(const testing::TestParamInfo<StoreFactory>& info) { return info.param.name; }

// A suite that runs once per store and case. A case has a `name`.
template <class Case>
class StoreCaseTest : public Bench, public testing::WithParamInterface<std::tuple<StoreFactory, Case>> {
 protected:
  void SetUp() override { use(std::get<0>(this->GetParam())); }
  const Case& scenario() const { return std::get<1>(this->GetParam()); }
};
template <class Case>
std::string store_case_name(const testing::TestParamInfo<std::tuple<StoreFactory, Case>>& info) {
  return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
}

}  // namespace pawl::store
