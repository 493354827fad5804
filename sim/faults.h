// The faults of the simulator, by the number of the commit call that they break.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace pawl::sim {

enum class FaultKind : std::uint8_t {
  crash_before,  // the engine dies; the commit does not reach the store
  crash_after,   // the commit is applied, the engine dies before the answer
  reply_lost,    // applied, and the engine cannot know
  request_lost,  // not applied, and the engine cannot know
  cut_midway,    // some operations of the group are applied, and the engine cannot know which
  refused,       // not applied, and the engine gets this outcome
  fenced,        // the store answers that the lane has another owner
  delayed,       // the commit arrives after the lease ran out and others acted
  late_reply,    // applied at once; the answer comes when the lease is nearly over
  duplicated,    // the commit arrives twice
  stopped,       // not a fault: the engine stops gracefully and comes back
};
inline constexpr FaultKind all_fault_kinds[] = {
    FaultKind::crash_before, FaultKind::crash_after, FaultKind::reply_lost, FaultKind::request_lost,
    FaultKind::cut_midway,   FaultKind::refused,     FaultKind::fenced,     FaultKind::delayed,
    FaultKind::late_reply,   FaultKind::duplicated,  FaultKind::stopped,
};

constexpr std::string_view name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::crash_before:
      return "crash_before";
    case FaultKind::crash_after:
      return "crash_after";
    case FaultKind::reply_lost:
      return "reply_lost";
    case FaultKind::request_lost:
      return "request_lost";
    case FaultKind::cut_midway:
      return "cut_midway";
    case FaultKind::refused:
      return "refused";
    case FaultKind::fenced:
      return "fenced";
    case FaultKind::delayed:
      return "delayed";
    case FaultKind::late_reply:
      return "late_reply";
    case FaultKind::duplicated:
      return "duplicated";
    case FaultKind::stopped:
      return "stopped";
  }
  return "?";
}

// Whether a store in a file can have this fault. No network carries its commits, so none arrives twice. If one did, the
// answer of the second would not contain what the first did, and only a renewal would look for that.
constexpr bool is_of_files(FaultKind kind) { return kind != FaultKind::duplicated; }

// Breaks the calls first, first + 1, ... first + calls - 1: once, or several times until it heals.
struct PlannedFault {
  FaultKind kind = FaultKind::refused;
  std::uint64_t first = 1;
  std::uint32_t calls = 1;
};

// Random faults, in thousandths of all commit calls, and how many there may be in a simulation.
struct FaultRates {
  std::uint32_t per_thousand[std::size(all_fault_kinds)] = {};
  std::uint32_t read_failures_per_thousand = 0;
  std::uint32_t pauses_per_thousand = 0;      // of an engine's steps: it stops, perhaps beyond its lease
  std::uint32_t crashes_per_thousand = 0;     // of an engine's steps: it dies with commits in transit
  std::uint32_t bells_lost_per_thousand = 0;  // of the notifications of others: the owner notices the loss late
  std::uint32_t budget = 0;
  // Between lanes that are islands: some delivered rows are lost, come twice, or out of order.
  std::uint32_t letters_per_thousand = 0;
  std::uint32_t letters_max = 0;  // in a simulation
};

}  // namespace pawl::sim
