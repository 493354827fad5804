#include "serve/history.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "serve/job_json.h"

namespace pawl {

namespace {

namespace json = boost::json;

HistoryEvent event_of(const ActivityView& activity, Instant at, const char* what) {
  HistoryEvent event;
  event.at = at;
  event.what = what;
  event.activity = activity.name.raw();
  event.address = activity.address;
  return event;
}

void add_activity(std::vector<HistoryEvent>& events, const ActivityView& activity) {
  if (activity.opened_at != Instant()) {
    HistoryEvent opened = event_of(activity, activity.opened_at, "activity_opened");
    opened.data = activity.input;
    events.push_back(std::move(opened));
  }
  for (const AttemptView& attempt : activity.attempts) {
    HistoryEvent failed = event_of(activity, attempt.at, "attempt_failed");
    failed.code = attempt.code;
    failed.detail = attempt.error;
    events.push_back(std::move(failed));
  }
  if (activity.closed_at == Instant()) return;
  HistoryEvent closed = event_of(activity, activity.closed_at, "activity_closed");
  closed.code = activity.code;
  closed.detail = activity.carried ? "answered in an earlier run" : std::string(name_of(activity.status));
  closed.data = activity.output;
  events.push_back(std::move(closed));
}

}  // namespace

std::vector<HistoryEvent> history_of(const JobDetail& detail, const std::vector<Announcement>& announced,
                                     const std::string& version) {
  const JobView& job = detail.job;
  std::vector<HistoryEvent> events;
  events.push_back(
      {job.created_at, "job_started", "", "", 0, format("{} version {}", job.graph.raw(), version), detail.input});
  for (const EarlierRunView& run : detail.earlier)
    events.push_back({run.ended_at, "run_failed", "", "", run.code, run.reason, {}});
  for (const ActivityView& activity : detail.activities) add_activity(events, activity);
  for (const Announcement& one : announced)
    events.push_back({one.at, "announced", "", "", one.code, one.topic, one.data});
  if (job.closed())
    events.push_back({job.closed_at, "job_closed", "", "", job.code,
                      job.reason.empty() ? std::string(name_of(job.status)) : job.reason, job.result});
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return events;
}

json::array history_array(const std::vector<HistoryEvent>& events, HistoryData data) {
  json::array rows;
  for (const HistoryEvent& event : events) {
    json::object row{{"at", time_text(event.at)}, {"what", event.what}};
    if (!event.activity.empty()) row["activity"] = event.activity;
    if (!event.address.empty()) row["address"] = event.address;
    if (event.code != 0) row["code"] = event.code;
    if (!event.detail.empty()) row["detail"] = event.detail;
    if (data == HistoryData::show && !event.data.empty()) row["data"] = json::parse(payload_json(event.data));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace pawl
