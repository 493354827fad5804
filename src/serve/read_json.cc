#include "serve/read_json.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>

#include "base/trace_context.h"
#include "serve/json_fields.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

WaitView read_wait(const json::object& object) {
  WaitView wait;
  wait.topic = text_in(object, "topic");
  wait.key = payload_in(object, "key").str();
  wait.wakes_at = time_in(object, "wakes_at");
  wait.times_out_at = time_in(object, "times_out_at");
  wait.child = text_in(object, "child");
  wait.done = number_in<std::uint32_t>(object, "done");
  wait.of = number_in<std::uint32_t>(object, "of");
  return wait;
}

WorkView read_attempts(const json::object& object) {
  WorkView work;
  work.token = text_in(object, "token");
  work.worker = text_in(object, "worker");
  work.attempts = number_in<std::uint32_t>(object, "attempts");
  work.failures = number_in<std::uint32_t>(object, "failures");
  work.failure_code = number_in<std::int32_t>(object, "failure_code");
  work.failure = text_in(object, "failure");
  work.next_try_at = time_in(object, "next_try_at");
  work.attempt_by = time_in(object, "attempt_by");
  work.deadline = time_in(object, "deadline");
  work.held = truth_in(object, "held");
  work.progress = payload_in(object, "progress");
  return work;
}

ActivityView read_activity(const json::object& object) {
  ActivityView activity;
  activity.name = ActivityName(text_in(object, "name"));
  activity.kind = named_in(text_in(object, "kind"), activity_kinds);
  activity.address = text_in(object, "address");
  activity.ledger = text_in(object, "ledger");
  activity.explanation = text_in(object, "explanation");
  activity.status = named_in(text_in(object, "status"), activity_states).value_or(ActivityStatus::open);
  activity.code = number_in<std::int32_t>(object, "code");
  activity.effect = named_in(text_in(object, "effect"), effects).value_or(Effect::none);
  activity.opened_at = time_in(object, "opened_at");
  activity.closed_at = time_in(object, "closed_at");
  activity.input = payload_in(object, "input");
  activity.input_sure = truth_in(object, "input_sure");
  activity.output = payload_in(object, "output");
  activity.carried = truth_in(object, "carried");
  activity.child = text_in(object, "child");
  activity.plane = number_in<std::uint32_t>(object, "plane");
  if (const json::value* parent = object.if_contains("parent"); parent != nullptr && parent->is_number())
    activity.parent = number_in<std::uint32_t>(object, "parent");
  if (const json::object* wait = object_in(object, "waits_for")) activity.waits_for = read_wait(*wait);
  if (const json::object* work = object_in(object, "work")) activity.work = read_attempts(*work);
  if (const json::object* refused = object_in(object, "refused"))
    activity.refused = RefusedView{number_in<std::int32_t>(*refused, "code"), truth_in(*refused, "error"),
                                   payload_in(*refused, "data")};
  each_in(object, "attempts", [&](const json::value& one) {
    if (!one.is_object()) return;
    const json::object& attempt = one.get_object();
    activity.attempts.push_back(
        {time_in(attempt, "at"), number_in<std::int32_t>(attempt, "code"), text_in(attempt, "error")});
  });
  each_in(object, "messages", [&](const json::value& one) {
    if (one.is_object())
      activity.messages.push_back({text_in(one.get_object(), "ledger"), text_in(one.get_object(), "explanation")});
  });
  return activity;
}

std::optional<double> some_number(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return number_in<double>(object, name);
}

}  // namespace

Instant read_time(std::string_view at) {
  std::tm parts{};
  int milliseconds = 0;
  const std::string copy(at);
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
                  &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &milliseconds) < 6)
    return {};
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return Instant::from_micros(std::int64_t{timegm(&parts)} * 1'000'000 + std::int64_t{milliseconds} * 1000);
}

JobView read_job(const json::object& object) {
  JobView job;
  job.name_space = Namespace(text_in(object, "namespace"));
  job.id = JobId(text_in(object, "id"));
  job.run = run_in(object);
  job.graph = GraphName(text_in(object, "graph"));
  job.version = number_in<std::uint32_t>(object, "version");
  job.status = named_in(text_in(object, "status"), job_states).value_or(JobStatus::running);
  job.semaphore = number_in<std::int64_t>(object, "semaphore");
  job.priority = number_in<std::int32_t>(object, "priority");
  job.created_at = time_in(object, "created_at");
  job.closed_at = time_in(object, "closed_at");
  job.deadline = time_in(object, "deadline");
  job.remove_at = time_in(object, "remove_at");
  job.redrives = number_in<std::uint32_t>(object, "redrives");
  job.code = number_in<std::int32_t>(object, "code");
  job.reason = text_in(object, "reason");
  job.data = payload_in(object, "data");
  job.result = payload_in(object, "result");
  job.cursor = text_in(object, "cursor");
  return job;
}

JobDetail read_detail(const json::object& object) {
  JobDetail detail;
  detail.job = read_job(object);
  detail.input = payload_in(object, "input");
  detail.collation_key = text_in(object, "collation_key");
  each_in(object, "activities", [&](const json::value& one) {
    if (one.is_object()) detail.activities.push_back(read_activity(one.get_object()));
  });
  each_in(object, "timers", [&](const json::value& one) {
    if (!one.is_object()) return;
    const json::object& timer = one.get_object();
    detail.timers.push_back(
        {time_in(timer, "due"), text_in(timer, "what"), text_in(timer, "activity"), text_in(timer, "address")});
  });
  each_in(object, "obstacles", [&](const json::value& one) {
    if (one.is_string()) detail.obstacles.emplace_back(one.get_string());
  });
  each_object_in(object, "earlier", [&](const json::object& one) {
    detail.earlier.push_back(
        {run_in(one), time_in(one, "ended_at"), number_in<std::int32_t>(one, "code"), text_in(one, "reason")});
  });
  return detail;
}

AppVersion read_app(const json::object& object) {
  AppVersion version{text_in(object, "app"),
                     text_in(object, "version"),
                     truth_in(object, "active"),
                     time_in(object, "deployed_at"),
                     {}};
  each_in(object, "topics", [&](const json::value& one) {
    if (one.is_string()) version.topics.emplace_back(one.get_string());
  });
  return version;
}

Announcement read_announcement(const json::object& object) {
  Announcement said;
  said.cursor = text_in(object, "cursor");
  said.topic = text_in(object, "topic");
  said.name_space = Namespace(text_in(object, "namespace"));
  said.job = JobId(text_in(object, "job"));
  said.run = run_in(object);
  said.end = truth_in(object, "end");
  said.error = truth_in(object, "error");
  said.code = number_in<std::int32_t>(object, "code");
  said.at = time_in(object, "at");
  said.data = payload_in(object, "data");
  return said;
}

MeasureView read_measure(const json::object& object) {
  MeasureView measure;
  measure.key = text_in(object, "key");
  measure.slice = text_in(object, "slice");
  measure.target = text_in(object, "target");
  measure.count = number_in<std::uint64_t>(object, "count");
  measure.sum = some_number(object, "sum");
  measure.least = some_number(object, "min");
  measure.most = some_number(object, "max");
  measure.median = some_number(object, "mdn");
  if (const json::object* values = object_in(object, "values"))
    for (const auto& one : *values)
      if (one.value().is_int64())
        measure.values.emplace_back(std::string(one.key()), static_cast<std::uint64_t>(one.value().get_int64()));
  return measure;
}

Event read_event(const json::object& object) {
  Event event;
  event.kind = named_in(text_in(object, "kind"), event_kinds).value_or(Event::Kind::job_started);
  event.job = JobId(text_in(object, "job"));
  event.run = run_in(object);
  event.name_space = Namespace(text_in(object, "namespace"));
  event.graph = GraphName(text_in(object, "graph"));
  event.activity = ActivityName(text_in(object, "activity"));
  event.activity_kind = named_in(text_in(object, "activity_kind"), activity_kinds);
  event.address = text_in(object, "address");
  event.code = number_in<std::int32_t>(object, "code");
  event.at = time_in(object, "at");
  event.output = payload_in(object, "output");
  if (const json::object* wait = object_in(object, "waits_for")) event.waits_for = read_wait(*wait);
  return event;
}

detail::WorkFacts read_work(const json::object& object) {
  detail::WorkFacts facts;
  facts.topic = Topic(text_in(object, "topic"));
  facts.run = run_in(object);
  facts.key = text_in(object, "key");
  facts.token = text_in(object, "token");
  facts.attempt = number_in<std::uint32_t>(object, "attempt");
  facts.input = payload_in(object, "input");
  facts.progress = payload_in(object, "progress");
  if (const auto trace = read_trace(text_in(object, "traceparent"), text_in(object, "tracestate")))
    facts.trace = trace->text();
  return facts;
}

}  // namespace pawl::serve
