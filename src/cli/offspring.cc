#include "cli/offspring.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace pawl::cli {

namespace {

constexpr int rounds_max = 100;       // a killed process may have had children: this process adopts them next
constexpr int quiet_rounds = 2;       // the list of children may leave some out while others end: it is read once more
constexpr int exec_polls_max = 20;    // of a millisecond each
constexpr int death_polls_max = 200;  // of a millisecond each, until a killed process is gone

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return file ? std::string(std::istreambuf_iterator<char>(file), {}) : std::string();
}

// Children belong to the thread that created them; adopted ones to any.
std::vector<pid_t> children_of_this_process() {
  std::vector<pid_t> found;
  std::error_code gone;
  for (std::filesystem::directory_iterator thread("/proc/self/task", gone), none; !gone && thread != none;
       thread.increment(gone)) {
    std::istringstream line(text_of_file(thread->path().string() + "/children"));
    for (pid_t child = 0; line >> child;) found.push_back(child);
  }
  return found;
}

bool reap(pid_t process) { return waitpid(process, nullptr, WNOHANG) == process; }

}  // namespace

std::optional<bool> is_marked(pid_t process, std::string_view mark) {
  const std::string environment = text_of_file(fmt::format("/proc/{}/environ", process));
  if (environment.empty()) return std::nullopt;
  const std::string wanted = fmt::format("{}={}", mark_variable, mark);
  for (auto at = environment.find(wanted); at != std::string::npos; at = environment.find(wanted, at + 1))
    if (at == 0 || environment[at - 1] == '\0') return true;
  return false;
}

Offspring& Offspring::ours() {
  static Offspring offspring;
  return offspring;
}

// The system reuses process numbers: the time makes the mark unique.
Offspring::Offspring()
    : owner_mark_(fmt::format("{}-{}.", getpid(), std::chrono::system_clock::now().time_since_epoch().count())) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

std::string Offspring::next_mark() {
  const std::lock_guard lock(mutex_);
  return fmt::format("{}{};", owner_mark_, ++marks_);  // with an end mark: 1 is not the beginning of 10
}

void Offspring::spare(pid_t process) {
  const std::lock_guard lock(mutex_);
  spared_.insert(process);
}

Result<pid_t> Offspring::start(const std::function<Result<pid_t>()>& spawn) {
  const std::lock_guard lock(mutex_);
  auto started = spawn();
  if (started) commands_.insert(*started);
  return started;
}

void Offspring::end(pid_t command, std::string_view mark) {
  const std::lock_guard lock(mutex_);
  kill(-command, SIGKILL);  // before it is waited for: until then its number is not reused
  waitpid(command, nullptr, 0);
  commands_.erase(command);
  for (int round = 0, quiet = 0; round < rounds_max && quiet < quiet_rounds; ++round) {
    bool some = false;
    for (const pid_t child : children_of_this_process())
      if (!commands_.contains(child) && !spared_.contains(child)) some = end_one(child, command, mark) || some;
    quiet = some ? 0 : quiet + 1;
  }
}

// An adopted child. True: it has ended.
bool Offspring::end_one(pid_t process, pid_t command, std::string_view mark) {
  if (reap(process)) return true;
  if (getpgid(process) != command) {
    auto marked = is_marked(process, mark);
    for (int i = 0; i < exec_polls_max && !marked; ++i) {
      poll(nullptr, 0, 1);
      if (reap(process)) return true;
      marked = is_marked(process, mark);
    }
    // Without the mark it may be any process: one that existed before us, or an orphan of the container whose first
    // process we are.
    if (!marked.value_or(false)) return false;
  }
  if (kill(process, SIGKILL) != 0) return false;
  for (int i = 0; i < death_polls_max; ++i) {
    if (reap(process)) return true;
    poll(nullptr, 0, 1);
  }
  return false;
}

}  // namespace pawl::cli
