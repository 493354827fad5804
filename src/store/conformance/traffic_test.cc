// The same random traffic on every store and on a reference: the same answers, the same reads.
#include "store/conformance/traffic.h"
#include "store/memory/store.h"
#include "store/sqlite/store.h"

namespace pawl::store {

namespace {

constexpr int steps_per_traffic = 500;
constexpr int steps_between_traffic_reads = 50;

std::vector<Seed> traffic_seeds() { return history_seeds(3); }

class TrafficTest : public StoreCaseTest<Seed> {
 protected:
  // The memory store sends through the outbox; where sends are direct, SQLite is the reference.
  std::unique_ptr<Store> reference(const Clock& clock) {
    if (!store_->sends_directly()) return std::make_unique<memory::Store>(clock);
    sqlite::Options options;
    options.clock = &clock;
    auto opened = sqlite::Store::open((reference_folder_.path() / "reference.db").string(), options);
    return opened ? std::move(*opened) : nullptr;
  }
  TemporaryFolder reference_folder_;
};

TEST_P(TrafficTest, is_the_same_on_every_store) {
  ManualClock other_clock;
  const auto other = reference(other_clock);
  ASSERT_NE(other, nullptr);
  const std::vector<Operation> same_start = {OpenPool{Pool("graphs"), 2}};
  ASSERT_TRUE(other->commit(same_start));
  const core::LaneId other_lane = (*other->read_pool(Pool("graphs")))->first;
  const std::vector<Operation> same_lanes = {AcquireLane{other_lane, "engine-a", lease},
                                             AcquireLane{core::LaneId(other_lane.raw() + 1), "engine-a", lease}};
  ASSERT_TRUE(other->commit(same_lanes));
  const bool by_clock = store_->read_lane(lane_)->lease_until && other->read_lane(other_lane)->lease_until;
  HistoryOptions options{scenario().value, "default", by_clock};
  options.pauses_by_lane = !store_->spans_lanes();
  const auto groups = store_->spans_lanes() ? Traffic::Groups::of_any : Traffic::Groups::of_one_domain;
  Traffic expected(*other, other_clock, other_lane, options, groups);
  Traffic played(*store_, clock_, lane_, options, groups);
  for (int step = 0; step < steps_per_traffic; ++step) {
    ASSERT_EQ(expected.step(), played.step()) << "step " << step << " of " << scenario().name;
    if (step % steps_between_traffic_reads == 0) {
      ASSERT_EQ(expected.read_back(), played.read_back()) << "step " << step << " of " << scenario().name;
    }
  }
  EXPECT_EQ(expected.read_back(), played.read_back());
}

// Traffic without offers, refusals and waiting rows would compare nothing.
TEST(TrafficHistory, has_every_write_every_operation_and_every_outcome_in_it) {
  std::set<std::size_t> writes;
  std::set<std::string> met;
  std::string read;
  std::size_t largest = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ManualClock clock;
    memory::Store store(clock);
    const std::vector<Operation> start = {OpenPool{Pool("graphs"), 2},
                                          AcquireLane{core::LaneId(1), "engine-a", std::chrono::seconds(30)},
                                          AcquireLane{core::LaneId(2), "engine-a", std::chrono::seconds(30)}};
    ASSERT_TRUE(store.commit(start));
    Traffic traffic(store, clock, core::LaneId(1), {seed}, Traffic::Groups::of_any);
    for (int step = 0; step < steps_per_traffic; ++step) {
      static_cast<void>(traffic.step());
      if (step % steps_between_traffic_reads == 0) read += traffic.read_back();
    }
    writes.insert(traffic.writes().begin(), traffic.writes().end());
    met.insert(traffic.met().begin(), traffic.met().end());
    largest = std::max(largest, traffic.largest());
  }
  EXPECT_EQ(writes.size(), std::variant_size_v<core::Write>);
  for (std::size_t kind = 0; kind < std::variant_size_v<Operation>; ++kind) {
    if (kind == Operation(OpenPool{}).index()) continue;  // the pool is already open
    EXPECT_TRUE(met.contains(format("op {} -> committed", kind))) << kind;
  }
  for (const char* refused : {"op 0 -> conflict", "op 0 -> fenced", "op 0 -> rejected", "op 0 -> already_done",
                              "op 2 -> already_done", "op 8 -> fenced"})
    EXPECT_TRUE(met.contains(refused)) << refused;
  for (const char* sight : {"mailbox key-0 rev", "is not there", "offered to", " for #", "'signal ", "more true",
                            "page of 2", "outbox 0 to 1 #", "outbox 1 to 0 #", "outbox 0 to 0 #", "said #", "listed #"})
    EXPECT_NE(read.find(sight), std::string::npos) << sight;
  EXPECT_GE(largest, 6u);
}

INSTANTIATE_TEST_SUITE_P(stores, TrafficTest,
                         testing::Combine(testing::ValuesIn(all_stores()), testing::ValuesIn(traffic_seeds())),
                         store_case_name<Seed>);
INSTANTIATE_TEST_SUITE_P(outbox, TrafficTest,
                         testing::Combine(testing::ValuesIn(outbox_stores()), testing::ValuesIn(traffic_seeds())),
                         store_case_name<Seed>);
INSTANTIATE_TEST_SUITE_P(islands, TrafficTest,
                         testing::Combine(testing::ValuesIn(island_stores()), testing::ValuesIn(traffic_seeds())),
                         store_case_name<Seed>);

}  // namespace

}  // namespace pawl::store
