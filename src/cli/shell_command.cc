#include "cli/shell_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace pawl::cli {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int look_up_every = 50;            // milliseconds until goes_on is asked again
constexpr milliseconds polite_for{500};      // from SIGTERM to SIGKILL
constexpr milliseconds quiet_for{100};       // what a command left behind may hold its output open that long

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int raw) : raw_(raw) {}
  Descriptor(Descriptor&& other) noexcept : raw_(std::exchange(other.raw_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    close();
    raw_ = std::exchange(other.raw_, -1);
    return *this;
  }
  ~Descriptor() { close(); }
  int raw() const { return raw_; }
  bool open() const { return raw_ >= 0; }
  void close() {
    if (raw_ >= 0) ::close(raw_);
    raw_ = -1;
  }

 private:
  int raw_ = -1;
};

struct Pipe {
  Descriptor reads;
  Descriptor writes;
};

// Closed on exec: no other command that starts meanwhile may hold an end of it.
Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Error{ErrorCode::retry_later, fmt::format("no pipe could be made: {}", std::strerror(errno))};
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<std::string> environment_of(const ShellCommand& command) {
  std::vector<std::string> all;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view entry(*at);
    bool replaced = false;
    for (const auto& [name, value] : command.environment)
      replaced = replaced || (entry.starts_with(name) && entry.substr(name.size()).starts_with('='));
    if (!replaced) all.emplace_back(entry);
  }
  for (const auto& [name, value] : command.environment) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

// What posix_spawn is told; freed at the end.
class Recipe {
 public:
  Recipe(int in, int out, int err) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, err, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP}) sigaddset(&signals, signal);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
  }
  ~Recipe() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

class Running {
 public:
  Running(pid_t process, Descriptor in, Descriptor out, Descriptor err, const ShellCommand& command,
          const ShellListener& listener)
      : process_(process), in_(std::move(in)), out_(std::move(out)), err_(std::move(err)), input_(command.input),
        listener_(listener) {
    if (input_.empty()) in_.close();
    else fcntl(in_.raw(), F_SETFL, O_NONBLOCK);
  }

  ShellEnd run() {
    while (!ended_ || ((out_.open() || err_.open()) && Clock::now() < quiet_at_)) {
      if (!stopping_ && !listener_.goes_on()) stop();
      if (stopping_ && Clock::now() >= kill_at_) kill(-process_, SIGKILL);
      turn();
      if (!ended_) look_for_end();
    }
    kill(-process_, SIGKILL);  // what it left behind goes with it
    return ShellEnd{exit_code_, stopping_};
  }

 private:
  void stop() {
    stopping_ = true;
    kill_at_ = Clock::now() + polite_for;
    kill(-process_, SIGTERM);
  }

  void turn() {
    // The end of a process shows in its pipes; when they are closed already only waitpid tells, so look more often.
    const bool silent = !out_.open() && !err_.open();
    std::array<pollfd, 3> watched{pollfd{in_.raw(), POLLOUT, 0}, pollfd{out_.raw(), POLLIN, 0},
                                  pollfd{err_.raw(), POLLIN, 0}};  // a negative descriptor is passed over
    if (poll(watched.data(), watched.size(), silent ? 1 : look_up_every) <= 0) return;
    if (watched[0].revents != 0) feed();
    if (watched[1].revents != 0) hear(out_, listener_.output);
    if (watched[2].revents != 0) hear(err_, listener_.errors);
  }

  void feed() {
    const ssize_t written = write(in_.raw(), input_.data() + fed_, input_.size() - fed_);
    if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (written > 0) fed_ += static_cast<std::size_t>(written);
    if (written <= 0 || fed_ == input_.size()) in_.close();  // a command need not read its input
  }

  void hear(Descriptor& from, const std::function<void(std::string_view)>& tell) {
    std::array<char, 16'384> bytes;
    const ssize_t count = read(from.raw(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) return from.close();
    quiet_at_ = Clock::now() + quiet_for;
    tell(std::string_view(bytes.data(), static_cast<std::size_t>(count)));
  }

  void look_for_end() {
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) != process_) return;
    ended_ = true;
    quiet_at_ = Clock::now() + quiet_for;
    exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  const pid_t process_;
  Descriptor in_, out_, err_;
  const std::string& input_;
  const ShellListener& listener_;
  std::size_t fed_ = 0;
  bool ended_ = false;
  int exit_code_ = 0;
  bool stopping_ = false;
  Clock::time_point kill_at_;
  Clock::time_point quiet_at_;
};

// Writing to a command that does not read must fail with an error, not end this process. Per thread, and for good:
// the threads that run commands write to nothing else.
void block_sigpipe() {
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
}

}  // namespace

Result<ShellEnd> run_shell(const ShellCommand& command, const ShellListener& listener) {
  block_sigpipe();
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  for (const auto* pipe : {&in, &out, &err})
    if (!*pipe) return pipe->error();
  const std::vector<std::string> environment = environment_of(command);
  std::vector<char*> pointers;
  for (const std::string& entry : environment) pointers.push_back(const_cast<char*>(entry.c_str()));
  pointers.push_back(nullptr);
  std::string shell = "sh", option = "-c", text = command.command;
  std::array<char*, 4> arguments{shell.data(), option.data(), text.data(), nullptr};
  const Recipe recipe(in->reads.raw(), out->writes.raw(), err->writes.raw());
  pid_t process = 0;
  const int failed =
      posix_spawn(&process, "/bin/sh", recipe.actions(), recipe.attributes(), arguments.data(), pointers.data());
  if (failed != 0)
    return Error{ErrorCode::retry_later, fmt::format("/bin/sh could not be started: {}", std::strerror(failed))};
  in->reads.close();
  out->writes.close();
  err->writes.close();
  return Running(process, std::move(in->writes), std::move(out->reads), std::move(err->reads), command, listener).run();
}

}  // namespace pawl::cli
