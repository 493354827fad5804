// What a listener receives, and what it does not receive when notifications are lost.
#include <gtest/gtest.h>

#include "store/conformance/conformance.h"
#include "store/fault/store.h"
#include "store/memory/store.h"

namespace pawl::store::fault {

namespace {

struct Heard final : Listener {
  void rung(const Change& change) override { changes.push_back(change); }
  void owner_gone() override { ++gone; }
  std::vector<Change> changes;
  int gone = 0;
};

Change of_run(std::uint64_t run) {
  Change change;
  change.add(RunId(run));
  return change;
}

class Rings : public testing::Test {
 protected:
  ManualClock clock_;
  memory::Store inner_{clock_};
  Heard one_, two_;
};

TEST_F(Rings, whoever_listens_hears_what_was_rung_and_nothing_after_it_stopped) {
  Store store(inner_, {});
  store.ring(core::LaneId(1), of_run(7));
  store.listen(one_);
  store.listen(two_);
  store.ring(core::LaneId(1), of_run(8));
  store.stop_listening(one_);
  inner_.ring(core::LaneId(2), of_run(9));
  EXPECT_EQ(one_.changes, std::vector{of_run(8)});
  EXPECT_EQ(two_.changes, (std::vector{of_run(8), of_run(9)}));
}

TEST_F(Rings, who_listens_twice_hears_once) {
  inner_.listen(one_);
  inner_.listen(one_);
  inner_.ring(core::LaneId(1), of_run(7));
  EXPECT_EQ(one_.changes.size(), 1u);
}

TEST_F(Rings, a_ring_is_lost_for_whom_the_plan_says_and_heard_by_the_others) {
  Options options;
  options.loses_ring = [this](Listener& listener) { return &listener == &one_; };
  options.ring_late_max = std::chrono::seconds(3);
  Store store(inner_, options);
  store.listen(one_);
  store.listen(two_);
  EXPECT_EQ(store.ring_late_max(), std::chrono::seconds(3));
  store.ring(core::LaneId(1), of_run(7));
  EXPECT_TRUE(one_.changes.empty());
  EXPECT_EQ(two_.changes.size(), 1u);
  EXPECT_EQ(store.rings_lost(), 1u);
  store.heal();
  store.ring(core::LaneId(1), of_run(8));
  EXPECT_EQ(one_.changes, std::vector{of_run(8)});
}

TEST_F(Rings, a_store_that_is_gone_listens_no_more) {
  {
    Store store(inner_, {});
    store.listen(one_);
  }
  inner_.ring(core::LaneId(1), of_run(7));
  EXPECT_TRUE(one_.changes.empty());
}

TEST_F(Rings, a_store_that_loses_none_says_so) { EXPECT_EQ(inner_.ring_late_max(), Duration{0}); }

}  // namespace

}  // namespace pawl::store::fault
