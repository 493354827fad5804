#include "cli/job_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/utf8.h"
#include "cli/job_tree.h"
#include "cli/progress.h"
#include "serve/job_json.h"

namespace pawl::cli {

namespace {

constexpr std::size_t report_bytes_max = 400;
constexpr std::size_t label_columns_max = 48;

std::string shown(const Payload& payload, const ReportOptions& options) {
  std::string text = printable(options.full ? payload.view() : cut_utf8(payload.view(), report_bytes_max));
  if (!options.full && payload.size() > report_bytes_max) text += fmt::format(" ... ({} bytes)", payload.size());
  return text;
}

// What keeps it from going on, or why it ended: the first thing to know.
std::string why(const JobDetail& detail, const ReportOptions& options, const Paint& paint) {
  std::string text;
  const JobView& job = detail.job;
  if (!job.reason.empty())
    text += fmt::format("  {}  {}\n", job.closed() ? "why     " : "stopped ", paint(Ink::red, printable(job.reason)));
  for (const ActivityView& activity : detail.activities)
    if (activity.refused)
      text += fmt::format("  refused   {} {}\n", activity.name.raw(),
                          paint(Ink::red, fmt::format("answered with code {}: {}", activity.refused->code,
                                                      shown(activity.refused->data, options))));
  for (const std::string& obstacle : detail.obstacles)
    text += fmt::format("  stuck     {}\n", paint(Ink::red, printable(obstacle)));
  return text;
}

std::string work_text(const ActivityView& activity, const ReportOptions& options) {
  const WorkView& work = *activity.work;
  std::string text = activity.effect == Effect::unknown ? "it is unknown whether it acted (pawl settle)"
                     : work.token.empty()               ? "a worker"
                     : work.worker.empty()              ? "its worker"
                                                        : fmt::format("worker {}", printable(work.worker));
  if (activity.waits_for && !activity.waits_for->topic.empty() && work.token.empty())
    text += fmt::format(" of {}", activity.waits_for->topic);
  if (work.attempts > 0) text += fmt::format(", attempt {}", work.attempts);
  if (work.held) text += ", held";
  if (work.next_try_at > options.now)
    text += fmt::format(", next attempt in {}", age_text(work.next_try_at - options.now));
  if (work.attempt_by != Instant()) text += fmt::format(", answer by {}", time_text(work.attempt_by));
  if (work.deadline != Instant()) text += fmt::format(", all over by {}", time_text(work.deadline));
  return text;
}

std::string waits(const JobDetail& detail, const ReportOptions& options, const Paint& paint) {
  constexpr std::size_t lines_max = 10;
  std::string text;
  std::size_t lines = 0;
  for (const ActivityView& activity : detail.activities) {
    if (!activity.open() || (!activity.work && !activity.waits_for)) continue;
    if (detail.job.closed()) break;
    std::string what = activity.work ? work_text(activity, options) : wait_text(*activity.waits_for, activity.kind);
    if (what.empty()) continue;
    if (++lines > lines_max && !options.full) continue;
    text += fmt::format("  waits     {}: {}\n", activity.name.raw(), paint(Ink::yellow, what));
    if (activity.work && activity.work->failures > 0)
      text += fmt::format("            {}\n",
                          paint(Ink::red, fmt::format("{} failed, the last with code {}: {}",
                                                      counted(activity.work->failures, "attempt"),
                                                      activity.work->failure_code, printable(activity.work->failure))));
    if (activity.work && !activity.work->token.empty())
      text += fmt::format("            {}\n", paint(Ink::dim, "token " + activity.work->token));
    if (activity.work && !activity.work->progress.empty())
      text += fmt::format("            progress {}\n", shown(activity.work->progress, options));
  }
  if (lines > lines_max && !options.full) text += fmt::format("            and {} more\n", lines - lines_max);
  return text;
}

std::string next_step(const JobDetail& detail) {
  const std::string id = detail.job.id.raw();
  switch (detail.job.status) {
    case JobStatus::failed:
      return fmt::format("pawl redrive {} goes on from what failed; pawl rerun {} starts it again", id, id);
    case JobStatus::parked: {
      for (const ActivityView& activity : detail.activities)
        if (activity.refused)
          return fmt::format("pawl redrive {} asks the worker again; with --answer JSON that is taken instead", id);
      return fmt::format("pawl redrive {} lets it go on", id);
    }
    case JobStatus::paused:
      return fmt::format("pawl resume {} lets it go on", id);
    default:
      return "";
  }
}

Ink ink_of_activity(const ActivityView& activity) {
  if (activity.errored()) return Ink::red;
  if (activity.status == ActivityStatus::skipped || activity.status == ActivityStatus::cancelled) return Ink::dim;
  return activity.open() ? Ink::yellow : Ink::green;
}

// The last ones that failed, below the line of their activity; with --full all that are kept.
std::string attempts_of(const ActivityView& activity, std::size_t column, const ReportOptions& options,
                        const Paint& paint) {
  constexpr std::size_t shown_max = 3;
  const std::size_t count = activity.attempts.size();
  const std::size_t first = options.full || count <= shown_max ? 0 : count - shown_max;
  std::string text;
  if (first > 0)
    text += fmt::format("  {:{}}{}\n", "", column, paint(Ink::dim, counted(first, "attempt") + " failed before"));
  for (std::size_t i = first; i < count; ++i) {
    const AttemptView& attempt = activity.attempts[i];
    text += fmt::format("  {:{}}{} {}\n", "", column, paint(Ink::dim, time_text(attempt.at)),
                        paint(Ink::red, fmt::format("failed {}: {}", attempt.code, printable(attempt.error))));
  }
  return text;
}

std::string line_of(const TreeLine& line, const JobDetail& detail, std::size_t width, const ReportOptions& options,
                    const Paint& paint) {
  const std::string edge(2 * line.depth, ' ');
  if (!line.activity) return fmt::format("  {}{}\n", edge, paint(Ink::dim, line.words));
  const ActivityView& activity = detail.activities[*line.activity];
  std::string label = edge + activity.name.raw();
  if (line.plane) label += fmt::format(" {}", line.words);
  const std::size_t columns = std::min(width, label_columns_max);
  if (label.size() < columns) label.resize(columns, ' ');
  std::string text = fmt::format(
      "  {}  {}", label,
      paint(ink_of_activity(activity),
            fmt::format("{:<10}", fmt::format("{}{}", name_of(activity.status),
                                              activity.errored() ? fmt::format(" {}", activity.code) : ""))));
  const Instant end = activity.closed_at != Instant() ? activity.closed_at : options.now;
  if (activity.opened_at != Instant() && activity.parent)
    text += fmt::format(" {:>10}", activity.carried ? "earlier" : age_text(end - activity.opened_at));
  else
    text += fmt::format(" {:>10}", "");
  if (!activity.child.empty()) text += fmt::format("  job {}", printable(activity.child));
  if (!activity.output.empty() && activity.output.view() != "{}") text += "  " + shown(activity.output, options);
  return text + "\n" + attempts_of(activity, columns + 2, options, paint);
}

std::string tree(const JobDetail& detail, const ReportOptions& options, const Paint& paint) {
  const std::vector<TreeLine> lines = tree_of(detail, options.full);
  std::size_t width = 8;
  for (const TreeLine& line : lines)
    if (line.activity)
      width = std::max(width, 2 * line.depth + detail.activities[*line.activity].name.raw().size() +
                                  (line.plane ? line.words.size() + 1 : 0));
  std::string text;
  for (const TreeLine& line : lines) text += line_of(line, detail, width, options, paint);
  return text;
}

std::string ledgers(const JobDetail& detail, const Paint& paint) {
  std::size_t width = 8;
  const auto label = [](const ActivityView& activity) { return activity.name.raw() + " " + activity.address; };
  for (const ActivityView& activity : detail.activities) width = std::max(width, label(activity).size());
  width = std::min(width, label_columns_max);
  std::string text;
  for (const ActivityView& activity : detail.activities) {
    const std::string kind = activity.kind ? fmt::format("{} ", name_of(*activity.kind)) : "";
    text += fmt::format("  {:<{}}  {}  {}{}{}: {}\n", label(activity), width, paint(Ink::bold, activity.ledger), kind,
                        paint(ink_of_activity(activity), name_of(activity.status)),
                        activity.code != 0 ? fmt::format(" {}", activity.code) : "", activity.explanation);
    for (const MessageView& message : activity.messages)
      text += fmt::format("  {:<{}}  {}  {}\n", "", width, paint(Ink::dim, message.ledger),
                          paint(Ink::dim, message.explanation));
  }
  text += fmt::format("\nsemaphore {}", detail.job.semaphore);
  if (!detail.collation_key.empty()) text += fmt::format(", collation key {}", detail.collation_key);
  return text + "\n";
}

std::string head(const JobDetail& detail, const ReportOptions& options, const Paint& paint) {
  const JobView& job = detail.job;
  std::string text =
      fmt::format("{}  {}", paint(Ink::bold, printable(job.id.raw())), paint(ink_of(job.status), name_of(job.status)));
  if (job.code != 0) text += paint(ink_of(job.status), fmt::format(" {}", job.code));
  text += job.closed() ? fmt::format(" after {}", age_text(job.closed_at - job.created_at))
                       : fmt::format(" for {}", age_text(options.now - job.created_at));
  text += fmt::format(
      "  {}\n",
      paint(Ink::dim,
            fmt::format("{} version {}, made {}{}", job.graph.raw(), printable(options.version),
                        time_text(job.created_at),
                        job.redrives > 0 ? fmt::format(", redriven {}", counted(job.redrives, "time")) : "")));
  return text;
}

}  // namespace

Ink ink_of(JobStatus status) {
  if (status == JobStatus::completed) return Ink::green;
  return status == JobStatus::running || status == JobStatus::paused ? Ink::yellow : Ink::red;
}

std::string age_text(Duration time) {
  const std::int64_t milliseconds = std::max<std::int64_t>(time.count(), 0) / 1000;
  const std::int64_t seconds = milliseconds / 1000;
  if (milliseconds < 1000) return fmt::format("{} ms", milliseconds);
  if (seconds < 60) return fmt::format("{}.{} s", seconds, milliseconds % 1000 / 100);
  if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  if (seconds < 86400) return fmt::format("{} h {} min", seconds / 3600, seconds % 3600 / 60);
  return fmt::format("{} d {} h", seconds / 86400, seconds % 86400 / 3600);
}

std::string job_report(const JobDetail& detail, const ReportOptions& options, const Paint& paint) {
  const JobView& job = detail.job;
  std::string text = head(detail, options, paint);
  text += why(detail, options, paint);
  text += waits(detail, options, paint);
  for (const EarlierRunView& run : detail.earlier)
    text += fmt::format("  earlier   {}\n",
                        paint(Ink::dim, fmt::format("failed {} with code {}: {}", time_text(run.ended_at), run.code,
                                                    printable(run.reason))));
  if (const std::string step = next_step(detail); !step.empty()) text += fmt::format("  next      {}\n", step);
  if (!detail.input.empty()) text += fmt::format("  input     {}\n", shown(detail.input, options));
  if (!job.data.empty())
    text += fmt::format("  data      {}\n", shown(job.data, options));
  else if (!job.result.empty())
    text += fmt::format("  result    {}\n", shown(job.result, options));
  for (const TimerView& timer : detail.timers)
    if (timer.activity.empty()) text += fmt::format("  {:<8}  {}\n", timer.what, time_text(timer.due));
  if (!detail.activities.empty()) text += "\n" + tree(detail, options, paint);
  if (options.ledger)
    text += fmt::format("\n{} (activity in bold, each message below it)\n{}", paint(Ink::bold, "Ledgers"),
                        ledgers(detail, paint));
  return text;
}

}  // namespace pawl::cli
