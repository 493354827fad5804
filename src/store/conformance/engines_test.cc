// Two engines and one store: every interleaving of their calls, compared with a model of what must happen.
#include <algorithm>

#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class Engines : public StoreTest {};

// What an engine does, one call at a time, always based on its last read.
enum class Act : std::uint8_t { acquire, read, write, repeat };

struct Engine {
  std::string name;
  core::Epoch epoch{0};
  core::Bundle bundle;
};

// The model: the owner of the lane, and the bundle that wrote the job last.
struct Model {
  core::Epoch epoch{0};
  core::Rev rev{0};
  core::BundleId last{0};

  OutcomeKind expect(const core::Bundle& bundle) {
    if (bundle.epoch != epoch) return OutcomeKind::fenced;
    if (bundle.rev_before == rev) {
      rev = core::next(rev);
      last = bundle.id;
      return OutcomeKind::committed;
    }
    if (core::next(bundle.rev_before) == rev && last == bundle.id) return OutcomeKind::already_done;
    return OutcomeKind::conflict;
  }
};

// All orders in which two scripts can run: 0 takes the next act of the first, 1 of the second.
std::vector<std::vector<int>> interleavings(std::size_t first, std::size_t second) {
  std::vector<int> order(first, 0);
  order.insert(order.end(), second, 1);
  std::vector<std::vector<int>> all;
  do all.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  return all;
}

TEST_P(Engines, every_interleaving_ends_as_the_model_says) {
  const std::vector<Act> script = {Act::acquire, Act::read, Act::write, Act::repeat, Act::read, Act::write};
  const auto orders = interleavings(script.size(), script.size());
  ASSERT_EQ(orders.size(), 924u);
  int round = 0;
  int refused = 0;
  for (const auto& order : orders) {
    const RunId run = submit(format("job-{}", round++));
    Model model;
    model.epoch = store_->read_lane(lane_)->epoch;
    Engine engines[2] = {{"engine-a", core::Epoch(0), bundle_for(run)}, {"engine-b", core::Epoch(0), bundle_for(run)}};
    std::size_t next[2] = {0, 0};
    for (const int who : order) {
      Engine& engine = engines[who];
      switch (script[next[who]++]) {
        case Act::acquire:
          engine.epoch = take_over(lane_, engine.name);
          ASSERT_EQ(engine.epoch, core::next(model.epoch));
          model.epoch = engine.epoch;
          break;
        case Act::read:
          engine.bundle = bundle_for(run);
          engine.bundle.epoch = engine.epoch;
          break;
        case Act::write:
        case Act::repeat: {
          const OutcomeKind expected = model.expect(engine.bundle);
          ASSERT_EQ(kind_of(engine.bundle), expected) << name_of(expected) << " in round " << round;
          if (expected == OutcomeKind::fenced || expected == OutcomeKind::conflict) ++refused;
          break;
        }
      }
    }
    ASSERT_EQ(job(run).state.job.rev, model.rev);
    ASSERT_EQ(job(run).state.job.bundle, model.last);
  }
  EXPECT_GT(refused, 1000) << "the engines never met";
}

TEST_P(Engines, of_two_bundles_on_one_rev_exactly_one_is_applied) {
  for (int round = 0; round < 50; ++round) {
    const RunId run = submit(format("job-{}", round));
    core::Bundle one = bundle_with(run, {core::PutActivity{std::nullopt, activity(0)}});
    core::Bundle two = bundle_with(run, {core::PutActivity{std::nullopt, activity(0)}});
    if (round % 2 == 1) std::swap(one, two);
    EXPECT_EQ(kind_of(one), OutcomeKind::committed);
    EXPECT_EQ(kind_of(two), OutcomeKind::conflict);
    EXPECT_EQ(job(run).state.job.bundle, one.id);
  }
}

TEST_P(Engines, two_workers_that_claim_in_turns_never_hold_one_item) {
  const RunId run = submit("a");
  enqueue(run, 40);
  std::set<core::ActivitySeq> held;
  for (int round = 0; round < 40; ++round) {
    const auto items = commit(ClaimWork{{Topic("topic")}, 1, round % 2 == 0 ? "one" : "two", lease}).items();
    ASSERT_EQ(items.size(), 1u);
    EXPECT_TRUE(held.insert(items.front().activity).second);
  }
}

INSTANTIATE_TEST_SUITE_P(stores, Engines, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
