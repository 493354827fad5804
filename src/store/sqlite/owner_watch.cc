#include "store/sqlite/owner_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/format.h"
#include "store/sqlite/limits.h"

namespace pawl::store::sqlite {

namespace {

void read_away(int events) {
  std::array<char, 4096> bytes;
  while (read(events, bytes.data(), bytes.size()) > 0) {
  }
}

}  // namespace

Result<std::unique_ptr<OwnerWatch>> OwnerWatch::start(Setup setup) {
  const int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  const int stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const bool watching =
      events >= 0 && stop >= 0 && inotify_add_watch(events, setup.lock_path.c_str(), IN_CLOSE_WRITE) >= 0;
  if (!watching) {
    const Error error{ErrorCode::retry_later, format("cannot watch {}: {}", setup.lock_path, std::strerror(errno))};
    if (events >= 0) close(events);
    if (stop >= 0) close(stop);
    return error;
  }
  std::unique_ptr<OwnerWatch> watch(new OwnerWatch(events, stop, std::move(setup)));
  try {
    watch->thread_ = std::thread([raw = watch.get()] { raw->serve(); });
  } catch (const std::system_error& error) {
    return Error{ErrorCode::retry_later,
                 format("cannot watch {}: no thread can be made: {}", watch->setup_.lock_path, error.code().message())};
  }
  return watch;
}

OwnerWatch::OwnerWatch(int events, int stop, Setup setup) : events_(events), stop_(stop), setup_(std::move(setup)) {}

OwnerWatch::~OwnerWatch() {
  eventfd_write(stop_, 1);
  if (thread_.joinable()) thread_.join();
  close(events_);
  close(stop_);
}

void OwnerWatch::serve() {
  pollfd waiting[] = {{events_, POLLIN, 0}, {stop_, POLLIN, 0}};
  // The owner may have gone between the refusal and the watch, so the first try needs no report.
  while (!take_over()) {
    if (poll(waiting, 2, -1) < 0 && errno != EINTR) return;
    if (waiting[1].revents != 0) return;
  }
  setup_.on_owned();
}

bool OwnerWatch::take_over() {
  pollfd stop{stop_, POLLIN, 0};
  auto pause = limits::owner_retry_min;
  for (int tries = 0; tries < limits::owner_retries; ++tries, pause *= 2) {
    read_away(events_);
    const auto owned = setup_.try_own();
    if (owned && *owned) return true;
    if (poll(&stop, 1, static_cast<int>(pause.count())) > 0) return false;
  }
  return false;
}

}  // namespace pawl::store::sqlite
