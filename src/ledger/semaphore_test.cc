#include "ledger/semaphore.h"

#include "ledger/testing.h"

#include <limits>

namespace pawl::ledger {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

static_assert(Semaphore().value() == 0);
static_assert(Semaphore::concluding(0) == -1);
static_assert(Semaphore::concluding(1) == 0);
static_assert(Semaphore::concluding(2) == 1);
static_assert(Semaphore::concluding(3) == 2);
static_assert(Semaphore::pending(0) == 0);
static_assert(Semaphore::pending(3) == 3);
static_assert(Semaphore::cycle() == 0);

Semaphore open(std::int64_t value) { return Semaphore::decode(value).value(); }

TEST(semaphore, decode_refuses_what_no_job_can_hold) {
  EXPECT_EQ(open(0).value(), 0);
  EXPECT_EQ(open(Semaphore::open_max).value(), Semaphore::open_max);
  EXPECT_EQ(outcome(Semaphore::decode(-1)), "corrupt");
  EXPECT_EQ(outcome(Semaphore::decode(-1'000'000'000)), "corrupt");
  EXPECT_EQ(outcome(Semaphore::decode(lowest)), "corrupt");
  EXPECT_EQ(outcome(Semaphore::decode(Semaphore::open_max + 1)), "corrupt");
  EXPECT_EQ(outcome(Semaphore::decode(highest)), "corrupt");
}

TEST(semaphore, one_step_gives_the_new_value_and_the_hit_together) {
  const auto step = open(1).step(-1, 0).value();
  EXPECT_EQ(step.after.value(), 0);
  EXPECT_TRUE(step.threshold_hit);
  EXPECT_FALSE(open(2).step(-1, 0).value().threshold_hit);
}

TEST(semaphore, never_goes_below_zero) {
  EXPECT_EQ(outcome(open(0).step(-1, 0)), "corrupt");
  EXPECT_EQ(outcome(open(5).step(-6, 0)), "corrupt");
  EXPECT_EQ(outcome(open(0).step(lowest, 0)), "corrupt");
}

TEST(semaphore, stops_at_its_ceiling_and_does_not_overflow) {
  EXPECT_EQ(outcome(open(Semaphore::open_max).step(0, 0)), "ok");
  EXPECT_EQ(outcome(open(Semaphore::open_max).step(1, 0)), "over_limit");
  EXPECT_EQ(outcome(open(0).step(highest, 0)), "over_limit");
}

// Claim: any integer can be a threshold, and equality after the step decides. Checked over a grid of all three.
TEST(semaphore, hits_any_threshold_by_equality_after_the_step) {
  for (std::int64_t before = 0; before <= 15; ++before)
    for (std::int64_t delta = -before; delta <= 15; ++delta)
      for (std::int64_t threshold = -2; threshold <= 31; ++threshold) {
        const auto step = open(before).step(delta, threshold).value();
        EXPECT_EQ(step.after.value(), before + delta);
        EXPECT_EQ(step.threshold_hit, before + delta == threshold);
      }
}

}  // namespace
}  // namespace pawl::ledger
