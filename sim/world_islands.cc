// World: lanes that are islands. An engine commits to each lane independently; messages from one lane to another are
// lost, come twice or out of order.
#include <algorithm>

#include "base/random.h"
#include "sim/world.h"
#include "store/domain.h"

namespace pawl::sim {

namespace {

bool is_letter(const store::Operation& operation) {
  const auto* deliver = std::get_if<store::Deliver>(&operation);
  return deliver != nullptr && deliver->source;
}

}  // namespace

Duration World::lane_error(core::LaneId lane) const {
  const auto error_max = static_cast<std::uint64_t>(options_.lane_clock_error_max.count());
  if (error_max == 0) return Duration{0};
  return Duration(static_cast<std::int64_t>(Random::mix(options_.seed * 131 + lane.raw()) % (error_max + 1)));
}

// Which operations of a group arrive, and in which order. A lost message is no longer part of its commit, and no engine
// notices that.
std::vector<std::size_t> World::disturb_letters(const runtime::Group& group) {
  const FaultRates& rates = options_.rates;
  std::vector<std::size_t> order;
  std::vector<std::size_t> letters;  // their places
  for (std::size_t i = 0; i < group.operations.size(); ++i) {
    order.push_back(i);
    if (is_letter(group.operations[i])) letters.push_back(i);
  }
  std::vector<std::size_t> lost;
  for (const std::size_t place : letters) {
    if (report_.letters_disturbed >= rates.letters_max || random_.below(1000) >= rates.letters_per_thousand) continue;
    ++report_.letters_disturbed;
    const std::uint64_t how = random_.below(3);
    if (how == 0) {
      lost.push_back(order[place]);
    } else if (how == 1) {
      std::swap(order[place], order[letters[random_.below(letters.size())]]);
    } else {
      const store::Operation& again = group.operations[order[place]];
      post(drawn(options_.lease / 4), [this, again] { (void)commit({&again, 1}, {}).ok(); });
    }
  }
  std::erase_if(order, [&](std::size_t index) { return std::count(lost.begin(), lost.end(), index) > 0; });
  return order;
}

Result<std::vector<store::Outcome>> World::commit_to_island(const runtime::Group& group,
                                                            const std::vector<std::size_t>& order,
                                                            store::fault::Fault fault) {
  std::vector<store::Operation> operations;
  for (const std::size_t index : order) operations.push_back(group.operations[index]);
  auto result = commit(operations, fault);
  if (!result) return result.error();
  std::vector<store::Outcome> outcomes(
      group.operations.size(), store::Outcome{store::OutcomeKind::outcome_unknown, "injected: the letter was lost"});
  for (std::size_t i = 0; i < order.size(); ++i) outcomes[order[i]] = std::move((*result)[i]);
  return outcomes;
}

}  // namespace pawl::sim
