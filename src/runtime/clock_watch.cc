#include "runtime/clock_watch.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <system_error>
#include <utility>

namespace pawl::runtime {

std::unique_ptr<ClockWatch> ClockWatch::start(std::function<void()> on_set) {
  const int timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  const int stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::unique_ptr<ClockWatch> watch(new ClockWatch(timer, stop, std::move(on_set)));
  if (timer < 0 || stop < 0 || !watch->arm()) return nullptr;
  try {
    watch->thread_ = std::thread([raw = watch.get()] { raw->serve(); });
  } catch (const std::system_error&) {
    return nullptr;
  }
  return watch;
}

ClockWatch::ClockWatch(int timer, int stop, std::function<void()> on_set)
    : timer_(timer), stop_(stop), on_set_(std::move(on_set)) {}

ClockWatch::~ClockWatch() {
  if (thread_.joinable()) {
    eventfd_write(stop_, 1);
    thread_.join();
  }
  if (timer_ >= 0) close(timer_);
  if (stop_ >= 0) close(stop_);
}

// It never expires: it is only cancelled.
bool ClockWatch::arm() const {
  itimerspec never{};
  never.it_value.tv_sec = std::time(nullptr) + std::time_t{3600} * 24 * 365 * 100;
  return timerfd_settime(timer_, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, nullptr) == 0;
}

void ClockWatch::serve() {
  pthread_setname_np(pthread_self(), "pawl-clock");
  pollfd waiting[] = {{timer_, POLLIN, 0}, {stop_, POLLIN, 0}};
  while (true) {
    if (poll(waiting, 2, -1) < 0 && errno != EINTR) return;
    if (waiting[1].revents != 0) return;
    std::uint64_t fired = 0;
    if (read(timer_, &fired, sizeof fired) < 0 && errno == EAGAIN) continue;
    if (!arm()) return;
    on_set_();
  }
}

}  // namespace pawl::runtime
