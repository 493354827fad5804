#include "serve/job_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/utf8.h"
#include "mapping/json_parse.h"

namespace pawl {

namespace {

namespace json = boost::json;

json::value value_of(const Payload& payload) {
  if (payload.empty()) return nullptr;
  auto parsed = mapping::parse_json(payload.view());
  if (parsed) return std::move(*parsed);
  return json::string(payload.view());
}

json::value time_of(Instant at) {
  if (at == Instant()) return nullptr;
  return json::string(time_text(at));
}

json::object object_of(const JobView& job) {
  json::object object = {{"namespace", job.name_space.raw()},
                         {"id", job.id.raw()},
                         {"run", run_text(job.run)},
                         {"graph", job.graph.raw()},
                         {"version", job.version},
                         {"status", json::string(name_of(job.status))},
                         {"semaphore", job.semaphore},
                         {"priority", job.priority},
                         {"created_at", time_of(job.created_at)},
                         {"closed_at", time_of(job.closed_at)},
                         {"deadline", time_of(job.deadline)},
                         {"remove_at", time_of(job.remove_at)},
                         {"redrives", job.redrives},
                         {"code", job.code},
                         {"reason", job.reason},
                         {"data", value_of(job.data)},
                         {"result", value_of(job.result)}};
  if (!job.cursor.empty()) object["cursor"] = job.cursor;
  return object;
}

json::object object_of(const WorkView& work) {
  return {{"token", work.token},
          {"worker", work.worker},
          {"attempts", work.attempts},
          {"failures", work.failures},
          {"failure_code", work.failure_code},
          {"failure", work.failure},
          {"next_try_at", time_of(work.next_try_at)},
          {"attempt_by", time_of(work.attempt_by)},
          {"deadline", time_of(work.deadline)},
          {"held", work.held},
          {"progress", value_of(work.progress)}};
}

json::object object_of(const WaitView& wait) {
  json::object object;
  if (!wait.topic.empty()) object["topic"] = wait.topic;
  if (!wait.key.empty()) object["key"] = value_of(Payload(wait.key));
  if (wait.wakes_at != Instant()) object["wakes_at"] = time_of(wait.wakes_at);
  if (wait.times_out_at != Instant()) object["times_out_at"] = time_of(wait.times_out_at);
  if (!wait.child.empty()) object["child"] = wait.child;
  if (wait.of != 0) {
    object["done"] = wait.done;
    object["of"] = wait.of;
  }
  return object;
}

json::object object_of(const TimerView& timer) {
  json::object object{{"due", time_of(timer.due)}, {"what", timer.what}};
  if (!timer.activity.empty()) {
    object["activity"] = timer.activity;
    object["address"] = timer.address;
  }
  return object;
}

json::object object_of(const ActivityView& activity) {
  json::array messages;
  for (const MessageView& message : activity.messages)
    messages.push_back(json::object{{"ledger", message.ledger}, {"explanation", message.explanation}});
  json::array attempts;
  for (const AttemptView& attempt : activity.attempts)
    attempts.push_back(json::object{{"at", time_of(attempt.at)}, {"code", attempt.code}, {"error", attempt.error}});
  return {{"name", activity.name.raw()},
          {"kind", activity.kind ? json::value(json::string(name_of(*activity.kind))) : json::value(nullptr)},
          {"address", activity.address},
          {"parent", activity.parent ? json::value(*activity.parent) : json::value(nullptr)},
          {"plane", activity.plane},
          {"ledger", activity.ledger},
          {"explanation", activity.explanation},
          {"status", json::string(name_of(activity.status))},
          {"code", activity.code},
          {"effect", json::string(name_of(activity.effect))},
          {"opened_at", time_of(activity.opened_at)},
          {"closed_at", time_of(activity.closed_at)},
          {"input", value_of(activity.input)},
          {"input_sure", activity.input_sure},
          {"output", value_of(activity.output)},
          {"carried", activity.carried},
          {"attempts", std::move(attempts)},
          {"child", activity.child.empty() ? json::value(nullptr) : json::value(activity.child)},
          {"waits_for", activity.waits_for ? json::value(object_of(*activity.waits_for)) : json::value(nullptr)},
          {"work", activity.work ? json::value(object_of(*activity.work)) : json::value(nullptr)},
          {"refused", activity.refused ? json::value(json::object{{"code", activity.refused->code},
                                                                  {"error", activity.refused->error},
                                                                  {"data", value_of(activity.refused->data)}})
                                       : json::value(nullptr)},
          {"messages", std::move(messages)}};
}

json::object object_of(const JobDetail& detail) {
  json::object object = object_of(detail.job);
  object["input"] = value_of(detail.input);
  json::array activities;
  for (const ActivityView& activity : detail.activities) activities.push_back(object_of(activity));
  object["activities"] = std::move(activities);
  json::array timers;
  for (const TimerView& timer : detail.timers) timers.push_back(object_of(timer));
  object["timers"] = std::move(timers);
  json::array obstacles;
  for (const std::string& text : detail.obstacles) obstacles.emplace_back(text);
  object["obstacles"] = std::move(obstacles);
  json::array earlier;
  for (const EarlierRunView& run : detail.earlier)
    earlier.push_back(json::object{
        {"run", run_text(run.run)}, {"ended_at", time_of(run.ended_at)}, {"code", run.code}, {"reason", run.reason}});
  object["earlier"] = std::move(earlier);
  object["collation_key"] = detail.collation_key;
  return object;
}

constexpr int generations_max = 32;  // as many as a collation key shows

json::object family_of(const JobDetail& detail, const ReadChild& read_child, int generation) {
  json::object object = object_of(detail);
  if (!read_child || generation == generations_max) return object;
  json::array children;
  for (const ActivityView& activity : detail.activities) {
    if (activity.child.empty()) continue;
    if (const auto child = read_child(detail.job.name_space.raw(), activity.child))
      children.push_back(family_of(*child, read_child, generation + 1));
  }
  object["children"] = std::move(children);
  return object;
}

// Space between the parts of a document stands beside a bracket, a comma or a colon. In a text it may, too.
bool may_be_between_parts(std::string_view text, std::size_t at) {
  if (at == 0 || at + 1 == text.size()) return true;
  constexpr std::string_view marks = "{}[],:";
  return marks.find(text[at - 1]) != marks.npos || marks.find(text[at + 1]) != marks.npos;
}

// JSON on one line that needs no change.
bool is_plain_json(std::string_view text) {
  if (text.empty()) return false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] < 0x20 || text[at] >= 0x7F) return false;
    if (text[at] == ' ' && may_be_between_parts(text, at)) return false;
  }
  mapping::JsonCheck check;
  const auto read = check.take(text);
  return read && *read == text.size() && check.done();
}

// Texts in it come from outside and may contain any bytes: the document is UTF-8.
std::string text_of(const json::value& document) { return printable_json(json::serialize(document)); }

}  // namespace

std::string time_text(Instant at) {
  if (at == Instant()) return "";
  const auto seconds = at.micros() / 1'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(seconds)),
                     at.micros() % 1'000'000 / 1000);
}

std::string run_text(RunId run) { return std::to_string(run.raw()); }

std::string job_json(const JobView& job) { return text_of(object_of(job)); }

std::string jobs_json(const std::vector<JobView>& jobs) {
  json::array rows;
  for (const JobView& job : jobs) rows.push_back(object_of(job));
  return text_of(rows);
}

std::string job_json(const JobDetail& detail, const std::string& app_version) {
  json::object object = object_of(detail);
  object["app_version"] = app_version;
  return text_of(object);
}

std::string export_json(const JobDetail& detail, const ReadChild& read_child) {
  return text_of(family_of(detail, read_child, 0));
}

std::string payload_json(const Payload& payload) {
  if (payload.empty()) return "null";
  if (is_plain_json(payload.view())) return payload.str();
  return text_of(value_of(payload));
}

std::string announcement_json(const Announcement& said) {
  return text_of(json::object{{"cursor", said.cursor},
                              {"topic", said.topic},
                              {"namespace", said.name_space.raw()},
                              {"job", said.job.raw()},
                              {"run", run_text(said.run)},
                              {"end", said.end},
                              {"error", said.error},
                              {"code", said.code},
                              {"at", time_of(said.at)},
                              {"data", value_of(said.data)}});
}

std::string_view name_of(Event::Kind kind) {
  using Kind = Event::Kind;
  switch (kind) {
    case Kind::job_started:
      return "job_started";
    case Kind::activity_opened:
      return "activity_opened";
    case Kind::activity_pending:
      return "activity_pending";
    case Kind::activity_closed:
      return "activity_closed";
    case Kind::job_closed:
      return "job_closed";
    case Kind::job_parked:
      return "job_parked";
    case Kind::activity_retried:
      return "activity_retried";
    case Kind::activity_unknown:
      return "activity_unknown";
    case Kind::job_paused:
      return "job_paused";
    case Kind::job_resumed:
      return "job_resumed";
    case Kind::job_announced:
      return "job_announced";
  }
  return "";
}

std::string event_json(const Event& event, const std::string& id, bool output_left_out) {
  json::object object{{"id", id},
                      {"kind", json::string(name_of(event.kind))},
                      {"namespace", event.name_space.raw()},
                      {"job", event.job.raw()},
                      {"run", run_text(event.run)},
                      {"graph", event.graph.raw()},
                      {"at", time_of(event.at)}};
  if (!event.activity.raw().empty()) {
    object["activity"] = event.activity.raw();
    object["activity_kind"] =
        event.activity_kind ? json::value(json::string(name_of(*event.activity_kind))) : json::value(nullptr);
    object["address"] = event.address;
    object["code"] = event.code;
  }
  if (event.kind == Event::Kind::job_announced) object["code"] = event.code;
  if (!event.output.empty()) object["output"] = value_of(event.output);
  if (output_left_out) {
    object["output"] = nullptr;
    object["output_left_out"] = true;
  }
  if (event.waits_for) object["waits_for"] = object_of(*event.waits_for);
  return text_of(object);
}

namespace {

json::object object_of(const AppVersion& version) {
  json::array topics;
  for (const std::string& topic : version.topics) topics.emplace_back(topic);
  return {{"app", version.app},
          {"version", version.version},
          {"active", version.active},
          {"deployed_at", time_of(version.deployed_at)},
          {"topics", std::move(topics)}};
}

}  // namespace

std::string app_json(const AppVersion& version) { return text_of(object_of(version)); }

std::string apps_json(const std::vector<AppVersion>& versions) {
  json::array rows;
  for (const AppVersion& version : versions) rows.push_back(object_of(version));
  return text_of(rows);
}

std::string started_json(const std::string& name_space, const std::string& id, RunId run, bool created) {
  return text_of(json::object{{"id", id}, {"namespace", name_space}, {"run", run_text(run)}, {"created", created}});
}

std::string done_json(RunId run) { return text_of(json::object{{"ok", true}, {"run", run_text(run)}}); }

}  // namespace pawl
