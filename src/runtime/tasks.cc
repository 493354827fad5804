#include "runtime/tasks.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>
#include <utility>

#include "base/format.h"
#include "core/draft.h"
#include "core/kind_state.h"
#include "core/program.h"
#include "core/signal_id.h"
#include "execute/program.h"
#include "mapping/json_parse.h"
#include "mapping/json_text.h"
#include "runtime/digits.h"
#include "runtime/kept_signals.h"
#include "runtime/lane_table.h"
#include "runtime/request_checks.h"
#include "runtime/requests.h"
#include "runtime/views.h"

namespace pawl::runtime {

namespace {

namespace json = boost::json;

constexpr std::size_t jobs_at_once = 100;

std::string id_of(RunId run, core::ActivitySeq activity) { return format("{}.{}", run.raw(), activity.raw()); }

std::optional<std::pair<RunId, core::ActivitySeq>> parse_id(std::string_view id) {
  const auto dot = id.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto run = number_in<std::uint64_t>(id.substr(0, dot));
  const auto activity = number_in<std::uint32_t>(id.substr(dot + 1));
  if (!run || !activity) return std::nullopt;
  return std::pair(RunId(*run), core::ActivitySeq(*activity));
}

core::MailboxKey claims_key(const Task& task) { return {task.name_space, Topic(claims_topic), task.id}; }

std::string text_in(const json::object& fields, std::string_view name) {
  const json::value* value = fields.if_contains(name);
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? std::string(value->get_string()) : mapping::json_text(*value);
}

void take_fields(Task& task, const Payload& escalation) {
  task.fields = escalation;
  const auto value = mapping::parse_json(escalation.view());
  if (!value || !value->is_object()) return;
  const json::object& fields = value->get_object();
  task.role = text_in(fields, "role");
  task.type = text_in(fields, "type");
  task.subtype = text_in(fields, "subtype");
  task.description = text_in(fields, "description");
  const json::value* priority = fields.if_contains("priority");
  if (priority != nullptr && priority->is_int64()) task.priority = priority->get_int64();
}

bool is_meant(const Task& task, const TaskFilter& filter) {
  const auto fits = [](const std::string& wanted, const std::string& is) { return wanted.empty() || wanted == is; };
  return fits(filter.role, task.role) && fits(filter.type, task.type) && fits(filter.claimed_by, task.claimed_by) &&
         fits(filter.job, task.job.raw()) && fits(filter.name_space, task.name_space.raw()) &&
         (!filter.unclaimed || task.claimed_by.empty());
}

}  // namespace

// An app's graphs are loaded by the list of its versions.
Result<std::vector<GraphName>> Tasks::graphs_with_tasks() const {
  const auto versions = apps_.list();
  if (!versions) return versions.error();
  std::set<GraphName> names;
  for (const AppVersion& version : *versions)
    for (const auto& graph : graphs_.of_app(version.app)) {
      const auto* program = execute::GraphProgram::of(*graph);
      if (program != nullptr && program->has_tasks()) names.insert(graph->name());
    }
  return std::vector<GraphName>(names.begin(), names.end());
}

Result<std::vector<Task>> Tasks::tasks_of(const store::StoredJob& job) {
  std::vector<Task> found;
  const core::JobState& state = job.state;
  const auto graph = graphs_.find(state.job.graph);
  const auto* program = graph == nullptr ? nullptr : execute::GraphProgram::of(*graph);
  if (program == nullptr || state.job.status != core::JobStatus::running) return found;
  const core::Draft draft(state);
  for (const core::Activity& activity : state.activities()) {
    if (activity.status != core::ActivityStatus::open || activity.state.empty()) continue;
    const auto escalation = program->task({draft, activity.node, activity.at, activity.opened_at});
    if (!escalation) return escalation.error();
    if (!*escalation) continue;
    const auto kind = core::decode_kind_state(activity.state.view());
    const auto* hook = kind ? std::get_if<core::HookState>(&*kind) : nullptr;
    if (hook == nullptr) continue;
    Task task;
    task.id = id_of(state.job.run, activity.seq);
    task.cursor = task.id;
    task.name_space = state.job.name_space;
    task.job = state.job.id;
    task.run = state.job.run;
    task.graph = state.job.graph.name;
    task.activity = name_in(graph.get(), activity.node).raw();
    task.address = activity.at.text();
    take_fields(task, **escalation);
    task.opened_at = activity.opened_at;
    task.times_out_at = hook->wakes_at;
    if (hook->times_out_at != Instant() && (task.times_out_at == Instant() || hook->times_out_at < task.times_out_at))
      task.times_out_at = hook->times_out_at;
    const auto claims = claims_of(claims_key(task));
    if (!claims) return claims.error();
    for (const Claim& claim : *claims) {
      if (claim.is_over) continue;
      if (task.claimed_by.empty()) task.claimed_by = claim.who;
      if (task.claimed_by == claim.who) task.claimed_until = std::max(task.claimed_until, claim.until);
    }
    found.push_back(std::move(task));
  }
  return found;
}

Result<std::vector<Task>> Tasks::list(const TaskFilter& filter) {
  std::pair<RunId, core::ActivitySeq> after{RunId(0), core::ActivitySeq(0)};
  if (!filter.after.empty()) {
    const auto place = parse_id(filter.after);
    if (!place)
      return Error{ErrorCode::invalid,
                   format("{} is no place in the list of tasks; take a cursor of it", filter.after)};
    after = *place;
  }
  auto graphs = graphs_with_tasks();
  if (!graphs) return graphs.error();
  if (!filter.graph.empty()) std::erase_if(*graphs, [&](const GraphName& one) { return one.raw() != filter.graph; });
  // In the order of their jobs, whatever the graph: a page of each, merged.
  std::vector<Task> found;
  for (const GraphName& graph : *graphs) {
    store::ListQuery query;
    query.status = core::JobStatus::running;
    query.graph = graph;
    if (!filter.name_space.empty()) query.name_space = Namespace(filter.name_space);
    query.names_only = true;
    query.rows_max = jobs_at_once;
    query.after = RunId(after.first.raw() == 0 ? 0 : after.first.raw() - 1);  // the last job may have more
    std::size_t of_graph = 0;
    for (bool goes_on = true; goes_on;) {
      const auto page = store_.list_jobs(query);
      if (!page) return page.error();
      for (const core::JobRow& row : *page) {
        if (!filter.job.empty() && row.id.raw() != filter.job) continue;
        const auto job = store_.read_job(row.run);
        if (!job) return job.error();
        if (!*job) continue;
        auto tasks = tasks_of(**job);
        if (!tasks) return tasks.error();
        for (Task& task : *tasks) {
          if (*parse_id(task.id) <= after || !is_meant(task, filter)) continue;
          found.push_back(std::move(task));
          ++of_graph;
        }
      }
      goes_on = page->size() == jobs_at_once && of_graph < filter.rows_max;
      if (goes_on) query.after = page->back().run;
    }
  }
  std::sort(found.begin(), found.end(), [](const Task& a, const Task& b) { return *parse_id(a.id) < *parse_id(b.id); });
  if (found.size() > filter.rows_max) found.resize(filter.rows_max);
  return found;
}

Result<Tasks::Found> Tasks::find(const std::string& id) {
  const auto place = parse_id(id);
  if (!place) return Error{ErrorCode::invalid, format("{} is no id of a task; pawl tasks lists them", id)};
  auto job = store_.read_job(place->first);
  if (!job) return job.error();
  if (*job) {
    auto tasks = tasks_of(**job);
    if (!tasks) return tasks.error();
    for (Task& task : *tasks)
      if (task.id == id) return Found{std::move(task), std::move(**job), place->second};
  }
  return Error{ErrorCode::not_found, format("there is no open task {}: it was resolved, timed out, or its job ended or "
                                            "stopped",
                                            id)};
}

// In line. In one look: while a list is read in parts an owner may take claims in, and one would be missed.
Result<std::vector<Tasks::Claim>> Tasks::claims_of(const core::MailboxKey& key) {
  std::vector<Claim> claims;
  const auto mailbox = store_.find_mailbox(key);
  if (!mailbox) return mailbox.error();
  if (!*mailbox) return claims;
  store::KeptQuery query;
  query.mailbox = **mailbox;
  query.rows_max = limits::early_signals_per_mailbox_max;
  const auto kept = store_.read_kept(query);
  if (!kept) return kept.error();
  if (!*kept) return claims;
  if ((*kept)->next_seq || (*kept)->next_unserved)
    return Error{ErrorCode::over_limit, format("task {} has more than {} claims of this day "
                                               "(early_signals_per_mailbox_max)",
                                               key.key, query.rows_max)};
  const Instant now = store_.now();
  const auto add = [&](const core::Guid& guid, const core::Signal& signal) {
    const auto value = mapping::parse_json(signal.data.view());
    if (!value || !value->is_object()) return;
    const json::value* until = value->get_object().if_contains("until");
    if (until == nullptr || !until->is_int64()) return;
    const Instant over_at = Instant::from_micros(until->get_int64());
    claims.push_back({guid, text_in(value->get_object(), "who"), over_at, over_at <= now});
  };
  for (const core::MailboxEntry& entry : (*kept)->entries) add(entry.guid, std::get<core::Signal>(entry.what));
  for (const auto& waiting : (*kept)->unserved) add(waiting.message.guid, std::get<core::Signal>(waiting.message.body));
  return claims;
}

Status Tasks::drop_claims(const core::MailboxKey& key, const std::vector<Claim>& claims,
                          const std::function<bool(const Claim&)>& is_meant) {
  std::vector<store::Operation> drops;
  for (const Claim& claim : claims)
    if (is_meant(claim)) drops.push_back(drop_of(pool_, key, claim.signal));
  if (drops.empty()) return {};
  for (const auto& result : commit_(std::move(drops)))
    if (const auto dropped = Requests::taken(result); !dropped) return dropped;
  return {};
}

namespace {

Error claimed(const Task& task, const std::string& by) {
  return {ErrorCode::conflict, format("task {} is claimed by {}", task.id, by)};
}

}  // namespace

// Whoever is first in line has it. A second one takes itself out of the line again.
Status Tasks::claim(const std::string& id, const std::string& who, Duration time) {
  if (const auto named = check_name("who claims", who); !named) return named;
  if (time <= Duration(0) || time > Duration(limits::early_signal_keep))
    return Error{ErrorCode::invalid,
                 format("a claim lasts up to {} hours, and longer than no time; claim again to go on",
                        limits::early_signal_keep.count())};
  const auto found = find(id);
  if (!found) return found.error();
  if (!found->task.claimed_by.empty() && found->task.claimed_by != who)
    return claimed(found->task, found->task.claimed_by);
  const core::MailboxKey key = claims_key(found->task);
  const std::int64_t until = (store_.now() + time).micros();
  const core::Guid guid = core::signal_guid(key, format("{}@{}", who, until));
  store::Deliver deliver;
  const std::string data = mapping::json_text(json::object{{"who", who}, {"until", until}});
  deliver.envelope = core::Envelope{key, core::Message{guid, core::Signal{Payload(data)}}};
  deliver.lane = lane_for(pool_, key);
  if (const auto sent = Requests::taken(commit_one(commit_, std::move(deliver))); !sent) return sent;
  const auto claims = claims_of(key);
  if (!claims) return claims.error();
  const auto own = std::find_if(claims->begin(), claims->end(), [&](const Claim& one) { return one.signal == guid; });
  if (own == claims->end() || own->is_over)
    return Error{
        ErrorCode::conflict,
        format("the claim of task {} is over already, or was dropped with others: look at the task again", id)};
  const auto first = std::find_if(claims->begin(), claims->end(), [](const Claim& one) { return !one.is_over; });
  if (first->who != who) {
    const auto dropped = drop_claims(key, *claims, [&](const Claim& one) { return one.who == who; });
    return dropped ? Status(claimed(found->task, first->who)) : dropped;
  }
  // Earlier claims of the same person go. Not one that still keeps somebody out who stands before the new claim.
  const bool is_alone = std::all_of(first, own, [&](const Claim& one) { return one.is_over || one.who == who; });
  // If this fails they go by themselves, after a day.
  (void)drop_claims(key, *claims, [&](const Claim& one) {
    return one.who == who && one.signal != guid && (one.is_over || is_alone);
  });
  return {};
}

Status Tasks::release(const std::string& id, const std::string& who) {
  const auto found = find(id);
  if (!found) return found.error();
  if (found->task.claimed_by != who)
    return Error{ErrorCode::conflict, format("task {} is claimed by {}", id,
                                             found->task.claimed_by.empty() ? "nobody" : found->task.claimed_by)};
  const core::MailboxKey key = claims_key(found->task);
  const auto claims = claims_of(key);
  if (!claims) return claims.error();
  return drop_claims(key, *claims, [&](const Claim& one) { return one.who == who; });
}

// To the hook itself: others that wait for the same signal do not get it.
Status Tasks::resolve(const std::string& id, const Payload& data, const ResolveOptions& options) {
  if (const auto checked = check_payload("the answer", data); !checked) return checked;
  const auto found = find(id);
  if (!found) return found.error();
  const Task& task = found->task;
  if (!task.claimed_by.empty() && task.claimed_by != options.who) return claimed(task, task.claimed_by);
  const auto graph = graphs_.find(found->job.state.job.graph);
  const core::Activity* activity = found->job.state.find(found->activity);
  const auto kind = core::decode_kind_state(activity->state.view());
  const auto* hook = kind ? std::get_if<core::HookState>(&*kind) : nullptr;
  if (hook != nullptr && hook->mailbox)
    if (const auto fits = execute::GraphProgram::of(*graph)->keys_of(hook->mailbox->topic, data);
        !fits && fits.error().code == ErrorCode::invalid)
      return fits.error();
  // One name for all who resolve it: the first one counts.
  const core::Guid guid = hook->request.derive(core::Guid::Purpose::verdict, 0);
  store::Deliver deliver;
  deliver.envelope =
      core::Envelope{task.run, core::Message{guid, core::GiveAnswer{found->activity, options.code, data}}};
  const auto sent = commit_one(commit_, std::move(deliver));
  if (sent && sent->kind == store::OutcomeKind::already_done)
    return Error{ErrorCode::conflict, format("somebody resolved task {} already", id)};
  if (const auto taken = Requests::taken(sent); !taken) return taken;
  // The answer is committed, whatever becomes of the claims: without their task they mean nothing, and go after a day.
  const core::MailboxKey key = claims_key(task);
  if (const auto claims = claims_of(key)) (void)drop_claims(key, *claims, [](const Claim&) { return true; });
  return {};
}

}  // namespace pawl::runtime
