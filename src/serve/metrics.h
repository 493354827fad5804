// Metrics: figures for Prometheus. Counting is cheap and never waits.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "pawl/event.h"

namespace pawl::serve {

class Metrics {
 public:
  void served(std::string_view method, std::string_view pattern, int status, std::chrono::microseconds took);
  void heard(const Event& event);  // on the engine's thread
  void connections(std::int64_t change) { connections_ += change; }
  std::int64_t connections() const { return connections_; }

  // The lines of what is counted here.
  std::string text() const;

 private:
  static constexpr std::array<double, 8> seconds_up_to{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60};
  struct Times {
    std::array<std::uint64_t, seconds_up_to.size() + 1> counts{};
    double sum = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> answers_;              // by route and status; guarded by mutex_
  std::map<std::string, Times, std::less<>> times_;                           // by route; guarded by mutex_
  std::map<std::string, std::array<std::uint64_t, 11>, std::less<>> events_;  // by graph and kind; guarded by mutex_
  std::atomic<std::int64_t> connections_{0};
};

// A label's value, with what must be escaped.
std::string label_text(std::string_view value);

}  // namespace pawl::serve
