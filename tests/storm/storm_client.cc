#include "storm_client.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "storm_graphs.h"

namespace pawl::storm {

namespace {

constexpr auto look_again = std::chrono::milliseconds(100);
constexpr std::chrono::milliseconds retry_pause_first{5}, retry_pause_max{320};  // twice as long each time
constexpr std::uint64_t repeat_every = 16;  // submits whose id is used a second time, on purpose

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

}  // namespace

Client::Client(Runtime& runtime, Setup setup) : runtime_(runtime), setup_(std::move(setup)), log_(setup_.log_path) {
  for (const std::string& path : setup_.earlier_logs) read_earlier(path);
}

void Client::read_earlier(const std::string& path) {
  std::ifstream file(path);
  std::map<std::string, Known> open;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string what, id, graph, input;
    words >> what >> id;
    if (what == "submit") {
      words >> graph >> input;
      open[id] = Known{id, graph, input};
      const std::string prefix = "-" + setup_.slot + "-";
      const auto at = id.find(prefix);
      if (at != std::string::npos)
        number_ = std::max<std::uint64_t>(number_, std::stoull(id.substr(at + prefix.size())));
    } else if (what == "closed") {
      open.erase(id);
    }
  }
  for (auto& [id, known] : open) earlier_.push_back(std::move(known));
}

std::size_t Client::left() const {
  const std::lock_guard lock(mutex_);
  return earlier_.size() + following_;
}

std::optional<Client::Known> Client::next() {
  const std::lock_guard lock(mutex_);
  if (!earlier_.empty()) {
    Known known = std::move(earlier_.front());
    earlier_.pop_front();
    ++following_;
    return known;
  }
  if (!setup_.new_jobs) return std::nullopt;
  ++following_;
  const std::uint64_t number = ++number_;
  if (setup_.of_app) {
    const std::string topic = app_topics[number % std::size(app_topics)];
    const std::string id = topic.substr(topic.find('.') + 1) + "-" + setup_.slot + "-" + std::to_string(number);
    return Known{id, "tide/" + topic, "{\"word\":\"" + id + "\"}"};
  }
  const std::string graph = graph_names[number % std::size(graph_names)];
  const std::string id = graph + "-" + setup_.slot + "-" + std::to_string(number);
  return Known{id, graph, id + ":x"};
}

void Client::serve() {
  while (!stopping_) {
    const auto job = next();
    if (!job) return;
    follow(*job);
    const std::lock_guard lock(mutex_);
    --following_;
  }
}

void Client::follow(const Known& job) {
  std::optional<RunId> run;
  for (auto pause = retry_pause_first; !run; pause = std::min(2 * pause, retry_pause_max)) {
    if (stopping_) return;
    run = submit(job);
    if (!run) std::this_thread::sleep_for(pause);
  }
  const auto number = std::hash<std::string>{}(job.id);
  if (number % repeat_every == 0 && !stopping_) submit(job);
  while (!stopping_) {
    const auto end = runtime_.job(*run).wait(look_again);
    if (!end) continue;
    const bool completed = end->status == JobStatus::completed;
    log_.append("closed " + job.id + " " + std::to_string(run->raw()) + " " + std::string(name_of(end->status)) + " " +
                one_line(completed ? end->result.str() : end->reason));
    return;
  }
}

std::optional<RunId> Client::submit(const Known& job) {
  log_.append("submit " + job.id + " " + job.graph + " " + job.input);
  const auto slash = job.graph.find('/');  // for an app: its topic follows
  const std::string graph = slash == std::string::npos ? job.graph : job.graph.substr(slash + 1);
  const auto answer = runtime_.start(graph, Payload(job.input), {.id = job.id});
  if (!answer) {
    log_.append("error " + job.id + " " + one_line(to_string(answer.error())));
    return std::nullopt;
  }
  log_.append((answer->created() ? "accepted " : "exists ") + job.id + " " + std::to_string(answer->run().raw()));
  return answer->run();
}

}  // namespace pawl::storm
