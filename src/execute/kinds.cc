// Leg 1 of the kinds that affect other jobs or mailboxes: hook, signal, await, interrupt.
#include <algorithm>
#include <boost/json/object.hpp>

#include "base/format.h"
#include "base/job_id.h"
#include "execute/documents.h"
#include "execute/mailbox_key.h"
#include "execute/program.h"
#include "execute/scene.h"
#include "execute/stats.h"
#include "execute/values.h"
#include "mapping/json_text.h"

namespace pawl::execute {
namespace {

constexpr std::int64_t code_min = 100;
constexpr std::int64_t code_max = 999;

Result<std::string> evaluate_text(Scene& scene, const graph::Formula& formula, std::string_view label) {
  auto value = scene.evaluate(formula, label);
  if (!value) return value.error();
  auto text = text_of(*value);
  if (!text) return name_place(scene.activity(), label, text.error());
  return text;
}

// An absent or null code is the default.
Result<std::int32_t> evaluate_code(Scene& scene, const graph::OptionalFormula& formula, std::int32_t otherwise) {
  if (!formula) return otherwise;
  auto value = scene.evaluate(*formula, "code");
  if (!value) return value.error();
  if (value->is_null()) return otherwise;
  auto code = whole_of(*value, code_min, code_max);
  if (!code) return name_place(scene.activity(), "code", code.error());
  return static_cast<std::int32_t>(*code);
}

bool waits_for(const graph::Graph& graph, std::string_view topic) {
  for (const graph::Activity& activity : graph.activities) {
    const auto* hook = std::get_if<graph::Hook>(&activity.kind);
    if (hook != nullptr && hook->topic == topic) return true;
  }
  return false;
}

core::ReplyStatus status_of(graph::SignalStatus status) {
  switch (status) {
    case graph::SignalStatus::success:
      return core::ReplyStatus::success;
    case graph::SignalStatus::pending:
      return core::ReplyStatus::pending;
    case graph::SignalStatus::error:
      return core::ReplyStatus::error;
  }
  return core::ReplyStatus::success;
}

}  // namespace

Result<core::Program::Wait> GraphProgram::wait(const core::Sight& sight) const {
  const auto& hook = kind_of_node<graph::Hook>(sight.node);
  Wait wait;
  if (hook.passes_through()) return wait;
  Scene scene(*app_, plan_, sight, sight.node, "wait");
  if (hook.sleep) {
    auto value = scene.evaluate(*hook.sleep, "sleep");
    if (!value) return value.error();
    auto sleep = duration_of(*value, scene.dialect());
    if (!sleep) return name_place(scene.activity(), "sleep", sleep.error());
    wait.sleep = unless_zero(*sleep);
  }
  if (hook.topic) {
    const std::string label = format("hooks.{}.expected", *hook.topic);
    json::array expected;
    for (const graph::HookMatch& match : hook.matches) {
      auto value = scene.evaluate(match.expected, label);
      if (!value) return value.error();
      expected.push_back(std::move(*value));
    }
    auto key = mailbox_key(hash_of(hook.matches), std::move(expected));
    if (!key) return name_place(scene.activity(), label, key.error());
    wait.mailbox = core::MailboxKey{sight.draft.base().job.name_space, Topic(*hook.topic), std::move(*key)};
  }
  return wait;
}

bool GraphProgram::has_tasks() const {
  return std::any_of(source().activities.begin(), source().activities.end(), [](const graph::Activity& one) {
    const auto* hook = std::get_if<graph::Hook>(&one.kind);
    return hook != nullptr && hook->escalation && !hook->passes_through();
  });
}

Result<std::optional<Payload>> GraphProgram::task(const core::Sight& sight) const {
  const auto* hook = std::get_if<graph::Hook>(&plan_.activity(sight.node).kind);
  if (hook == nullptr || !hook->escalation || hook->passes_through()) return std::optional<Payload>();
  Scene scene(*app_, plan_, sight, sight.node, "task");
  const auto value = scene.evaluate(*hook->escalation, "escalation");
  if (!value) return value.error();
  // As in HotMesh: without any of these there is nobody to ask.
  const json::object* fields = value->if_object();
  const auto says = [&](std::string_view name) {
    const json::value* one = fields == nullptr ? nullptr : fields->if_contains(name);
    return one != nullptr && !one->is_null();
  };
  if (!says("role") && !says("type") && !says("priority") && !says("metadata")) return std::optional<Payload>();
  return std::optional(Payload(mapping::json_text(*value)));
}

Result<core::Program::Telling> GraphProgram::signal(const core::Sight& sight) const {
  const auto& kind = kind_of_node<graph::Signal>(sight.node);
  Scene scene(*app_, plan_, sight, sight.node, "signal");
  auto topic = evaluate_text(scene, kind.topic, "topic");
  if (!topic) return topic.error();
  json::value payload = json::object();
  if (kind.payload.maps) {
    auto made = scene.evaluate(*kind.payload.maps, "signal.maps");
    if (!made) return made.error();
    payload = std::move(*made);
  }
  if (app_->enforces_schemas())
    if (const Status fits = check_schema(kind.payload.schema, payload); !fits)
      return name_place(scene.activity(), "signal.schema", fits.error());
  const auto code = evaluate_code(scene, kind.code, 200);
  if (!code) return code.error();
  auto data = write_payload(payload);
  if (!data) return name_place(scene.activity(), "signal.maps", data.error());
  Telling telling{.to = {}, .data = std::move(*data), .status = status_of(kind.status), .code = *code};
  if (kind.to_all) {
    auto all = to_all(scene, sight, std::move(*topic));
    if (!all) return all.error();
    telling.all = std::move(*all);
    return telling;
  }
  auto keys = mailbox_keys(*app_, *topic, payload);
  if (!keys) return name_place(scene.activity(), "signal", keys.error());
  for (std::string& key : *keys)
    telling.to.push_back({sight.draft.base().job.name_space, Topic(*topic), std::move(key)});
  return telling;
}

// The jobs of the graph whose hook waits for the topic, found by its `stats`.
Result<core::Program::Telling::All> GraphProgram::to_all(Scene& scene, const core::Sight& sight,
                                                         std::string topic) const {
  const auto& kind = kind_of_node<graph::Signal>(sight.node);
  const graph::Activity& here = scene.activity();
  const GraphPlan* target = nullptr;
  for (const GraphPlan& one : app_->graphs)
    if (waits_for(*one.graph, topic)) {
      if (target != nullptr)
        return name_place(
            here, "topic",
            {ErrorCode::invalid, format("the graphs \"{}\" and \"{}\" both wait for \"{}\"; a signal to all needs "
                                        "a topic of one graph",
                                        target->graph->subscribes, one.graph->subscribes, topic)});
      target = &one;
    }
  if (target == nullptr)
    return name_place(
        here, "topic",
        {ErrorCode::not_found, format("no hook of the app \"{}\" waits for the topic \"{}\"", app().id, topic)});
  json::value resolved = json::object();
  if (kind.resolver.maps) {
    auto made = scene.evaluate(*kind.resolver.maps, "resolver.maps");
    if (!made) return made.error();
    resolved = std::move(*made);
  }
  if (app_->enforces_schemas())
    if (const Status fits = check_schema(kind.resolver.schema, resolved); !fits)
      return name_place(here, "resolver.schema", fits.error());
  const json::object* fields = resolved.if_object();
  const json::value* data = fields == nullptr ? nullptr : fields->if_contains("data");
  auto key = stats_key(*target->graph, data == nullptr ? json::value(json::object()) : *data, sight.now);
  if (!key) return name_place(here, "resolver", key.error());
  core::Label label{std::move(*key), "", ""};
  if (kind.key_name) {
    auto name = evaluate_text(scene, *kind.key_name, "key_name");
    if (!name) return name.error();
    label.name = std::move(*name);
    if (kind.key_value) {
      auto value = scene.evaluate(*kind.key_value, "key_value");
      if (!value) return value.error();
      auto text = label_text(*value);
      if (!text) return name_place(here, "key_value", text.error());
      label.value = std::move(*text);
    }
  }
  bool scrub = fields != nullptr && fields->if_contains("scrub") != nullptr && is_true(fields->at("scrub"));
  if (kind.scrub) {
    auto value = scene.evaluate(*kind.scrub, "scrub");
    if (!value) return value.error();
    scrub = scrub || is_true(*value);
  }
  return Telling::All{target->ref.name, std::move(label), scrub, Topic(std::move(topic))};
}

Result<core::Program::Telling> GraphProgram::tell(const core::Sight& sight, const Topic& topic, const Payload& data,
                                                  const JobId& job) const {
  const graph::Activity& here = plan_.activity(sight.node);
  json::value payload = *document_of(data);
  if (!payload.is_object()) payload = json::object();
  payload.get_object()["id"] = json::string_view(job.raw());
  auto keys = mailbox_keys(*app_, topic.raw(), payload);
  if (!keys) return name_place(here, "signal", keys.error());
  auto written = write_payload(payload);
  if (!written) return name_place(here, "signal.maps", written.error());
  Telling telling{.to = {}, .data = std::move(*written)};
  for (std::string& key : *keys) telling.to.push_back({sight.draft.base().job.name_space, topic, std::move(key)});
  return telling;
}

Result<core::Program::Child> GraphProgram::child(const core::Sight& sight, const Payload& input) const {
  const auto& kind = kind_of_node<graph::Await>(sight.node);
  Scene scene(*app_, plan_, sight, sight.node, "child");
  auto topic = evaluate_text(scene, kind.topic, "topic");
  if (!topic) return topic.error();
  const auto found = app_->graph_of_topic.find(*topic);
  if (found == app_->graph_of_topic.end())
    return name_place(scene.activity(), "topic",
                      {ErrorCode::not_found, format("no graph of the app \"{}\" subscribes \"{}\"", app().id, *topic)});
  const GraphPlan& target = app_->graphs[found->second];
  if (target.graph->collation == graph::Collation::duplex)
    return name_place(
        scene.activity(), "topic",
        {ErrorCode::unsupported,
         format("the graph \"{}\" has collation: duplex, and no other job can start one of its jobs", *topic)});
  if (app_->enforces_schemas())
    if (const Status fits = check_schema(target.graph->input.schema, scene.document(input)); !fits)
      return name_place(scene.activity(), format("input.schema of \"{}\"", *topic), fits.error());
  auto id = job_id(target, input, sight.now);
  if (!id) return name_place(scene.activity(), "topic", id.error());
  Child child{.graph = target.ref, .id = std::move(*id), .awaits = true};
  if (kind.await) {
    auto awaits = scene.evaluate(*kind.await, "await");
    if (!awaits) return awaits.error();
    child.awaits = !is_false(*awaits);
  }
  return child;
}

Result<core::Program::Ending> GraphProgram::ending(const core::Sight& sight) const {
  const auto& kind = kind_of_node<graph::Interrupt>(sight.node);
  Scene scene(*app_, plan_, sight, sight.node, "ending");
  Ending ending;
  if (kind.target) {
    // A target that is missing must not end this job instead.
    auto target = evaluate_text(scene, *kind.target, "target");
    if (!target) return target.error();
    if (const Status fine = check_job_id("the job id", *target); !fine)
      return name_place(scene.activity(), "target", fine.error());
    ending.target = JobId(std::move(*target));
  }
  const auto code = evaluate_code(scene, kind.code, ending.code);
  if (!code) return code.error();
  ending.code = *code;
  if (kind.reason) {
    auto value = scene.evaluate(*kind.reason, "reason");
    if (!value) return value.error();
    if (!value->is_null()) {
      auto reason = text_of(*value);
      if (!reason) return name_place(scene.activity(), "reason", reason.error());
      ending.reason = std::move(*reason);
    }
  }
  if (kind.throws) {
    auto value = scene.evaluate(*kind.throws, "throw");
    if (!value) return value.error();
    ending.throws = !is_false(*value);
  }
  if (kind.descend) {
    auto value = scene.evaluate(*kind.descend, "descend");
    if (!value) return value.error();
    ending.descend = is_true(*value);
  }
  if (kind.expire) {
    auto value = scene.evaluate(*kind.expire, "expire");
    if (!value) return value.error();
    auto keep = duration_of(*value, scene.dialect());
    if (!keep) return name_place(scene.activity(), "expire", keep.error());
    ending.keep = *keep;
  }
  return ending;
}

}  // namespace pawl::execute
