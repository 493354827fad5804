// SeededStore: bugs of a store, seeded around it. A store has many implementations and one contract; these break the
// contract, so they need no line in any of them. Without PAWL_SEEDED_BUGS it hands everything on.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "base/seeded_bug.h"
#include "store/forward_store.h"

namespace pawl::sim {

class SeededStore final : public store::ForwardStore {
 public:
  using store::ForwardStore::ForwardStore;

  Result<std::vector<store::Outcome>> commit(std::span<const store::Operation> group) override {
    const bool breaks = seeded(SeededBug::removal_leaves_rows) || seeded(SeededBug::paused_topic_handed_out) ||
                        seeded(SeededBug::share_not_given_back) || seeded(SeededBug::dead_share_left) ||
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
    if (const auto* beat = std::get_if<store::BeatEngine>(&operation)) spoil(*beat, result->front());
    return std::move(result->front());
  }
  void spoil(const store::BeatEngine& beat, store::Outcome& outcome) {
    std::vector<store::EngineInfo>& alive = outcome.engines;
    if (seeded(SeededBug::share_not_given_back)) std::erase_if(alive, [&](const auto& one) { return one.name != beat.name; });
    if (!seeded(SeededBug::dead_share_left)) return;
    for (const store::EngineInfo& engine : alive) ever_alive_.insert_or_assign(engine.name, engine);
    alive.clear();
    for (auto& [name, engine] : ever_alive_) {
      engine.until = std::max(engine.until, inner_.now() + beat.lease);
      alive.push_back(engine);
    }
  }
  void pause(const Topic& topic, bool paused) {
    const store::Operation operation = store::PauseTopic{topic, paused};
    (void)inner_.commit({&operation, 1}).ok();
  }

  std::map<std::string, store::EngineInfo> ever_alive_;
};

}  // namespace pawl::sim
