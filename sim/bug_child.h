// Hunts a seeded bug in a child process: a bug may end the process (an invariant) or hang it.
#pragma once

#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <string>

#include "base/format.h"
#include "base/seeded_bug.h"

namespace pawl::sim {

inline constexpr unsigned seconds_max = 120;  // of processor time, so that a busy machine does not matter

struct Catch {
  std::string by;  // empty: nothing was found
  std::string how;
};

inline Catch hunt_in_child(SeededBug bug, const std::function<Catch()>& hunt) {
  int ends[2];
  if (pipe(ends) != 0) return {"no pipe", ""};
  const pid_t child = fork();
  if (child == 0) {
    const itimerval limit{{}, {seconds_max, 0}};
    if (setitimer(ITIMER_PROF, &limit, nullptr) != 0) _exit(3);
    active_seeded_bug = bug;
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(3);
    const Catch found = hunt();
    const std::string text = found.by + "\n" + found.how.substr(0, 300);
    const bool written = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(written ? 0 : 3);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) == SIGABRT) return {"invariant", "the process stopped itself"};
    if (WTERMSIG(status) == SIGPROF) return {"watchdog", "the run did not end"};
    return {format("signal {}", WTERMSIG(status)), ""};
  }
  const auto line = text.find('\n');
  return {text.substr(0, line), line == std::string::npos ? "" : text.substr(line + 1)};
}

}  // namespace pawl::sim
