// SeededStore: bugs of a store, seeded around it. A store has many implementations and one contract; these break the
// contract, so they need no line in any of them. Without PAWL_SEEDED_BUGS it hands everything on.
#pragma once

#include "base/seeded_bug.h"
#include "sim/forward_store.h"

namespace pawl::sim {

class SeededStore final : public ForwardStore {
 public:
  using ForwardStore::ForwardStore;

  Result<std::vector<store::Outcome>> commit(std::span<const store::Operation> group) override {
    const bool breaks = seeded(SeededBug::removal_leaves_rows) || seeded(SeededBug::paused_topic_handed_out) ||
                        seeded(SeededBug::signal_id_forgotten);
    if (!breaks) return inner_.commit(group);
    std::vector<store::Outcome> outcomes;
    for (const store::Operation& operation : group) {
      auto outcome = commit_one(operation);
      if (!outcome) return outcome.error();
      outcomes.push_back(std::move(*outcome));
    }
    return outcomes;
  }

 private:
  Result<store::Outcome> commit_one(const store::Operation& operation) {
    if (seeded(SeededBug::removal_leaves_rows) && std::holds_alternative<store::RemoveJob>(operation))
      return store::Outcome{store::OutcomeKind::committed};
    if (const auto* deliver = std::get_if<store::Deliver>(&operation); deliver != nullptr && deliver->remembered) {
      store::Deliver forgotten = *deliver;
      forgotten.remembered = !seeded(SeededBug::signal_id_forgotten);
      return commit_inside(forgotten);
    }
    const bool blind =
        seeded(SeededBug::paused_topic_handed_out) && std::holds_alternative<store::ClaimWork>(operation);
    std::vector<Topic> paused;
    if (blind) paused = *inner_.read_paused_topics();
    for (const Topic& topic : paused) pause(topic, false);
    auto result = commit_inside(operation);
    for (const Topic& topic : paused) pause(topic, true);
    return result;
  }
  Result<store::Outcome> commit_inside(const store::Operation& operation) {
    auto result = inner_.commit({&operation, 1});
    if (!result) return result.error();
    return std::move(result->front());
  }
  void pause(const Topic& topic, bool paused) {
    const store::Operation operation = store::PauseTopic{topic, paused};
    (void)inner_.commit({&operation, 1}).ok();
  }
};

}  // namespace pawl::sim
