// The same random history on every store and on the memory store: the same answers, the same reads.
#include "store/conformance/history.h"
#include "store/memory/store.h"

namespace pawl::store {

namespace {

constexpr int steps_per_history = 1500;
constexpr int steps_between_reads = 50;

std::vector<Seed> seeds() { return history_seeds(8); }

class Histories : public StoreCaseTest<Seed> {};

TEST_P(Histories, are_the_same_on_every_store) {
  ManualClock other_clock;
  memory::Store reference(other_clock);
  const std::vector<Operation> same_start = {OpenPool{Pool("graphs"), 2},
                                             AcquireLane{core::LaneId(1), "engine-a", lease},
                                             AcquireLane{core::LaneId(2), "engine-a", lease}};
  ASSERT_TRUE(reference.commit(same_start));
  // Where lanes are held until given back, a takeover by the clock cannot be compared.
  const bool by_clock = store_->read_lane(lane_)->lease_until.has_value();
  const HistoryOptions options{scenario().value, "default", by_clock};
  History expected(reference, other_clock, core::LaneId(1), options);
  History played(*store_, clock_, lane_, options);
  for (int step = 0; step < steps_per_history; ++step) {
    ASSERT_EQ(expected.step(), played.step()) << "step " << step << " of " << scenario().name;
    if (step % steps_between_reads == 0) {
      ASSERT_EQ(expected.read_back(), played.read_back()) << "step " << step << " of " << scenario().name;
    }
  }
  EXPECT_EQ(expected.read_back(), played.read_back());
}

TEST_P(Histories, have_every_outcome_and_every_operation_in_them) {
  // A history in which nothing was ever refused, removed, held or due would compare nothing.
  std::set<std::string> seen;
  std::set<std::string> applied;
  std::string read;
  const bool by_clock = store_->read_lane(lane_)->lease_until.has_value();
  for (std::uint64_t part = 0; part < 12; ++part) {
    ManualClock clock;
    memory::Store store(clock);
    const std::vector<Operation> start = {OpenPool{Pool("graphs"), 2}, AcquireLane{core::LaneId(1), "engine-a", lease},
                                          AcquireLane{core::LaneId(2), "engine-a", lease}};
    ASSERT_TRUE(store.commit(start));
    History history(store, clock, core::LaneId(1), {scenario().value + part * 100, "default", by_clock});
    for (int step = 0; step < steps_per_history; ++step) {
      const std::string line = history.step();
      const auto from = line.find("-> ") + 3;
      seen.insert(line.substr(from, line.find(' ', from) - from));
      if (line.find("-> committed") != std::string::npos) applied.insert(line.substr(0, from));
      if (step % steps_between_reads == 0) read += history.read_back();
    }
  }
  const std::set<std::string> all = {"committed", "already_done", "exists", "conflict", "fenced", "rejected"};
  EXPECT_EQ(seen, all);
  // All except DropOutbox and OpenPool; lanes that do not change owners are only renewed.
  EXPECT_EQ(applied.size(), std::variant_size_v<Operation> - (by_clock ? 2 : 4));
  for (const char* sight : {" is gone",       "timers [",
                            "held true",      " due ",
                            "paused red",     "paused blue",
                            "parked",         "redrives 1",
                            "half way",       "until 9223372036854775807",
                            "held by nobody", "truetrue",
                            "data ",          "code 404",
                            "state ",         "moved",
                            "skipped",        "output",
                            "child of #",     "awaits true",
                            "awaits false",   " kind 17 ",
                            "active true",    "other graphs",
                            " north #",       "measured york total -",
                            "announced #"})
    EXPECT_NE(read.find(sight), std::string::npos) << sight;
}

INSTANTIATE_TEST_SUITE_P(stores, Histories,
                         testing::Combine(testing::ValuesIn(all_stores()), testing::ValuesIn(seeds())),
                         store_case_name<Seed>);
INSTANTIATE_TEST_SUITE_P(outbox, Histories,
                         testing::Combine(testing::ValuesIn(outbox_stores()), testing::ValuesIn(seeds())),
                         store_case_name<Seed>);

// Two tenants with the same job ids, their histories mixed at random: each sees what it would see alone.
class Tenants : public StoreCaseTest<Seed> {};

TEST_P(Tenants, with_the_same_ids_never_see_each_other) {
  ASSERT_EQ(kind_of(OpenPool{Pool("second"), 2}), OutcomeKind::committed);
  const core::LaneId second_lane = (*store_->read_pool(Pool("second")))->first;
  for (std::uint32_t i = 0; i < 2; ++i) acquire(core::LaneId(second_lane.raw() + i), "engine-a");

  ManualClock alone_clock;
  const auto& factory = std::get<0>(GetParam());
  TemporaryFolder alone_folder;
  const auto alone = factory.make(alone_clock, alone_folder.path());
  const std::vector<Operation> open = {OpenPool{Pool("graphs"), 2}};
  ASSERT_TRUE(alone->commit(open));
  const core::LaneId alone_lane = (*alone->read_pool(Pool("graphs")))->first;
  const std::vector<Operation> own = {AcquireLane{alone_lane, "engine-a", lease},
                                      AcquireLane{core::LaneId(alone_lane.raw() + 1), "engine-a", lease}};
  ASSERT_TRUE(alone->commit(own));

  // All tenants share the topics, so the other tenant must not touch the queue: it only has messages and ids.
  const HistoryOptions options{scenario().value, "one", false};
  History mixed(*store_, clock_, lane_, options);
  History lonely(*alone, alone_clock, alone_lane, options);
  Random random(scenario().value * 31);
  std::vector<RunId> other_runs;
  for (int step = 0; step < 600; ++step) {
    ASSERT_EQ(lonely.step(), mixed.step()) << "step " << step;
    for (std::uint64_t i = random.below(3); i > 0; --i) {
      const std::string id = format("job-{}", random.below(12));
      const core::LaneId lane(second_lane.raw() + static_cast<std::uint32_t>(random.below(2)));
      const Outcome made =
          commit(Submit{Namespace("two"), JobId(id), lane, {GraphName("g"), 1, 1}, "two", clock_.now()});
      EXPECT_TRUE(made.kind == OutcomeKind::committed || made.kind == OutcomeKind::exists);
      EXPECT_EQ(job(made.run()).state.job.name_space, Namespace("two"));
      if (made.kind == OutcomeKind::committed) other_runs.push_back(made.run());
      commit(to_run(other_runs[random.below(other_runs.size())], {guid(random.below(12)), core::Start{"two"}}));
    }
    if (step % 50 == 0) {
      ASSERT_EQ(lonely.read_back(), mixed.read_back()) << "step " << step;
    }
  }
  const auto listed = store_->list_jobs({Namespace("two"), std::nullopt, RunId(0), 100});
  EXPECT_EQ(listed->size(), other_runs.size());
  for (const core::JobRow& row : *listed) EXPECT_EQ(row.name_space, Namespace("two"));
}

INSTANTIATE_TEST_SUITE_P(stores, Tenants, testing::Combine(testing::ValuesIn(all_stores()), testing::ValuesIn(seeds())),
                         store_case_name<Seed>);

}  // namespace

}  // namespace pawl::store
