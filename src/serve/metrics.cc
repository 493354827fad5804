#include "serve/metrics.h"

#include <algorithm>

#include "base/format.h"
#include "serve/job_json.h"
#include "serve/limits.h"

namespace pawl::serve {

std::string label_text(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '"' || c == '\\') text.push_back('\\');
    text += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return text;
}

void Metrics::served(std::string_view method, std::string_view pattern, int status, std::chrono::microseconds took) {
  // The client chooses its method: what no route has is counted together, or it could make labels without end.
  constexpr std::array methods{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
  const bool known = std::find(methods.begin(), methods.end(), method) != methods.end();
  const std::string route = format("{} {}", known ? method : "(other)", pattern);
  const double seconds = static_cast<double>(took.count()) / 1e6;
  const std::lock_guard lock(mutex_);
  ++answers_[{route, status}];
  Times& times = times_[route];
  std::size_t at = 0;
  while (at < seconds_up_to.size() && seconds > seconds_up_to[at]) ++at;
  ++times.counts[at];
  times.sum += seconds;
}

void Metrics::heard(const Event& event) {
  const std::lock_guard lock(mutex_);
  auto found = events_.find(event.graph.raw());
  if (found == events_.end()) {
    // Too many graphs to tell apart: the rest is counted together.
    const bool full = events_.size() >= limits::graphs_measured_max;
    found = events_.try_emplace(full ? std::string("(others)") : event.graph.raw()).first;
  }
  ++found->second.at(static_cast<std::size_t>(event.kind));
}

std::string Metrics::text() const {
  std::string text =
      "# HELP pawl_http_requests_total Requests that were answered.\n# TYPE pawl_http_requests_total counter\n";
  const std::lock_guard lock(mutex_);
  for (const auto& [key, count] : answers_)
    text +=
        format("pawl_http_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", label_text(key.first), key.second, count);
  text += "# HELP pawl_http_request_seconds How long answers took.\n# TYPE pawl_http_request_seconds histogram\n";
  for (const auto& [route, times] : times_) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < times.counts.size(); ++i) {
      sum += times.counts[i];
      const std::string edge = i < seconds_up_to.size() ? format("{}", seconds_up_to[i]) : "+Inf";
      text += format("pawl_http_request_seconds_bucket{{route=\"{}\",le=\"{}\"}} {}\n", label_text(route), edge, sum);
    }
    text += format(
        "pawl_http_request_seconds_sum{{route=\"{0}\"}} {1}\npawl_http_request_seconds_count{{route=\"{0}\"}} {2}\n",
        label_text(route), times.sum, sum);
  }
  text += "# HELP pawl_events_total What happened in jobs that this process runs.\n# TYPE pawl_events_total counter\n";
  for (const auto& [graph, counts] : events_)
    for (std::size_t kind = 0; kind < counts.size(); ++kind)
      if (counts[kind] > 0)
        text += format("pawl_events_total{{graph=\"{}\",kind=\"{}\"}} {}\n", label_text(graph),
                       name_of(static_cast<Event::Kind>(kind)), counts[kind]);
  text += format(
      "# HELP pawl_http_connections Connections that are open.\n# TYPE pawl_http_connections gauge\n"
      "pawl_http_connections {}\n",
      connections_.load());
  return text;
}

}  // namespace pawl::serve
