#include "cli/job_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "serve/job_json.h"

namespace pawl::cli {

namespace {

constexpr std::size_t event_bytes_max = 160;

std::string line_of(const std::string& when, const std::string& activity, const std::string& address,
                    const std::string& what) {
  return fmt::format("{:<24}  {:<20} {:<10} {}", when, printable(activity.empty() ? "job" : activity), address, what);
}

}  // namespace

std::string history_text(const std::vector<HistoryEvent>& events, const JobDetail& detail, const Paint& paint) {
  std::string text;
  for (const HistoryEvent& event : events) {
    std::string what = event.what;
    std::replace(what.begin(), what.end(), '_', ' ');
    text += line_of(time_text(event.at), event.activity, event.address,
                    paint(event.code >= 400 ? Ink::red : Ink::plain, what));
    if (event.code != 0) text += fmt::format(" {}", event.code);
    if (!event.detail.empty()) text += " " + printable(event.detail);
    if (!event.data.empty() && event.data.view() != "{}")
      text += " " + printable(cut_utf8(event.data.view(), event_bytes_max)) +
              (event.data.size() > event_bytes_max ? " ..." : "");
    text += "\n";
  }
  const JobView& job = detail.job;
  if (!job.closed() && !job.reason.empty())  // the row does not say since when
    text += line_of("now", "", "", fmt::format("{} {}\n", paint(Ink::red, name_of(job.status)), printable(job.reason)));
  for (const TimerView& timer : detail.timers)
    text += line_of(time_text(timer.due), timer.activity, timer.address, fmt::format("will come: {}\n", timer.what));
  return text;
}

}  // namespace pawl::cli
