// What the methods of leg 1 have in common, and the methods for starting or signalling a job.
#include "execute/program.h"

#include <boost/json/object.hpp>

#include "base/format.h"
#include "base/job_id.h"
#include "execute/documents.h"
#include "execute/hook_output.h"
#include "execute/mailbox_key.h"
#include "execute/metadata.h"
#include "execute/scene.h"
#include "execute/stats.h"
#include "execute/values.h"
#include "mapping/json_parse.h"

namespace pawl::execute {

GraphProgram::GraphProgram(std::shared_ptr<const AppPlan> app, std::uint32_t graph)
    : app_(std::move(app)),
      plan_(app_->graphs[graph]),
      publishes_(plan_.graph->publishes),
      looks_into_input_(!plan_.graph->is_plain() || plan_.graph->input.schema ||
                        std::get<graph::Trigger>(plan_.activity(plan_.graph->topology.trigger).kind).stats.id) {}

const GraphProgram* GraphProgram::of(const Graph& graph) { return dynamic_cast<const GraphProgram*>(graph.origin()); }

Result<Payload> GraphProgram::check_start(const Payload& input) const {
  const auto refuse = [&](const Error& error) {
    return Error{error.code, format("start of \"{}\": {}", plan_.graph->subscribes, error.detail)};
  };
  // An input that is handed on unchanged need not be JSON, unless an expression reads it.
  if (!looks_into_input_) return input;
  const Payload given = input.empty() ? Payload("{}") : input;
  const auto value = mapping::parse_json(given.view());
  if (!value) return refuse({ErrorCode::invalid, "the input is " + value.error().detail});
  if (app_->enforces_schemas())
    if (const Status fits = check_schema(plan_.graph->input.schema, *value); !fits)
      return refuse({ErrorCode::invalid, "input.schema: " + fits.error().detail});
  if (const auto made = stats_of(*plan_.graph, *value, {}); !made) return refuse(made.error());
  return given;
}

Result<std::optional<JobId>> GraphProgram::job_id(const GraphPlan& of, const Payload& input, Instant now) const {
  const graph::Activity& trigger = of.activity(of.graph->topology.trigger);
  const graph::OptionalFormula& formula = std::get<graph::Trigger>(trigger.kind).stats.id;
  if (!formula) return std::optional<JobId>{};
  auto value = evaluate_stats(trigger, *formula, "stats.id", *document_of(input), now);
  if (!value) return value.error();
  if (value->is_null()) return std::optional<JobId>{};  // no id given: the engine makes a new one
  auto id = text_of(*value);
  if (!id) return name_place(trigger, "stats.id", id.error());
  if (const Status fine = check_job_id("the job id", *id); !fine) return name_place(trigger, "stats.id", fine.error());
  return std::optional(JobId(std::move(*id)));
}

Result<std::optional<JobId>> GraphProgram::start_id(const Payload& input, Instant now) const {
  return job_id(plan_, input, now);
}

Result<std::vector<std::string>> GraphProgram::keys_of(const Topic& topic, const Payload& payload) const {
  return mailbox_keys(*app_, topic.raw(), read_payload(payload));
}

Result<Payload> GraphProgram::input(const core::Sight& sight) const {
  Scene scene(*app_, plan_, sight, sight.node, "input");
  const graph::Channel& channel = scene.activity().input;
  if (!channel.maps && plan_.graph->input_from == InputFrom::answers) return handed_on(sight);
  json::value value = json::object();
  if (channel.maps) {
    auto made = scene.evaluate(*channel.maps, "input.maps");
    if (!made) return made.error();
    value = std::move(*made);
  }
  if (app_->enforces_schemas())
    if (const Status fits = check_schema(channel.schema, value); !fits)
      return name_place(scene.activity(), "input.schema", fits.error());
  auto payload = write_payload(value);
  if (!payload) return name_place(scene.activity(), "input.maps", payload.error());
  return payload;
}

// The answer of the activity above, byte for byte, in the plane that leads here.
Payload GraphProgram::handed_on(const core::Sight& sight) const {
  const graph::Place& place = plan_.place(sight.node);
  if (!place.undoes && place.in.empty()) return {};
  const graph::ActivityIndex above = place.undoes ? *place.undoes : plan_.graph->transitions[place.in.back()].from;
  const ledger::Dimensions at = sight.at.prefix(sight.at.depth() - 1);
  const core::Activity* instance = sight.draft.find(above, at.in_plane(0));
  if (instance == nullptr) return {};
  const core::MessageRecord* record = sight.draft.find_message(instance->seq, at.plane());
  return shown(above, record != nullptr && !record->output.empty() ? record->output : instance->output);
}

Result<Topic> GraphProgram::topic(const core::Sight& sight) const {
  Scene scene(*app_, plan_, sight, sight.node, "topic");
  auto value = scene.evaluate(kind_of_node<graph::Worker>(sight.node).topic, "topic");
  if (!value) return value.error();
  auto topic = text_of(*value);
  if (!topic) return name_place(scene.activity(), "topic", topic.error());
  if (const Status fine = check_name("the topic", *topic); !fine)
    return name_place(scene.activity(), "topic", fine.error());
  return Topic(std::move(*topic));
}

Result<std::optional<Duration>> GraphProgram::timeout(const core::Sight& sight) const {
  const graph::OptionalFormula& formula = plan_.activity(sight.node).timeout;
  if (!formula) return std::optional<Duration>{};
  Scene scene(*app_, plan_, sight, sight.node, "timeout");
  auto value = scene.evaluate(*formula, "timeout");
  if (!value) return value.error();
  auto duration = duration_of(*value, scene.dialect());
  if (!duration) return name_place(scene.activity(), "timeout", duration.error());
  return unless_zero(*duration);
}

Result<std::int64_t> GraphProgram::threshold(const core::Sight& sight) const {
  const graph::OptionalFormula& formula = plan_.activity(sight.node).status_threshold;
  if (!formula) return std::int64_t{0};
  Scene scene(*app_, plan_, sight, sight.node, "statusThreshold");
  auto value = scene.evaluate(*formula, "statusThreshold");
  if (!value) return value.error();
  if (value->is_null()) return std::int64_t{0};
  constexpr std::int64_t max = std::int64_t{1} << 40U;
  auto threshold = whole_of(*value, -max, max);
  if (!threshold) return name_place(scene.activity(), "statusThreshold", threshold.error());
  return threshold;
}

Payload GraphProgram::shown(std::uint32_t node, const Payload& kept) const {
  if (kept.empty() || !keeps_payload(plan_.activity(node))) return kept;
  const auto parsed = document_of(kept);
  const json::value& value = *parsed;
  const json::value* hook = payload_in(value);
  const json::value* output = output_in(value);
  const bool maps_nothing = output->is_object() && output->get_object().empty();
  if (hook != nullptr && !maps_nothing) return kept;
  auto one = write_payload(hook != nullptr ? *hook : *output);
  return one ? std::move(*one) : kept;
}

core::Program::Said GraphProgram::said(std::uint32_t node, const Payload& kept) const {
  const graph::Activity& activity = plan_.activity(node);
  if (!std::holds_alternative<graph::Hook>(activity.kind)) return {kept};
  if (!keeps_payload(activity)) return {Payload("{}"), core::Speaker::sleep};
  const auto parsed = document_of(kept);
  const json::value* hook = payload_in(*parsed);
  if (hook == nullptr) return {Payload("{}"), core::Speaker::sleep};
  auto data = write_payload(*hook);
  return {data ? std::move(*data) : Payload("{}"), core::Speaker::signal};
}

std::optional<core::Program::Sent> GraphProgram::sent(const core::Sight& sight) const {
  const graph::OptionalFormula& maps = plan_.activity(sight.node).input.maps;
  if (!maps) return std::nullopt;
  auto made = input(sight);
  if (!made) return std::nullopt;  // the data it reads has changed so much that the result is unknown
  const auto reads = plan_.reads.find(&*maps);
  const bool reads_data = reads != plan_.reads.end() && reads->second.job_data;
  return Sent{std::move(*made), !reads_data};
}

Result<std::optional<Duration>> GraphProgram::keep(const core::Sight& sight) const {
  const graph::Graph& graph = *plan_.graph;
  if (!graph.expire && !graph.persistent) return std::optional<Duration>{};
  Scene scene(*app_, plan_, sight, graph.topology.trigger, "keep");
  if (graph.persistent) {
    auto value = scene.evaluate(*graph.persistent, "persistent");
    if (!value) return value.error();
    if (is_true(*value)) return std::optional<Duration>{};
  }
  if (!graph.expire) return std::optional<Duration>{};
  auto value = scene.evaluate(*graph.expire, "expire");
  if (!value) return value.error();
  auto duration = duration_of(*value, scene.dialect());
  if (!duration) return name_place(scene.activity(), "expire", duration.error());
  return duration;
}

// `graph "order": output.schema./total: is string, not number`
std::optional<std::string> GraphProgram::mismatch(const core::Sight& sight, std::int32_t code) const {
  const graph::Channel& output = plan_.graph->output;
  if (!app_->enforces_schemas()) return std::nullopt;
  const bool completes = code == 200;
  const graph::SchemaPointer* schema = completes ? &output.schema : nullptr;
  std::string label = "output.schema";
  for (const auto& [of, coded] : output.schema_by_code)
    if (of == code) {
      schema = &coded;
      label = format("output.{}.schema", code);
    }
  if (schema == nullptr || !*schema) return std::nullopt;
  const Payload& data = sight.draft.data();
  const Status fits = check_schema(*schema, data.empty() ? json::value(json::object()) : *document_of(data));
  if (fits) return std::nullopt;
  const std::string& fault = fits.error().detail;
  return format("graph \"{}\": {}{}{}", plan_.graph->subscribes, label, fault.starts_with('/') ? "." : ": ", fault);
}

}  // namespace pawl::execute
