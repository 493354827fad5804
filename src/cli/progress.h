// Progress: the events of a store, one line each, on the standard error. Any thread may call it.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "cli/terminal.h"
#include "pawl/runtime.h"

namespace pawl::cli {

class Progress {
 public:
  enum class Volume { lines, quiet };
  Progress(Paint paint, Volume volume) : paint_(paint), volume_(volume) {}

  // Events of every other job show its name.
  void follow(const std::string& job);
  void show(const Event& event);
  void say(const std::string& line);                                   // unless quiet
  void warn(const std::string& line);                                  // always
  void command_says(const std::string& topic, std::string_view line);  // the standard error of a worker's command
  const Paint& paint() const { return paint_; }

 private:
  void print(const std::string& line);

  const Paint paint_;
  const Volume volume_;
  std::mutex mutex_;
  std::string job_;  // guarded by mutex_
};

// 12:00:31, with the date when it is another day; UTC, like all times of pawl.
std::string clock_text(Instant at);
// "waits for signal order.approved ["order-17"] until 12:00:31"; empty when there is nothing to show.
std::string wait_text(const WaitView& wait, std::optional<ActivityKind> kind);

}  // namespace pawl::cli
