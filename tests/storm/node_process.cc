#include "node_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace storm {

namespace {

using Clock = std::chrono::steady_clock;

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

std::string client_log(const std::string& dir, const std::string& slot) { return dir + "/client-" + slot + ".log"; }

std::streamoff size_of(const std::string& path) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(path, missing);
  return missing ? 0 : static_cast<std::streamoff>(size);
}

}  // namespace

NodeProcess::NodeProcess(Setup setup)
    : setup_(std::move(setup)), log_before_(size_of(client_log(setup_.dir, setup_.slot))) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  std::vector<std::string> words{setup_.program, setup_.dir, setup_.slot, std::to_string(setup_.incarnation)};
  words.insert(words.end(), setup_.flags.begin(), setup_.flags.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string errors = setup_.dir + "/problems.txt";
  pid_ = fork();
  if (pid_ < 0) std::abort();
  if (pid_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    const int log = ::open(errors.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0644);
    dup2(log, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    std::perror(arguments[0]);
    _exit(127);
  }
  close(ends[1]);
  pipe_ = ends[0];
}

NodeProcess::~NodeProcess() {
  if (pid_ > 0) kill();
  close(pipe_);
}

bool NodeProcess::wait_for(const std::string& word, std::chrono::milliseconds at_most) {
  const auto end = Clock::now() + at_most;
  while (said_.find("\n" + word + "\n") == std::string::npos) {
    pollfd waiting{pipe_, POLLIN, 0};
    if (poll(&waiting, 1, milliseconds_until(end)) <= 0) return false;
    char bytes[256];
    const ssize_t count = read(pipe_, bytes, sizeof bytes);
    if (count <= 0) return false;
    said_.append(bytes, static_cast<std::size_t>(count));
  }
  return true;
}

void NodeProcess::send(int signal) const {
  if (pid_ > 0) ::kill(pid_, signal);
}

void NodeProcess::kill() {
  send(SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int NodeProcess::wait(std::chrono::milliseconds at_most) {
  const auto end = Clock::now() + at_most;
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (milliseconds_until(end) == 0) return -1;
    usleep(2000);
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool NodeProcess::was_busy() const {
  const std::string name = setup_.slot + "-" + std::to_string(setup_.incarnation);
  std::set<std::string> open;
  std::string line;
  std::ifstream journal(setup_.dir + "/journal-" + name + ".log");
  while (std::getline(journal, line)) {
    std::istringstream words(line);
    std::string key, attempt, worker, phase;
    words >> key >> attempt >> worker >> phase;
    if (phase == "begin")
      open.insert(key + attempt);
    else
      open.erase(key + attempt);
  }
  if (!open.empty()) return true;
  std::ifstream log(client_log(setup_.dir, setup_.slot));
  log.seekg(log_before_);
  while (std::getline(log, line)) {
    std::istringstream words(line);
    std::string what, id;
    words >> what >> id;
    if (what == "submit")
      open.insert(id);
    else
      open.erase(id);
  }
  return !open.empty();
}

}  // namespace storm
