// ClockWatch: reports when the machine's wall clock was set, or when the machine wakes after it was suspended, and
// costs nothing until then. Without it a timer would be checked only when its remaining time has elapsed.
// Threads: has one thread, which ends with this object.
#pragma once

#include <functional>
#include <memory>
#include <thread>

namespace pawl::runtime {

class ClockWatch {
 public:
  // Null: the system has no descriptor or thread for it. Then a jump of the clock is noticed at the next wake-up.
  static std::unique_ptr<ClockWatch> start(std::function<void()> on_set);
  ClockWatch(const ClockWatch&) = delete;
  ClockWatch& operator=(const ClockWatch&) = delete;
  ~ClockWatch();

 private:
  ClockWatch(int timer, int stop, std::function<void()> on_set);
  bool arm() const;
  void serve();

  const int timer_;  // a timerfd that is cancelled when the clock is set
  const int stop_;   // an eventfd
  const std::function<void()> on_set_;
  std::thread thread_;
};

}  // namespace pawl::runtime
