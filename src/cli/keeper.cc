#include "cli/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "cli/offspring.h"

namespace pawl::cli {

namespace {

constexpr char all_in_order = '.';
constexpr int polite_rounds = 50;  // of 10 ms: from SIGTERM to SIGKILL, as for a command that is ended
constexpr int kill_rounds_max = 500;
constexpr int quiet_kill_rounds = 3;  // during an exec no process has a mark
constexpr int round_milliseconds = 10;

// Sends the signal to every process with the mark. Returns their number.
int signal_marked(const std::string& mark, int signal) {
  int count = 0;
  std::error_code gone;
  for (std::filesystem::directory_iterator entry("/proc", gone), none; !gone && entry != none; entry.increment(gone)) {
    const pid_t process = std::atoi(entry->path().filename().c_str());
    if (process <= 0 || process == getpid() || !is_marked(process, mark).value_or(false)) continue;
    if (kill(process, signal) == 0) ++count;
  }
  return count;
}

[[noreturn]] void keep(int line, const std::string& mark) {
  setsid();  // Ctrl-C is for pawl
  prctl(PR_SET_NAME, "pawl-keeper");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);  // it ends when pawl has ended
  // Readers must not wait for the end of an output that only the keeper holds open.
  dup2(line, STDIN_FILENO);
  const int nothing = ::open("/dev/null", O_WRONLY);
  dup2(nothing, STDOUT_FILENO);
  dup2(nothing, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  if (chdir("/") != 0) _exit(1);
  char word = 0;
  ssize_t count = 0;
  do count = read(STDIN_FILENO, &word, 1);
  while (count < 0 && errno == EINTR);
  if (count == 1 && word == all_in_order) _exit(0);
  signal_marked(mark, SIGTERM);
  for (int round = 0, quiet = 0; round < kill_rounds_max && quiet < quiet_kill_rounds; ++round) {
    poll(nullptr, 0, round_milliseconds);
    const bool some = signal_marked(mark, round < polite_rounds ? 0 : SIGKILL) > 0;
    quiet = some ? 0 : quiet + 1;
  }
  _exit(0);
}

}  // namespace

Keeper::Keeper() {
  int ends[2];
  // Not a pipe: writing to a killed keeper must not raise a signal.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  const std::string mark = Offspring::ours().owner_mark();
  process_ = fork();
  if (process_ == 0) {
    close(ends[1]);
    keep(ends[0], mark);
  }
  close(ends[0]);
  line_ = ends[1];
  if (process_ > 0) Offspring::ours().spare(process_);
}

Keeper::~Keeper() {
  if (line_ >= 0) {
    [[maybe_unused]] const ssize_t told = send(line_, &all_in_order, 1, MSG_NOSIGNAL);
    close(line_);
  }
  if (process_ > 0) waitpid(process_, nullptr, 0);
}

}  // namespace pawl::cli
