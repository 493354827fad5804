// The digits of the ledgers, for the oracles.
#pragma once

#include <cstdint>

namespace pawl::sim {

// The digits of the rules, read here by plain arithmetic: not with the code under test.
constexpr std::uint64_t position(std::uint64_t ledger, int from_left) {
  for (int i = 15; i > from_left; --i) ledger /= 10;
  return ledger % 10;
}
constexpr std::uint64_t attempts(std::uint64_t ledger) { return ledger / 1'000'000'000'000; }
constexpr std::uint64_t low8(std::uint64_t ledger) { return ledger % 100'000'000; }
constexpr bool leg1_complete(std::uint64_t ledger) { return position(ledger, 4) != 0; }
constexpr bool work_done(std::uint64_t ledger) { return position(ledger, 5) != 0; }
constexpr bool spawned(std::uint64_t ledger) { return position(ledger, 6) != 0; }

}  // namespace pawl::sim
