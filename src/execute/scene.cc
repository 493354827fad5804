#include "execute/scene.h"

#include <boost/json/object.hpp>

#include "execute/documents.h"
#include "execute/hook_output.h"
#include "execute/metadata.h"
#include "execute/stable_hash.h"
#include "execute/values.h"
#include "mapping/convert.h"

namespace pawl::execute {
namespace {

// The same decision draws the same random numbers when another engine repeats it after a crash.
std::uint64_t seed_of(const core::Sight& sight, graph::ActivityIndex node, std::string_view purpose) {
  const core::JobRow& job = sight.draft.base().job;
  std::uint64_t seed = stable_hash(sight.at.text(), job.run.raw());
  seed = Random::mix(seed ^ job.rev.raw());
  return stable_hash(purpose, seed + node);
}

}  // namespace

Scene::Scene(const AppPlan& app, const GraphPlan& graph, const core::Sight& sight, graph::ActivityIndex node,
             std::string_view purpose)
    : app_(app), graph_(graph), sight_(sight), node_(node), random_(seed_of(sight, node, purpose)) {}

void Scene::set_self(const json::value* output, const json::value* hook) {
  self_is_set_ = true;
  self_output_ = output;
  self_hook_ = hook;
}

const json::value& Scene::document(const Payload& payload) {
  for (const auto& [bytes, value] : documents_)
    if (bytes == payload.view().data()) return *value;
  return *documents_.emplace_front(payload.view().data(), document_of(payload)).second;
}

const json::value* Scene::keep(json::value value) { return &made_.emplace_front(std::move(value)); }

bool Scene::equal(const json::value& a, const json::value& b) { return mapping::deep_equal(a, b, budget_); }

Scene::Found Scene::find(const Route& route) const {
  if (route.shared == 0 || route.shared > sight_.at.depth()) return {};
  if (route.down.empty()) return find_on_path(route);
  return find_below(sight_.at.prefix(route.shared), route.down, 0);
}

Scene::Found Scene::find_on_path(const Route& route) const {
  const ledger::Dimensions at = sight_.at.prefix(route.shared);
  const core::Activity* instance = sight_.draft.find(route.target, at.in_plane(0));
  if (instance == nullptr) return {};
  if (!route.is_outside)
    if (const auto* record = sight_.draft.find_message(instance->seq, at.plane());
        record != nullptr && !record->output.empty())
      return {instance, &record->output};
  return {instance, &instance->output};
}

// Beside the path the address does not name a plane: the last one that leads there is meant.
Scene::Found Scene::find_below(const ledger::Dimensions& parent, const std::vector<graph::ActivityIndex>& down,
                               std::size_t index) const {
  const core::Activity* instance = sight_.draft.find(down[index], parent.child());
  if (instance == nullptr) return {};
  const std::uint32_t entries = instance->ledger.entries();
  const std::uint32_t last = entries == 0 ? 0 : entries - 1;
  if (index + 1 == down.size()) {
    const bool is_map = std::holds_alternative<graph::Map>(graph_.activity(down[index]).kind);
    if (const auto* record = sight_.draft.find_message(instance->seq, last);
        record != nullptr && !record->output.empty() && !is_map)
      return {instance, &record->output};
    return {instance, &instance->output};
  }
  for (std::uint32_t plane = last + 1; plane-- > 0;)
    if (const Found found = find_below(instance->at.in_plane(plane), down, index + 1); found.instance != nullptr)
      return found;
  return {};
}

Scene::Found Scene::find_self() const {
  Route route;
  route.target = node_;
  route.shared = static_cast<std::uint32_t>(graph_.place(node_).chain.size());
  Found found = find(route);
  if (sight_.node == node_ && sight_.output != nullptr) found.output = sight_.output;
  return found;
}

Scene::Pair Scene::output_of(graph::ActivityIndex target, const Payload& payload) {
  const json::value& value = document(payload);
  if (!keeps_payload(graph_.activity(target))) return {&value, nullptr};
  return {output_in(value), payload_in(value)};
}

// For a hook that waited. A hook that waits for signals keeps their payload, so the kept value shows what woke it.
std::string_view Scene::woken_by(graph::ActivityIndex target, const Found& found, bool at_hand) {
  const auto* hook = std::get_if<graph::Hook>(&graph_.activity(target).kind);
  if (hook == nullptr || hook->passes_through() || found.output == nullptr) return {};
  if (at_hand && sight_.speaker == core::Speaker::signal) return "signal";
  if (at_hand && sight_.speaker == core::Speaker::sleep) return "sleep";
  if (at_hand || found.output->empty()) return {};
  return output_of(target, *found.output).hook != nullptr ? "signal" : "sleep";
}

mapping::ActivityValues Scene::values_of(graph::ActivityIndex target, const Found& found, std::uint8_t sections) {
  mapping::ActivityValues values;
  if (found.instance == nullptr && found.output == nullptr) return values;
  const bool is_trigger = target == graph_.graph->topology.trigger;
  const std::uint8_t data = output_data | hook_data | (is_trigger ? input_data : 0);
  if ((sections & data) != 0 && found.output != nullptr && !found.output->empty()) {
    const Pair pair = output_of(target, *found.output);
    values.output_data = pair.output;
    values.hook_data = pair.hook;
    if (is_trigger) values.input_data = pair.output;  // a trigger's output is its input
  }
  constexpr std::uint8_t metadata = input_metadata | output_metadata | hook_metadata;
  if ((sections & metadata) != 0) {
    // The answer of the current activity is not stored yet: it is taken from the sight.
    const bool at_hand = target == node_ && sight_.node == node_;
    const Answer answer = at_hand ? Answer{core::is_error(sight_.status), sight_.code} : answer_of(found.instance);
    const json::value* error = nullptr;
    if (answer.is_error && at_hand && self_is_set_) {
      error = self_output_;
    } else if (answer.is_error && found.output != nullptr && !found.output->empty()) {
      error = output_of(target, *found.output).output;
    }
    const Facts facts{.instance = found.instance,
                      .answer = answer,
                      .error = error,
                      .answered_at = at_hand && sight_.output != nullptr ? std::optional(sight_.now) : std::nullopt,
                      .woken_by = answer.is_error ? std::string_view() : woken_by(target, found, at_hand),
                      .dialect = dialect()};
    const auto* made = keep(activity_metadata(graph_.activity(target), facts));
    values.input_metadata = values.output_metadata = values.hook_metadata = made;
  }
  return values;
}

mapping::ActivityValues Scene::self_values(std::uint8_t sections) {
  mapping::ActivityValues values = values_of(node_, find_self(), sections);
  if (self_is_set_) {
    values.output_data = self_output_;
    values.hook_data = self_hook_;
  }
  if ((sections & input_data) != 0 && sight_.node == node_ && sight_.input != nullptr)
    values.input_data = &document(*sight_.input);
  return values;
}

Result<json::value> Scene::evaluate(const graph::Formula& formula, std::string_view label) {
  if (const json::value* literal = formula.expression.literal()) return *literal;
  const auto found = graph_.reads.find(&formula);
  const Reads none;
  const Reads& reads = found == graph_.reads.end() ? none : found->second;
  mapping::Data data;
  std::vector<mapping::NamedActivity> activities;
  activities.reserve(reads.ancestors.size());
  for (const Read& read : reads.ancestors) {
    const graph::ActivityIndex target = read.route.target;
    const mapping::ActivityValues values =
        target == node_ ? self_values(read.sections) : values_of(target, find(read.route), read.sections);
    activities.push_back({graph_.activity(target).id, values});
  }
  data.activities = activities;
  if (reads.self != 0) data.self = self_values(reads.self);
  if (reads.job_data && !sight_.draft.data().empty()) data.job_data = &document(sight_.draft.data());
  if (reads.job_metadata) {
    if (job_metadata_ == nullptr) job_metadata_ = keep(job_metadata(*app_.app, *graph_.graph, sight_, activity()));
    data.job_metadata = job_metadata_;
  }
  data.now = sight_.now;
  data.random = &random_;
  auto value = formula.expression.evaluate(data, budget_);
  if (!value) return name_place(activity(), label, value.error());
  return value;
}

Result<Payload> Scene::evaluate_payload(const graph::Formula& formula, std::string_view label) {
  auto value = evaluate(formula, label);
  if (!value) return value.error();
  auto payload = write_payload(*value);
  if (!payload) return name_place(activity(), label, payload.error());
  return payload;
}

}  // namespace pawl::execute
