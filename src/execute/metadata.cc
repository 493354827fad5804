#include "execute/metadata.h"

#include <boost/json/object.hpp>

#include "base/format.h"
#include "execute/documents.h"
#include "execute/stats.h"
#include "execute/values.h"
#include "mapping/calendar.h"
#include "mapping/json_text.h"

namespace pawl::execute {
namespace {

json::value text(std::string_view value) { return json::value(json::string_view(value.data(), value.size())); }
json::value time(Instant at, graph::Dialect dialect) {
  const auto date = mapping::date_of(at);
  return text(dialect == graph::Dialect::hotmesh ? mapping::compact_text(date) : mapping::iso_text(date));
}

// The name beside the kind: a worker's topic, or what a hook waits for.
std::string_view subtype_of(const graph::Activity& activity) {
  const graph::Formula* topic = nullptr;
  if (const auto* worker = std::get_if<graph::Worker>(&activity.kind)) topic = &worker->topic;
  if (const auto* await = std::get_if<graph::Await>(&activity.kind)) topic = &await->topic;
  if (const auto* signal = std::get_if<graph::Signal>(&activity.kind)) topic = &signal->topic;
  if (const auto* hook = std::get_if<graph::Hook>(&activity.kind); hook && hook->topic) return *hook->topic;
  const json::value* literal = topic == nullptr ? nullptr : topic->expression.literal();
  return literal != nullptr && literal->is_string() ? view(literal->get_string()) : std::string_view();
}

}  // namespace

Answer answer_of(const core::Activity* instance) {
  if (instance == nullptr) return {};
  return {instance->status == core::ActivityStatus::errored, instance->code};
}

json::value activity_metadata(const graph::Activity& activity, const Facts& facts) {
  const core::Activity* instance = facts.instance;
  const Answer& answer = facts.answer;
  const json::value* error = facts.error;
  json::object out;
  out.emplace("aid", text(activity.id));
  out.emplace("atp", text(graph::name_of(activity.kind)));
  if (const std::string_view subtype = subtype_of(activity); !subtype.empty()) out.emplace("stp", text(subtype));
  if (instance != nullptr) {
    out.emplace("ac", time(instance->opened_at, facts.dialect));
    const bool closed = instance->closed_at != Instant();
    const Instant changed = closed ? instance->closed_at : facts.answered_at.value_or(instance->opened_at);
    out.emplace("au", time(changed, facts.dialect));
    out.emplace("dad", text(instance->at.text()));
    out.emplace("as", text(instance->ledger.digits()));
  }
  if (!facts.woken_by.empty()) out.emplace("woken_by", text(facts.woken_by));
  if (answer.is_error) {
    out.emplace("err", error == nullptr ? json::value(nullptr) : text(mapping::json_text(*error)));
    json::object said;
    if (error != nullptr && error->is_object()) said = error->get_object();
    if (error != nullptr && !error->is_object()) said["message"] = *error;
    said["code"] = answer.code;
    out.emplace("$error", std::move(said));
  }
  return out;
}

json::value job_metadata(const graph::App& app, const graph::Graph& graph, const core::Sight& sight,
                         const graph::Activity& here) {
  const core::JobRow& job = sight.draft.base().job;
  json::object out;
  out.emplace("jid", text(job.id.raw()));
  out.emplace("gid", text(format("{}", job.run.raw())));
  out.emplace("dad", text(sight.at.text()));
  out.emplace("aid", text(here.id));
  out.emplace("app", text(app.id));
  out.emplace("vrs", text(app.version));
  out.emplace("tpc", text(graph.subscribes));
  out.emplace("jc", time(job.created_at, app.dialect));
  out.emplace("ju", time(sight.now, app.dialect));
  out.emplace("js", sight.draft.semaphore());
  const graph::Activity& trigger = graph.activities[graph.topology.trigger];
  const auto& stats = std::get<graph::Trigger>(trigger.kind).stats;
  out.emplace("ts", text(slice_of(job.created_at, stats.granularity)));
  if (stats.key) {
    const core::Activity* first = sight.draft.find(graph.topology.trigger, ledger::Dimensions::trigger());
    const auto input = document_of(first == nullptr ? Payload() : first->output);
    if (auto key = stats_key(graph, *input, job.created_at)) out.emplace("key", text(*key));
  }
  if (job.parent) out.emplace("pg", text(format("{}", job.parent->run.raw())));
  if (!job.reason.empty()) out.emplace("err", text(job.reason));
  return out;
}

Result<json::value> evaluate_stats(const graph::Activity& trigger, const graph::Formula& formula,
                                   std::string_view label, const json::value& input, Instant now) {
  mapping::Data data;
  data.now = now;
  data.self.input_data = &input;
  const mapping::NamedActivity self{trigger.id, data.self};
  data.activities = {&self, 1};
  mapping::Budget budget;
  auto value = formula.expression.evaluate(data, budget);
  if (!value) return name_place(trigger, label, value.error());
  return value;
}

}  // namespace pawl::execute
