// World: lanes that are islands. What an engine commits together is cut into one part for each lane. Each part travels,
// arrives, breaks and is answered by itself; what one lane sends to another is lost, comes twice or out of order.
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

// A group whose parts are under way.
struct World::Flight {
  runtime::Group group;
  std::vector<store::Outcome> outcomes;
  std::size_t parts = 0;
  std::size_t under_way = 0;
  std::size_t refused = 0;      // parts of which the store said that nothing was applied
  std::optional<Error> refusal;
};

Duration World::lane_error(core::LaneId lane) const {
  const auto error_max = static_cast<std::uint64_t>(options_.lane_clock_error_max.count());
  if (error_max == 0) return Duration{0};
  return Duration(static_cast<std::int64_t>(Random::mix(options_.seed * 131 + lane.raw()) % (error_max + 1)));
}

void World::send_to_islands(Node& node, runtime::Group group) {
  ++node.groups_out;
  std::map<store::Domain, std::vector<std::size_t>> parts;
  for (std::size_t i = 0; i < group.operations.size(); ++i)
    parts[store::domain_of(group.operations[i])].push_back(i);
  auto flight = std::make_shared<Flight>();
  flight->outcomes.assign(group.operations.size(),
                          store::Outcome{store::OutcomeKind::outcome_unknown, "injected: the reply was lost"});
  flight->group = std::move(group);
  flight->parts = flight->under_way = parts.size();
  const std::uint64_t life = node.life;
  for (auto& [domain, part] : parts) {
    const auto fault = draw_fault();
    trace_.add(static_cast<std::uint64_t>(clock_.monotonic().count()) * 16 + node.index);
    trace_.add(fault ? static_cast<std::uint64_t>(*fault) + 1 : 0);
    if (fault == FaultKind::crash_before) return crash(node);  // the parts before this one are on their way
    if (fault == FaultKind::stopped) stop(node);
    const Passage passage = passage_of(fault, part.size());
    disturb_letters(flight->group, part);
    post(passage.arrives, [this, &node, life, flight, part, passage] {
      std::vector<store::Operation> operations;
      for (const std::size_t index : part) operations.push_back(flight->group.operations[index]);
      auto result = commit(operations, passage.store);
      if (result)
        for (std::size_t i = 0; i < part.size(); ++i) flight->outcomes[part[i]] = std::move((*result)[i]);
      else if (result.error().code == ErrorCode::retry_later && ++flight->refused > 0)
        flight->refusal = result.error();
      if (node.life != life) return;
      if (passage.crash_after) return crash(node);
      post_to(node, passage.replies, [this, &node, flight] { landed(node, *flight); });
    });
  }
}

// The last answer is there. That nothing was applied can be said of a group only as a whole: of some of its lanes it
// counts as not known.
void World::landed(Node& node, Flight& flight) {
  if (--flight.under_way > 0) return;
  --node.groups_out;
  if (flight.refused == flight.parts) node.engine->finished(std::move(flight.group), *flight.refusal);
  else node.engine->finished(std::move(flight.group), std::move(flight.outcomes));
  step(node);
}

// A letter that is lost is not part of its commit any more, and nobody knows of it.
void World::disturb_letters(const runtime::Group& group, std::vector<std::size_t>& part) {
  const FaultRates& rates = options_.rates;
  std::vector<std::size_t> letters;  // their places in the part
  for (std::size_t i = 0; i < part.size(); ++i)
    if (is_letter(group.operations[part[i]])) letters.push_back(i);
  std::vector<std::size_t> lost;
  for (const std::size_t place : letters) {
    if (report_.letters_disturbed >= rates.letters_max || random_.below(1000) >= rates.letters_per_thousand) continue;
    ++report_.letters_disturbed;
    const std::uint64_t how = random_.below(3);
    if (how == 0) {
      lost.push_back(part[place]);
    } else if (how == 1) {
      std::swap(part[place], part[letters[random_.below(letters.size())]]);
    } else {
      const store::Operation& again = group.operations[part[place]];
      post(drawn(options_.lease / 4), [this, again] { (void)commit({&again, 1}, {}).ok(); });
    }
  }
  std::erase_if(part, [&](std::size_t index) { return std::count(lost.begin(), lost.end(), index) > 0; });
}

}  // namespace pawl::sim
