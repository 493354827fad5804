#include "cli/job_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/json.hpp>

namespace pawl::cli {

namespace {

namespace json = boost::json;

json::value value_of(const Payload& payload) {
  if (payload.empty()) return nullptr;
  json::error_code error;
  json::value parsed = json::parse({payload.view().data(), payload.size()}, error);
  if (!error) return parsed;
  return json::string(payload.view());
}

json::value time_of(Instant at) {
  if (at == Instant()) return nullptr;
  return json::string(time_text(at));
}

json::object object_of(const JobView& job) {
  return {{"namespace", job.name_space.raw()},
          {"id", job.id.raw()},
          {"run", job.run.raw()},
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
          {"reason", job.reason},
          {"result", value_of(job.result)}};
}

json::object object_of(const WorkView& work) {
  return {{"token", work.token},
          {"worker", work.worker},
          {"runs", work.runs},
          {"failures", work.failures},
          {"failure_code", work.failure_code},
          {"failure", work.failure},
          {"next_try_at", time_of(work.next_try_at)},
          {"attempt_by", time_of(work.attempt_by)},
          {"deadline", time_of(work.deadline)},
          {"held", work.held},
          {"progress", value_of(work.progress)}};
}

json::object object_of(const ActivityView& activity) {
  json::array messages;
  for (const MessageView& message : activity.messages)
    messages.push_back(json::object{{"ledger", message.ledger}, {"explanation", message.explanation}});
  return {{"name", activity.name.raw()},
          {"address", activity.address},
          {"ledger", activity.ledger},
          {"explanation", activity.explanation},
          {"open", activity.open},
          {"errored", activity.errored},
          {"code", activity.code},
          {"effect", json::string(name_of(activity.effect))},
          {"opened_at", time_of(activity.opened_at)},
          {"closed_at", time_of(activity.closed_at)},
          {"output", value_of(activity.output)},
          {"work", activity.work ? json::value(object_of(*activity.work)) : json::value(nullptr)},
          {"messages", std::move(messages)}};
}

}  // namespace

std::string time_text(Instant at) {
  if (at == Instant()) return "";
  const auto seconds = at.micros() / 1'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(seconds)),
                     at.micros() % 1'000'000 / 1000);
}

std::string job_json(const JobView& job) { return json::serialize(object_of(job)); }

std::string jobs_json(const std::vector<JobView>& jobs) {
  json::array rows;
  for (const JobView& job : jobs) rows.push_back(object_of(job));
  return json::serialize(rows);
}

std::string job_json(const JobDetail& detail) {
  json::object object = object_of(detail.job);
  json::array activities;
  for (const ActivityView& activity : detail.activities) activities.push_back(object_of(activity));
  object["activities"] = std::move(activities);
  object["collation_key"] = detail.collation_key;
  return json::serialize(object);
}

}  // namespace pawl::cli
