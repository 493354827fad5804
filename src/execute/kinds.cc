// Leg 1 of the kinds that reach beyond their job: hook, signal, await, interrupt.
#include <boost/json/object.hpp>

#include "base/format.h"
#include "execute/mailbox_key.h"
#include "execute/program.h"
#include "execute/scene.h"
#include "execute/values.h"

namespace pawl::execute {
namespace {

constexpr std::int64_t code_min = 100;
constexpr std::int64_t code_max = 999;

Result<std::string> evaluate_text(Scene& scene, const graph::Formula& formula,
                                  std::string_view label) {
  auto value = scene.evaluate(formula, label);
  if (!value) return value.error();
  auto text = text_of(*value);
  if (!text) return name_place(scene.activity(), label, text.error());
  return text;
}

// An absent or null code is the default.
Result<std::int32_t> evaluate_code(Scene& scene, const graph::OptionalFormula& formula,
                                   std::int32_t otherwise) {
  if (!formula) return otherwise;
  auto value = scene.evaluate(*formula, "code");
  if (!value) return value.error();
  if (value->is_null()) return otherwise;
  auto code = whole_of(*value, code_min, code_max);
  if (!code) return name_place(scene.activity(), "code", code.error());
  return static_cast<std::int32_t>(*code);
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
    wait.mailbox =
        core::MailboxKey{sight.draft.base().job.name_space, Topic(*hook.topic), std::move(*key)};
  }
  return wait;
}

Result<core::Program::Telling> GraphProgram::signal(const core::Sight& sight) const {
  const auto& kind = kind_of_node<graph::Signal>(sight.node);
  Scene scene(*app_, plan_, sight, sight.node, "signal");
  if (kind.to_all)
    return name_place(scene.activity(), "subtype",
                      {ErrorCode::unsupported,
                       "a signal to all jobs with a key needs an index of jobs by key, which this "
                       "engine does not keep; signal each of them with subtype: one"});
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
  auto keys = mailbox_keys(*app_, *topic, payload);
  if (!keys) return name_place(scene.activity(), "signal", keys.error());
  auto data = write_payload(payload);
  if (!data) return name_place(scene.activity(), "signal.maps", data.error());
  Telling telling{
      .to = {}, .data = std::move(*data), .status = status_of(kind.status), .code = *code};
  for (std::string& key : *keys)
    telling.to.push_back({sight.draft.base().job.name_space, Topic(*topic), std::move(key)});
  return telling;
}

Result<core::Program::Child> GraphProgram::child(const core::Sight& sight,
                                                 const Payload& input) const {
  const auto& kind = kind_of_node<graph::Await>(sight.node);
  Scene scene(*app_, plan_, sight, sight.node, "child");
  auto topic = evaluate_text(scene, kind.topic, "topic");
  if (!topic) return topic.error();
  const auto found = app_->graph_of_topic.find(*topic);
  if (found == app_->graph_of_topic.end())
    return name_place(scene.activity(), "topic",
                      {ErrorCode::not_found,
                       format("no graph of the app \"{}\" subscribes \"{}\"", app().id, *topic)});
  const GraphPlan& target = app_->graphs[found->second];
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
    if (const Status fine = check_name("the job id", *target); !fine)
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
