#include "runtime/job_signal.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/format.h"
#include "core/draft.h"
#include "core/kind_state.h"
#include "core/program.h"
#include "execute/program.h"
#include "mapping/json_parse.h"

namespace pawl::runtime {

namespace {

void add(std::vector<core::MailboxKey>& keys, core::MailboxKey key) {
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(std::move(key));
}

std::vector<core::MailboxKey> open_ones(const core::JobState& state, const Topic& topic) {
  std::vector<core::MailboxKey> keys;
  for (const core::Activity& activity : state.activities()) {
    if (activity.status != core::ActivityStatus::open || activity.state.empty()) continue;
    const auto kind = core::decode_kind_state(activity.state.view());
    if (!kind) continue;
    const auto* hook = std::get_if<core::HookState>(&*kind);
    if (hook != nullptr && hook->mailbox && hook->mailbox->topic == topic) add(keys, *hook->mailbox);
  }
  return keys;
}

// After the hash of its rule a key has the values that a signal must match. A null value is not known yet.
bool is_known(const core::MailboxKey& mailbox) {
  const auto values = mapping::parse_json(mailbox.key.substr(mailbox.key.find(':') + 1));
  if (!values || !values->is_array()) return false;
  const auto& list = values->get_array();
  return std::none_of(list.begin(), list.end(), [](const boost::json::value& value) { return value.is_null(); });
}

// The address of an activity of this depth when it is reached for the first time.
ledger::Dimensions first_address(std::uint32_t depth) {
  ledger::Dimensions at = ledger::Dimensions::trigger();
  for (std::uint32_t i = 1; i < depth; ++i) at = at.child();
  return at;
}

bool takes(const graph::Graph& graph, const std::string& activity, const Topic& topic) {
  return std::any_of(graph.activities.begin(), graph.activities.end(), [&](const graph::Activity& one) {
    const auto* hook = std::get_if<graph::Hook>(&one.kind);
    return one.id == activity && hook != nullptr && hook->topic == topic.raw();
  });
}

}  // namespace

Result<std::vector<core::MailboxKey>> mailboxes_of(const core::JobState& state, const core::Graph& graph,
                                                   const Topic& topic, const Payload& data, Instant now) {
  const auto* program = execute::GraphProgram::of(graph);
  const auto taken = program == nullptr ? Result<std::vector<std::string>>(Error{ErrorCode::not_found, {}})
                                        : program->keys_of(topic, data);
  if (!taken && taken.error().code == ErrorCode::invalid) return taken.error();
  auto keys = open_ones(state, topic);
  if (!keys.empty()) return keys;
  bool some = false;
  const core::Draft draft(state);
  for (std::uint32_t node = 0; program != nullptr && node < graph.nodes().size(); ++node) {
    if (!takes(program->source(), graph.nodes()[node].name.raw(), topic)) continue;
    some = true;
    const auto wait = program->wait(core::Sight{draft, node, first_address(graph.nodes()[node].depth), now});
    if (wait && wait->mailbox && is_known(*wait->mailbox)) add(keys, *wait->mailbox);
  }
  if (!keys.empty()) return keys;
  const std::string& id = state.job.id.raw();
  if (some)
    return Error{ErrorCode::retry_later,
                 format("the hook of job {} for topic {} does not wait yet, and what it will match is not known before "
                        "that; signal again when it waits",
                        id, topic.raw())};
  return Error{ErrorCode::not_found, format("job {} has no hook for topic {}", id, topic.raw())};
}

}  // namespace pawl::runtime
