// Every case of tests/graphs/*.yaml, on every store, with fusion and without, and with every commit broken in every
// way.
#include <gtest/gtest.h>

#include <algorithm>

#include "graphs/all_cases.h"
#include "graphs/player.h"
#include "testing.h"

namespace pawl::graphs {

namespace {

class Graphs : public ::testing::TestWithParam<Case> {};
std::string case_name(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

TEST_P(Graphs, run_on_every_store) {
  for (const std::string store : {"memory", "sqlite"})
    for (const bool fusion : {true, false}) {
      const Played played = play(GetParam(), {store, fusion});
      EXPECT_EQ(compare(GetParam(), played, false), "") << store << (fusion ? ", fused" : ", every step alone");
    }
}

TEST_P(Graphs, survive_every_fault_at_every_commit) {
  // The ordinary build proves the protocol; a sanitizer checks a sample.
  constexpr std::uint64_t one_in = pawl::testing::sanitized ? 20 : 1;
  std::uint64_t place = 0;
  for (const bool fusion : {true, false}) {
    const std::uint64_t commits = play(GetParam(), {"memory", fusion}).commits;
    RecordProperty(fusion ? "commits_fused" : "commits_alone", static_cast<int>(commits));
    for (std::uint64_t call = 1; call <= commits; ++call)
      for (const Break what : all_breaks) {
        if (++place % one_in != 0) continue;
        const Played played = play(GetParam(), {"memory", fusion}, Broken{what, call});
        ASSERT_EQ(compare(GetParam(), played, true), "")
            << name_of(what) << " at commit " << call << (fusion ? ", fused" : ", every step alone");
      }
  }
}

// Some reads of the engine fail, at other places with every seed, also while everything is loaded after a crash.
TEST_P(Graphs, survive_reads_that_fail) {
  for (const bool fusion : {true, false})
    for (std::uint64_t seed = 1; seed <= (pawl::testing::sanitized ? 2 : 6); ++seed)
      for (const std::string store : {"memory", "sqlite"}) {
        if (store == "sqlite" && seed > 1) continue;  // slower, and the same engine
        const auto broken = seed % 2 == 0 ? std::optional(Broken{Break::crash_after, seed * 2}) : std::nullopt;
        const Played played = play(GetParam(), {store, fusion}, broken, {seed < 4 ? 100u : 500u, seed});
        ASSERT_EQ(compare(GetParam(), played, true), "")
            << "seed " << seed << (fusion ? ", fused" : ", every step alone");
      }
}

// A hook that sleeps ten seconds and gets a signal around that time, in a thousand ways: one of the two concludes it.
TEST(Race, timer_against_signal_in_the_same_instant) {
  Case race = *std::find_if(cases().begin(), cases().end(),
                            [](const Case& one) { return one.name == "original_item_05_timer_and_signal_at_once"; });
  std::uint32_t by_signal = 0;
  for (std::int64_t offset = -250; offset < 250; ++offset)
    for (const bool fusion : {true, false}) {
      race.signals.front().at = 10'000'000 + offset;
      const Played played = play(race, {"memory", fusion});
      ASSERT_EQ(compare(race, played, false), "") << "offset " << offset;
      by_signal += played.jobs.at(played.main).data.find("true") != std::string::npos ? 1 : 0;
    }
  EXPECT_GT(by_signal, 0u);
  EXPECT_LT(by_signal, 1000u);
}

INSTANTIATE_TEST_SUITE_P(cases, Graphs, ::testing::ValuesIn(cases()), case_name);

}  // namespace

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

}  // namespace pawl::graphs
