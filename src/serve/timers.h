// Timers: calls back after a time, on one thread of its own that sleeps until then. Callbacks are quick.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "pawl/time.h"

namespace pawl::serve {

class Timers {
 public:
  using Number = std::uint64_t;
  Timers();
  ~Timers() { close(); }

  Number after(Duration time, std::function<void()> call);
  // It is not called any more, unless it is being called now.
  void cancel(Number number);
  void close();  // nothing is called any more

 private:
  using Clock = std::chrono::steady_clock;
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<Clock::time_point, Number>, std::function<void()>> calls_;  // guarded by mutex_, like the rest
  std::unordered_map<Number, Clock::time_point> times_;
  Number next_ = 1;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace pawl::serve
