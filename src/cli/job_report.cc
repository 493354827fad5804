#include "cli/job_report.h"

#include "base/utf8.h"
#include "cli/job_json.h"
#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pawl::cli {

namespace {

constexpr int bar_columns = 44;

Ink ink_of(const ActivityView& activity) {
  if (activity.errored()) return Ink::red;
  if (activity.status == ActivityStatus::skipped || activity.status == ActivityStatus::cancelled) return Ink::dim;
  return activity.open() ? Ink::yellow : Ink::green;
}

std::string label_of(const ActivityView& activity) {
  return fmt::format("{} {}", activity.name.raw(), activity.address);
}

std::size_t label_width(const JobDetail& detail) {
  std::size_t width = 8;
  for (const ActivityView& activity : detail.activities) width = std::max(width, label_of(activity).size());
  return width;
}

double milliseconds(Duration duration) { return static_cast<double>(duration.count()) / 1000.0; }

std::string timeline(const JobDetail& detail, const Paint& paint) {
  Instant end = detail.job.closed() ? detail.job.closed_at : detail.job.created_at;
  for (const ActivityView& activity : detail.activities) end = std::max({end, activity.opened_at, activity.closed_at});
  const Instant begin = detail.job.created_at;
  const double span = std::max(1.0, static_cast<double>((end - begin).count()));
  const auto column = [&](Instant at) {
    return std::clamp(static_cast<int>(static_cast<double>((at - begin).count()) / span * bar_columns), 0, bar_columns);
  };
  std::string text;
  for (const ActivityView& activity : detail.activities) {
    const Instant until = activity.open() ? end : activity.closed_at;
    const int from = std::min(column(activity.opened_at), bar_columns - 1);
    const int length = std::max(1, column(until) - from);
    std::string bar;
    for (int i = 0; i < length; ++i) bar += "█";
    text += fmt::format("  {:<{}}  {}{}{}  {:>9.2f} ms\n", label_of(activity), label_width(detail),
                        std::string(static_cast<std::size_t>(from), ' '), paint(ink_of(activity), bar),
                        std::string(static_cast<std::size_t>(std::max(0, bar_columns - from - length)), ' '),
                        milliseconds(until - activity.opened_at));
  }
  return text;
}

std::string ledgers(const JobDetail& detail, const Paint& paint) {
  std::string text;
  const std::size_t width = label_width(detail);
  for (const ActivityView& activity : detail.activities) {
    const std::string kind = activity.kind ? fmt::format("{} ", name_of(*activity.kind)) : "";
    text += fmt::format("  {:<{}}  {}  {}{}{}: {}\n", label_of(activity), width, paint(Ink::bold, activity.ledger),
                        kind, paint(ink_of(activity), name_of(activity.status)),
                        activity.code != 0 ? fmt::format(" {}", activity.code) : "", activity.explanation);
    for (const MessageView& message : activity.messages)
      text += fmt::format("  {:<{}}  {}  {}\n", "", width, paint(Ink::dim, message.ledger),
                          paint(Ink::dim, message.explanation));
  }
  return text;
}

// What open activities wait for, except work: a line each.
std::string waits(const JobDetail& detail, const Paint& paint) {
  std::string text;
  for (const ActivityView& activity : detail.activities) {
    if (!activity.waits_for || activity.work) continue;
    const std::string what = wait_text(*activity.waits_for, activity.kind);
    if (!what.empty())
      text += fmt::format("  {:<{}}  {}\n", label_of(activity), label_width(detail), paint(Ink::yellow, what));
  }
  return text;
}

// The jobs that it started.
std::string children(const JobDetail& detail) {
  std::string text;
  for (const ActivityView& activity : detail.activities)
    if (!activity.child.empty())
      text += fmt::format("  {:<{}}  {}\n", label_of(activity), label_width(detail), activity.child);
  return text;
}

// Requests that wait for, or are with, a worker: a line each.
std::string work_lines(const JobDetail& detail, const Paint& paint) {
  std::string text;
  for (const ActivityView& activity : detail.activities) {
    if (!activity.work) continue;
    const WorkView& work = *activity.work;
    std::string line =
        fmt::format("  {:<{}}  {}", label_of(activity), label_width(detail),
                    paint(activity.effect == Effect::unknown ? Ink::red : Ink::yellow, name_of(activity.effect)));
    if (work.attempts > 0) line += fmt::format(", attempt {}", work.attempts);
    if (!work.worker.empty()) line += fmt::format(" by {}", printable(work.worker));
    if (!work.token.empty()) line += fmt::format(", token {}", work.token);
    if (work.held) line += ", held";
    if (work.next_try_at != Instant()) line += fmt::format(", next try {}", time_text(work.next_try_at));
    if (work.attempt_by != Instant()) line += fmt::format(", answer by {}", time_text(work.attempt_by));
    if (work.deadline != Instant()) line += fmt::format(", all over by {}", time_text(work.deadline));
    text += line + "\n";
    if (work.failures > 0)
      text += fmt::format("  {:<{}}  {}\n", "", label_width(detail),
                          paint(Ink::red, fmt::format("{} failed, the last with code {}: {}", work.failures,
                                                      work.failure_code, printable(work.failure))));
    if (activity.refused)
      text += fmt::format("  {:<{}}  {}\n", "", label_width(detail),
                          paint(Ink::red, fmt::format("refused its answer (code {}), asks again when redriven: {}",
                                                      activity.refused->code, activity.refused->data.view())));
    if (!work.progress.empty())
      text += fmt::format("  {:<{}}  progress {}\n", "", label_width(detail), printable(work.progress.view()));
  }
  return text;
}

}  // namespace

Ink ink_of(JobStatus status) {
  if (status == JobStatus::completed) return Ink::green;
  return status == JobStatus::running || status == JobStatus::paused ? Ink::yellow : Ink::red;
}

std::string job_report(const JobDetail& detail, const Paint& paint) {
  const JobView& job = detail.job;
  std::string text =
      fmt::format("{} {} {}", paint(Ink::bold, job.id.raw()), paint(ink_of(job.status), name_of(job.status)),
                  job.closed() ? fmt::format("in {:.2f} ms", milliseconds(job.closed_at - job.created_at)) : "");
  text += fmt::format(", graph {} version {}, semaphore {}\n", job.graph.raw(), job.version, job.semaphore);
  if (!job.reason.empty()) text += fmt::format("  {}\n", paint(Ink::red, printable(job.reason)));
  for (const std::string& obstacle : detail.obstacles)
    text += fmt::format("  {}\n", paint(Ink::red, printable(obstacle)));
  if (!job.data.empty())
    text += fmt::format("  data {}\n", printable(job.data.view()));
  else if (!job.result.empty())
    text += fmt::format("  result {}\n", printable(job.result.view()));
  text += fmt::format("\n{}\n{}", paint(Ink::bold, "Timeline"), timeline(detail, paint));
  text += fmt::format("\n{} (activity in bold, each message below it)\n{}", paint(Ink::bold, "Ledgers"),
                      ledgers(detail, paint));
  const std::pair<const char*, std::string> sections[] = {
      {"Work", work_lines(detail, paint)}, {"Waits", waits(detail, paint)}, {"Jobs that it started", children(detail)}};
  for (const auto& [title, lines] : sections)
    if (!lines.empty()) text += fmt::format("\n{}\n{}", paint(Ink::bold, title), lines);
  if (!detail.collation_key.empty())
    text += fmt::format("\n{} {}\n", paint(Ink::bold, "Collation key"), detail.collation_key);
  return text;
}

}  // namespace pawl::cli
