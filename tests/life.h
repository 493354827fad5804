// What the tests of an activity's whole life share: one-step graphs with a policy, waits for a condition, and the
// journal in which a worker records each effect.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "testing.h"

namespace pawl::testing {

// Polls: the condition comes true in milliseconds, or never.
inline bool comes_true(const std::function<bool()>& condition, Duration at_most = 20s) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

// "step": a trigger and one activity "act" on topic "work"; `set` gives it its policy.
inline AppText step_graph(const std::function<void(GraphBuilder&)>& set = {}) {
  GraphBuilder builder("step");
  builder.trigger("t").worker("act", "work").after("t");
  if (set) set(builder);
  auto graph = builder.build();
  if (!graph) ADD_FAILURE() << to_string(graph.error());
  return std::move(*graph);
}

// Opened, with that graph deployed and "work" served unless there is no worker; not started.
inline std::unique_ptr<Runtime> open_with(RuntimeOptions options, const AppSource& graph, Worker worker) {
  auto opened = pawl::open(std::move(options));
  if (!opened) {
    ADD_FAILURE() << to_string(opened.error());
    return nullptr;
  }
  EXPECT_TRUE(opened->deploy(graph).ok());
  if (worker) {
    EXPECT_TRUE(opened->serve("work", std::move(worker)).ok());
  }
  return std::make_unique<Runtime>(std::move(*opened));
}

inline std::unique_ptr<Runtime> start_with(RuntimeOptions options, const AppSource& graph, Worker worker) {
  auto runtime = open_with(std::move(options), graph, std::move(worker));
  if (runtime) {
    EXPECT_TRUE(runtime->launch().ok());
  }
  return runtime;
}

inline RunId submit_step(Runtime& runtime, const std::string& id = "j", Payload input = "x") {
  const auto job = runtime.start("step", Payload(std::move(input)), {.id = id});
  EXPECT_TRUE(job.ok()) << to_string(job.error());
  return job ? job->run() : RunId(0);
}

inline JobView end_of(Runtime& runtime, RunId run) {
  auto end = runtime.job(run).wait(30s);
  EXPECT_TRUE(end.ok()) << to_string(end.error());
  return end ? std::move(*end) : JobView{};
}

// The current state of the activity "act".
inline ActivityView act_of(Runtime& runtime, RunId run) {
  const auto detail = runtime.job(run).inspect();
  if (!detail) return {};
  for (const ActivityView& activity : detail->activities)
    if (activity.name.raw() == "act") return activity;
  return {};
}

inline JobStatus status_of(Runtime& runtime, RunId run) {
  const auto detail = runtime.job(run).inspect();
  EXPECT_TRUE(detail.ok());
  return detail ? detail->job.status : JobStatus::running;
}

inline bool has_effect(Runtime& runtime, RunId run, Effect effect) {
  return comes_true([&] { return act_of(runtime, run).effect == effect; });
}

// Workers wait here until it opens.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;  // guarded by mutex_
};

// Events, in order. Any thread may call it.
class Notes {
 public:
  void add(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }
  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  std::size_t size() const { return all().size(); }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;  // guarded by mutex_
};

// The outside world: a line for each effect. It survives the death of its writer.
inline void write_line(const std::string& path, const std::string& line) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0644);
  const std::string text = line + "\n";
  if (file < 0 || ::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
  ::close(file);
}

inline std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace pawl::testing
