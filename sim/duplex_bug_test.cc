// Each seeded bug of the duplex protocol must be caught by the duplex simulator; the test prints by which oracle.
#include <gtest/gtest.h>

#include "sim/bug_child.h"
#include "sim/duplex_boundaries.h"

namespace pawl::sim {
namespace {

Catch hunt_duplex() {
  DuplexTally tally;
  const auto found = [&](const char* by) -> std::optional<Catch> {
    if (!tally.violation) return std::nullopt;
    return Catch{format("{}, {}", by, tally.violation->oracle), tally.violation->detail + "\n" + tally.how};
  };
  for (const DuplexScenario& scenario : duplex_scenarios())
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      break_every_operation(scenario, seed, tally);
      if (auto caught = found("duplex boundary loop")) return *caught;
    }
  for (const DuplexScenario& scenario : duplex_scenarios()) {
    break_at_random(scenario, 1, 300, tally);
    if (auto caught = found("duplex swarm")) return *caught;
  }
  return {};
}

struct Named {
  SeededBug bug;
  const char* name;
};
constexpr Named duplex_bugs[] = {
    {SeededBug::duplex_preset_after_enqueue, "duplex_preset_after_enqueue"},
    {SeededBug::duplex_counter_not_set, "duplex_counter_not_set"},
    {SeededBug::duplex_every_closer_closes, "duplex_every_closer_closes"},
    {SeededBug::duplex_undo_forgotten, "duplex_undo_forgotten"},
    {SeededBug::duplex_plane_by_arrival, "duplex_plane_by_arrival"},
    {SeededBug::duplex_remove_before_add, "duplex_remove_before_add"},
    {SeededBug::duplex_cleanup_lost, "duplex_cleanup_lost"},
};

class DuplexBugTest : public ::testing::TestWithParam<Named> {};

TEST_P(DuplexBugTest, is_caught) {
  const Catch found = hunt_in_child(GetParam().bug, hunt_duplex);
  EXPECT_FALSE(found.by.empty()) << GetParam().name << " was not caught by anything";
  EXPECT_NE(found.by, "watchdog") << "a hunt that does not end has caught nothing";
  std::printf("  %-28s caught by: %s\n", GetParam().name, found.by.c_str());
}

INSTANTIATE_TEST_SUITE_P(all, DuplexBugTest, ::testing::ValuesIn(duplex_bugs),
                         [](const auto& p) { return std::string(p.param.name); });

TEST(NoDuplexBugTest, nothing_is_caught_when_no_bug_is_on) {
  active_seeded_bug = SeededBug::none;
  const Catch found = hunt_duplex();
  EXPECT_TRUE(found.by.empty()) << found.by << ": " << found.how;
}

}  // namespace
}  // namespace pawl::sim
