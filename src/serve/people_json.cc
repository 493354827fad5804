#include "serve/people_json.h"

#include <chrono>

#include "base/utf8.h"
#include "serve/job_json.h"
#include "serve/json_fields.h"
#include "serve/remote_text.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

json::value time_or_null(Instant at) { return at == Instant() ? json::value(nullptr) : json::value(time_text(at)); }

json::value text_or_null(const std::string& text) { return text.empty() ? json::value(nullptr) : json::value(text); }

}  // namespace

json::object json_of(const KeptSignal& signal) {
  return {{"id", signal.id},
          {"namespace", signal.name_space.raw()},
          {"topic", signal.topic},
          {"key", signal.key},
          {"match", signal.match},
          {"pending", signal.pending},
          {"code", signal.code},
          {"sent_at", time_or_null(signal.sent_at)},
          {"expires_at", time_or_null(signal.expires_at)},
          {"cursor", signal.cursor},
          {"data", json_of(signal.data)}};
}

KeptSignal read_kept_signal(const json::object& object) {
  KeptSignal signal;
  signal.id = text_in(object, "id");
  signal.name_space = Namespace(text_in(object, "namespace"));
  signal.topic = text_in(object, "topic");
  signal.key = text_in(object, "key");
  signal.match = text_in(object, "match");
  signal.pending = truth_in(object, "pending");
  signal.code = number_in<std::int32_t>(object, "code");
  signal.sent_at = time_in(object, "sent_at");
  signal.expires_at = time_in(object, "expires_at");
  signal.cursor = text_in(object, "cursor");
  signal.data = payload_in(object, "data");
  return signal;
}

json::object json_of(const RetentionRule& rule) {
  json::object object{{"status", nullptr},
                      {"graph", text_or_null(rule.graph)},
                      {"keep_seconds", nullptr},
                      {"set_at", time_or_null(rule.set_at)}};
  if (rule.status) object["status"] = json::string(name_of(*rule.status));
  if (rule.keep) object["keep_seconds"] = std::chrono::duration<double>(*rule.keep).count();
  return object;
}

RetentionRule read_rule(const json::object& object) {
  RetentionRule rule;
  rule.status = named_in(text_in(object, "status"), job_states);
  rule.graph = text_in(object, "graph");
  if (const json::value* keep = object.if_contains("keep_seconds"); keep != nullptr && keep->is_number())
    rule.keep = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(keep->to_number<double>()));
  rule.set_at = time_in(object, "set_at");
  return rule;
}

json::object json_of(const Task& task) {
  return {{"id", task.id},
          {"namespace", task.name_space.raw()},
          {"job", task.job.raw()},
          {"run", run_text(task.run)},
          {"graph", task.graph.raw()},
          {"activity", task.activity},
          {"address", task.address},
          {"role", task.role},
          {"type", task.type},
          {"subtype", task.subtype},
          {"description", task.description},
          {"priority", task.priority},
          {"opened_at", time_or_null(task.opened_at)},
          {"times_out_at", time_or_null(task.times_out_at)},
          {"claimed_by", text_or_null(task.claimed_by)},
          {"claimed_until", time_or_null(task.claimed_until)},
          {"cursor", task.cursor},
          {"escalation", json_of(task.fields)}};
}

Task read_task(const json::object& object) {
  Task task;
  task.id = text_in(object, "id");
  task.name_space = Namespace(text_in(object, "namespace"));
  task.job = JobId(text_in(object, "job"));
  task.run = run_in(object);
  task.graph = GraphName(text_in(object, "graph"));
  task.activity = text_in(object, "activity");
  task.address = text_in(object, "address");
  task.role = text_in(object, "role");
  task.type = text_in(object, "type");
  task.subtype = text_in(object, "subtype");
  task.description = text_in(object, "description");
  task.priority = number_in<std::int64_t>(object, "priority");
  task.opened_at = time_in(object, "opened_at");
  task.times_out_at = time_in(object, "times_out_at");
  task.claimed_by = text_in(object, "claimed_by");
  task.claimed_until = time_in(object, "claimed_until");
  task.cursor = text_in(object, "cursor");
  task.fields = payload_in(object, "escalation");
  return task;
}

}  // namespace pawl::serve
