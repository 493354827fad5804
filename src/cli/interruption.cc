#include "cli/interruption.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace pawl::cli {

namespace {

// A signal handler can only reach static storage.
std::atomic<int> signals{0};
std::atomic<int> event{-1};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may write nothing else");

void count_signal(int) {
  if (signals.fetch_add(1) > 0) _exit(exit_code_interrupted);
  const std::uint64_t one = 1;
  (void)!write(event.load(), &one, sizeof one);
}

void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

Interruption::Interruption() {
  signals.store(0);
  event.store(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  handle(count_signal);
}
Interruption::~Interruption() {
  handle(SIG_DFL);
  if (const int last = event.exchange(-1); last >= 0) close(last);
}
bool Interruption::asked() const { return signals.load() > 0; }
int Interruption::descriptor() const { return event.load(); }

}  // namespace pawl::cli
