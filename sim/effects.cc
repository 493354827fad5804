#include "sim/effects.h"

#include <algorithm>

#include "base/format.h"
#include "sim/world.h"

namespace pawl::sim {

void EffectStore::write(core::BundleId bundle) {
  const auto attached = attached_.find(bundle);
  if (attached == attached_.end()) return;
  const auto [run, activity] = attached->second;
  if (!rows_.insert(attached->second).second)
    violation_ = format("activity {} of run {} has acted twice", activity.raw(), run.raw());
  attached_.erase(attached);
}

Result<std::vector<store::Outcome>> EffectStore::commit(std::span<const store::Operation> group) {
  auto outcomes = inner_.commit(group);
  for (std::size_t i = 0; outcomes && i < group.size(); ++i) {
    const auto* bundle = std::get_if<core::Bundle>(&group[i]);
    if (bundle != nullptr && (*outcomes)[i].kind == store::OutcomeKind::committed) write(bundle->id);
  }
  return outcomes;
}

// With the effect of its transaction, if it has one.
Result<std::vector<store::Outcome>> World::commit_group(const runtime::Group& group, store::fault::Fault fault) {
  if (group.transaction == nullptr) return commit(group.operations, fault);
  const core::BundleId bundle = std::get<core::Bundle>(group.operations.front()).id;
  effects_.attach(bundle, static_cast<const SimTransaction&>(*group.transaction).effect());
  auto result = commit(group.operations, fault);
  effects_.detach(bundle);
  if (effects_.violation()) verdict_.fail("effects", *effects_.violation());
  return result;
}

void World::check_effects(const store::memory::Dump& dump) {
  if (options_.islands) return;
  std::set<Effect> expected;
  for (const store::memory::DumpedJob& job : dump.jobs) {
    const auto graph = scenario_.graphs->find(job.job.graph);
    for (const core::Activity& activity : job.activities) {
      const bool acted = activity.status == core::ActivityStatus::completed &&
                         scenario_.behaviour(graph->nodes()[activity.node].topic.raw()).transaction;
      if (acted) expected.emplace(job.job.run, activity.seq);
    }
  }
  if (expected != effects_.rows())
    verdict_.fail("effects", format("{} activities are complete whose workers had a transaction, and {} have acted",
                                    expected.size(), effects_.rows().size()));
}

}  // namespace pawl::sim
