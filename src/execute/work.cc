// Leg 2: what is kept of an answer, and how it changes the job's data.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/format.h"
#include "execute/hook_output.h"
#include "execute/program.h"
#include "execute/scene.h"
#include "execute/stats.h"
#include "execute/values.h"
#include "mapping/key_order.h"

namespace pawl::execute {

struct GraphProgram::Outcome {
  Payload kept;
  // {$self.output.data} and {$self.hook.data} for later expressions. None: the same as `kept`.
  std::optional<json::value> output;
  std::optional<json::value> hook;
};

namespace {

// The answer of a worker, a child or a caller. An empty answer becomes an empty object, so that every output can be
// found.
Payload as_it_came(const core::Sight& sight) {
  return sight.output == nullptr || sight.output->empty() ? Payload("{}") : *sight.output;
}

// The maps for an answer like this one. `job: {maps: {state: paid}}` is meant for a success: an error has maps only
// under its code, except under compat: hotmesh.
const graph::Formula* job_maps(const graph::Channel& job, const core::Sight& sight, graph::Dialect dialect) {
  for (const auto& [code, maps] : job.maps_by_code)
    if (code == sight.code) return &maps;
  const bool fits = !core::is_error(sight.status) || dialect == graph::Dialect::hotmesh;
  return fits && job.maps ? &*job.maps : nullptr;
}

bool reads_own_input(const graph::Formula& formula) {
  for (const mapping::Reference& reference : formula.expression.references())
    if (reference.scope == mapping::Scope::self && !reference.parts.empty() && reference.parts.front() == "input")
      return true;
  return false;
}

bool reads_own_input(const graph::Channel& channel) {
  if (channel.maps && reads_own_input(*channel.maps)) return true;
  for (const auto& [code, maps] : channel.maps_by_code)
    if (reads_own_input(maps)) return true;
  return false;
}

}  // namespace

Result<GraphProgram::Outcome> GraphProgram::outcome(Scene& scene, const core::Sight& sight) const {
  const graph::Activity& activity = scene.activity();
  if (std::holds_alternative<graph::Hook>(activity.kind)) return hook_outcome(scene, sight);
  if (core::is_error(sight.status)) return Outcome{as_it_came(sight), {}, {}};
  if (std::holds_alternative<graph::Join>(activity.kind)) return join_outcome(scene, sight);
  const bool maps_output = std::holds_alternative<graph::Signal>(activity.kind) ||
                           std::holds_alternative<graph::Interrupt>(activity.kind) ||
                           std::holds_alternative<graph::Map>(activity.kind);
  if (!maps_output) return Outcome{as_it_came(sight), {}, {}};
  const auto* signal = std::get_if<graph::Signal>(&activity.kind);
  if (!activity.output.maps && signal != nullptr && signal->to_all) return Outcome{as_it_came(sight), {}, {}};
  if (!activity.output.maps) return Outcome{Payload("{}"), {}, {}};
  auto kept = scene.evaluate_payload(*activity.output.maps, "output.maps");
  if (!kept) return kept.error();
  return Outcome{std::move(*kept), {}, {}};
}

Result<GraphProgram::Outcome> GraphProgram::hook_outcome(Scene& scene, const core::Sight& sight) const {
  const graph::Activity& activity = scene.activity();
  const bool has_answer = sight.output != nullptr && !sight.output->empty();
  // its output is the cycle's input
  if (sight.speaker == core::Speaker::cycle) return Outcome{as_it_came(sight), {}, {}};

  Outcome out;
  // A signal without data is still a signal: the kept value must differ from that of a sleep that was over.
  if (keeps_payload(activity) && sight.speaker == core::Speaker::signal)
    out.hook = has_answer ? scene.document(*sight.output) : json::value(json::object());
  scene.set_self(nullptr, out.hook ? &*out.hook : nullptr);
  const graph::SchemaPointer& payload = std::get<graph::Hook>(activity.kind).payload;
  if (out.hook && app_->enforces_schemas() && !core::is_error(sight.status))
    if (const Status fits = check_schema(payload, *out.hook); !fits) return name_place(activity, "hook", fits.error());

  json::value output = json::object();
  if (core::is_error(sight.status)) {
    if (has_answer) output = scene.document(*sight.output);
  } else if (activity.output.maps) {
    auto made = scene.evaluate(*activity.output.maps, "output.maps");
    if (!made) return made.error();
    output = std::move(*made);
  }
  auto kept = write_payload(keeps_payload(activity) ? join_outputs(output, out.hook) : output);
  if (!kept) return name_place(activity, "output.maps", kept.error());
  out.kept = std::move(*kept);
  out.output = std::move(output);
  return out;
}

// The join that closes a map has the collected results as `items`; its own maps are merged over that.
Result<GraphProgram::Outcome> GraphProgram::join_outcome(Scene& scene, const core::Sight& sight) const {
  const graph::Activity& activity = scene.activity();
  Outcome out;
  json::value output = json::object();
  const bool closes_map = plan_.place(sight.node).closes_map.has_value();
  if (closes_map && sight.output != nullptr && !sight.output->empty()) {
    const json::value& collected = scene.document(*sight.output);
    if (collected.is_array()) {
      output.get_object().emplace("items", collected);
    } else {
      output = collected;
    }
  }
  if (activity.output.maps) {
    scene.set_self(&output, nullptr);
    auto made = scene.evaluate(*activity.output.maps, "output.maps");
    if (!made) return made.error();
    merge(output, std::move(*made));
  }
  auto kept = write_payload(output);
  if (!kept) return name_place(activity, "output.maps", kept.error());
  out.kept = std::move(*kept);
  out.output = std::move(output);
  return out;
}

Status GraphProgram::check_output(Scene& scene, const core::Sight& sight, const Outcome& outcome) const {
  // An error is not checked: the schema describes successes.
  if (!app_->enforces_schemas() || core::is_error(sight.status)) return {};
  const graph::SchemaPointer& schema = schema_for(scene.activity().output, sight.code);
  if (!schema) return {};
  const json::value& value = outcome.output ? *outcome.output : scene.document(outcome.kept);
  if (const Status fits = check_schema(schema, value); !fits)
    return name_place(scene.activity(), "output.schema", fits.error());
  return {};
}

Result<std::optional<Payload>> GraphProgram::share(Scene& scene, const core::Sight& sight) const {
  const graph::Activity& activity = scene.activity();
  const graph::Formula* maps = job_maps(activity.job, sight, scene.dialect());
  if (maps == nullptr) return std::optional<Payload>{};
  auto made = scene.evaluate(*maps, "job.maps");
  if (!made) return made.error();
  if (made->is_null()) return std::optional<Payload>{};
  if (!made->is_object())
    return name_place(activity, "job.maps",
                      {ErrorCode::invalid, format("wants a map, got {}", execute::kind_of(*made))});
  if (app_->enforces_schemas())
    if (const Status fits = check_schema(schema_for(activity.job, sight.code), *made); !fits)
      return name_place(activity, "job.schema", fits.error());
  json::value data = json::object();
  if (!sight.draft.data().empty()) data = scene.document(sight.draft.data());
  merge_job_data(data, std::move(*made), scene.dialect());
  if (scene.dialect() == graph::Dialect::hotmesh) {
    mapping::Budget unlimited({.steps = ~0ULL, .bytes = ~0ULL});  // the size of a job's data has its own limit
    (void)mapping::order_keys(data, unlimited);
  }
  auto payload = write_payload(data);
  if (!payload) return name_place(activity, "job.maps", payload.error());
  return std::optional(std::move(*payload));
}

namespace {

// Only observers read it: an error in it is an attribute too, and does not stop the job.
Payload telemetry_of(Scene& scene, const graph::Formula& formula) {
  const auto value = scene.evaluate(formula, "telemetry");
  auto written = value ? write_payload(*value) : Result<Payload>(value.error());
  if (!written) written = write_payload(json::object{{"pawl.telemetry.error", to_string(written.error())}});
  return written ? std::move(*written) : Payload();
}

}  // namespace

Result<core::Program::Worked> GraphProgram::work(const core::Sight& asked) const {
  core::Sight sight = asked;
  Payload sent;
  // The request was removed with its answer; it is computed again from the same job.
  if (sight.input == nullptr && plan_.activity(sight.node).input.maps &&
      reads_own_input(plan_.activity(sight.node).job)) {
    auto again = input(asked);
    if (!again) return again.error();
    sent = std::move(*again);
    sight.input = &sent;
  }
  Scene scene(*app_, plan_, sight, sight.node, "work");
  const graph::Activity& activity = scene.activity();
  auto made = outcome(scene, sight);
  if (!made) return made.error();
  if (const Status fits = check_output(scene, sight, *made); !fits) return fits.error();
  Worked worked{.output = made->kept, .data = {}, .emits = false, .persists = false};
  if (std::holds_alternative<graph::Trigger>(activity.kind) && has_stats(*plan_.graph)) {
    auto stats = stats_of(*plan_.graph, scene.document(made->kept), sight.draft.base().job.created_at);
    if (!stats) return stats.error();
    worked.labels = std::move(stats->labels);
    worked.measures = std::move(stats->measures);
  }
  if (!activity.job.maps && activity.job.maps_by_code.empty() && !activity.emit && !activity.persist &&
      !activity.telemetry)
    return worked;

  // Only now: few activities share data, and parsing an answer is costly.
  const json::value* output = made->output ? &*made->output : &scene.document(made->kept);
  scene.set_self(output, made->hook ? &*made->hook : nullptr);
  auto data = share(scene, sight);
  if (!data) return data.error();
  worked.data = std::move(*data);
  if (activity.emit) {
    auto value = scene.evaluate(*activity.emit, "emit");
    if (!value) return value.error();
    worked.emits = is_true(*value);
  }
  if (activity.persist) {
    auto value = scene.evaluate(*activity.persist, "persist");
    if (!value) return value.error();
    worked.persists = is_true(*value);
  }
  if (activity.telemetry) worked.telemetry = telemetry_of(scene, *activity.telemetry);
  return worked;
}

}  // namespace pawl::execute
