#include "cli/interruption.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace pawl::cli {

namespace {

// A signal handler can only reach static storage.
std::atomic<int> signals{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may write nothing else");

void count(int) {
  if (signals.fetch_add(1) > 0) _exit(exit_code_interrupted);
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
  handle(count);
}
Interruption::~Interruption() { handle(SIG_DFL); }
bool Interruption::asked() const { return signals.load() > 0; }

}  // namespace pawl::cli
