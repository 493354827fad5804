// The soak's own check: it must notice growth, and only growth.
#include "sim/soak.h"

#include <gtest/gtest.h>

namespace pawl::sim {
namespace {

using Change = void (*)(SoakSample&, std::uint64_t);

std::vector<SoakSample> steady(Change change = [](SoakSample&, std::uint64_t) {}) {
  std::vector<SoakSample> samples;
  for (std::uint64_t i = 0; i < 48; ++i) {
    SoakSample sample;
    sample.live_rows = 1000 + i % 7;
    sample.closed_rows = i * 10'000;
    sample.heap_bytes = (8 << 20) + i % 5 * 1000;
    sample.resident_bytes = 20 << 20;
    change(sample, i);
    samples.push_back(sample);
  }
  return samples;
}

TEST(Soak, what_stays_the_same_has_not_grown) { EXPECT_FALSE(growth_in(steady(), CountedRows::live)); }

TEST(Soak, closed_jobs_count_only_when_they_are_said_to_leave) {
  const auto grown = growth_in(steady(), CountedRows::all);
  ASSERT_TRUE(grown);
  EXPECT_NE(grown->detail.find("stored rows"), std::string::npos) << grown->detail;
}

TEST(Soak, sees_rows_that_pile_up) {
  EXPECT_TRUE(growth_in(steady([](SoakSample& s, std::uint64_t i) { s.live_rows += i * 20; }), CountedRows::live));
}

TEST(Soak, sees_memory_that_piles_up) {
  EXPECT_TRUE(
      growth_in(steady([](SoakSample& s, std::uint64_t i) { s.heap_bytes += i * 100'000; }), CountedRows::live));
  EXPECT_TRUE(
      growth_in(steady([](SoakSample& s, std::uint64_t i) { s.resident_bytes += i * 200'000; }), CountedRows::live));
}

TEST(Soak, cannot_tell_from_a_few_samples) { EXPECT_TRUE(growth_in({SoakSample{}, SoakSample{}}, CountedRows::live)); }

}  // namespace
}  // namespace pawl::sim
