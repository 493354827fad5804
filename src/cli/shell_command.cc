#include "cli/shell_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "cli/offspring.h"

namespace pawl::cli {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds look_at_child_every{50};  // until goes_on is called again
constexpr milliseconds polite_for{500};    // from SIGTERM to SIGKILL
// how long processes that an ended command left behind may hold its outputs open
constexpr milliseconds left_open_for{100};

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

// This machine or this process lacks a resource just now: it is not the command's fault.
bool is_our_lack(int error) { return error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOMEM; }

Error cannot(std::string_view what, int error) {
  return {is_our_lack(error) ? ErrorCode::retry_later : ErrorCode::invalid,
          fmt::format("{}: {}", what, std::strerror(error))};
}

// Closed on exec: no other command that starts meanwhile may hold an end of it.
Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return cannot("no pipe could be made", errno);
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<std::string> environment_of(const ShellCommand& command, const std::string& mark) {
  auto ours = command.environment;
  ours.emplace_back(mark_variable, mark);
  std::vector<std::string> all;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view entry(*at);
    bool replaced = false;
    for (const auto& [name, value] : ours)
      replaced = replaced || (entry.starts_with(name) && entry.substr(name.size()).starts_with('='));
    if (!replaced) all.emplace_back(entry);
  }
  for (const auto& [name, value] : ours) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

// The arguments of posix_spawn; freed at the end.
class Recipe {
 public:
  Recipe(int in, int out, int err) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, err, STDERR_FILENO);
    // Sockets of a server are not for commands: one that lives on would keep its port and its connections.
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
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

// Readable when the process has ended. None: no descriptor is left.
int descriptor_of_end(pid_t process) { return static_cast<int>(syscall(SYS_pidfd_open, process, 0)); }

class Running {
 public:
  Running(pid_t process, std::string mark, Descriptor in, Descriptor out, Descriptor err, const ShellCommand& command,
          const ShellListener& listener)
      : process_(process),
        mark_(std::move(mark)),
        end_(descriptor_of_end(process)),
        in_(std::move(in)),
        out_(std::move(out)),
        err_(std::move(err)),
        input_(command.input),
        listener_(listener) {
    if (input_.empty())
      in_.close();
    else
      fcntl(in_.raw(), F_SETFL, O_NONBLOCK);
  }

  ShellEnd run() {
    while (!has_ended()) {
      if (!stopping_ && !listener_.goes_on()) stop();
      if (stopping_ && Clock::now() >= kill_at_) kill(-process_, SIGKILL);
      turn(look_at_child_every);
    }
    end_.close();
    in_.close();
    // A child in the background may hold the outputs open, and write to them for ever: it gets a short time only.
    const auto until = Clock::now() + left_open_for;
    while ((out_.open() || err_.open()) && Clock::now() < until)
      turn(std::chrono::ceil<milliseconds>(until - Clock::now()));
    Offspring::ours().end(process_, mark_);
    // The command's own output is in the pipe, even if we read it late.
    drain(out_, listener_.output);
    drain(err_, listener_.errors);
    return ShellEnd{exit_code_, stopping_};
  }

 private:
  void stop() {
    stopping_ = true;
    kill_at_ = Clock::now() + polite_for;
    kill(-process_, SIGTERM);
  }

  void turn(milliseconds wait) {
    std::array<pollfd, 4> watched{pollfd{in_.raw(), POLLOUT, 0}, pollfd{out_.raw(), POLLIN, 0},
                                  pollfd{err_.raw(), POLLIN, 0},
                                  pollfd{end_.raw(), POLLIN, 0}};  // poll ignores a negative descriptor
    if (poll(watched.data(), watched.size(), static_cast<int>(wait.count())) <= 0) return;
    if (watched[0].revents != 0) feed();
    if (watched[1].revents != 0) feed(out_, listener_.output);
    if (watched[2].revents != 0) feed(err_, listener_.errors);
  }

  void feed() {
    const ssize_t written = write(in_.raw(), input_.data() + fed_, input_.size() - fed_);
    if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (written > 0) fed_ += static_cast<std::size_t>(written);
    if (written <= 0 || fed_ == input_.size()) in_.close();  // a command need not read its input
  }

  // Returns the number of bytes.
  std::size_t feed(Descriptor& from, const std::function<void(std::string_view)>& tell) {
    std::array<char, 16'384> bytes;
    const ssize_t count = read(from.raw(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) return 0;
    if (count <= 0) {
      from.close();
      return 0;
    }
    tell(std::string_view(bytes.data(), static_cast<std::size_t>(count)));
    return static_cast<std::size_t>(count);
  }

  // Only what is there now, not what is written meanwhile.
  void drain(Descriptor& from, const std::function<void(std::string_view)>& tell) {
    int waiting = 0;
    if (!from.open() || ioctl(from.raw(), FIONREAD, &waiting) != 0) return;
    for (auto left = static_cast<std::size_t>(waiting); left > 0 && from.open();)
      left -= std::min(left, feed(from, tell));
  }

  // The process is not reaped here: until then its number and its group's number are not reused.
  bool has_ended() {
    siginfo_t end{};
    if (waitid(P_PID, static_cast<id_t>(process_), &end, WEXITED | WNOHANG | WNOWAIT) != 0 || end.si_pid != process_)
      return false;
    exit_code_ = end.si_code == CLD_EXITED ? end.si_status : 128 + end.si_status;
    return true;
  }

  const pid_t process_;
  const std::string mark_;
  Descriptor end_;  // readable when the process has ended; none: the process is polled
  Descriptor in_, out_, err_;
  const std::string& input_;
  const ShellListener& listener_;
  std::size_t fed_ = 0;
  int exit_code_ = 0;
  bool stopping_ = false;
  Clock::time_point kill_at_;
};

// Writing to a command that does not read must fail with an error, not end this process. Per thread, permanently: the
// threads that run commands write to nothing else.
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
  std::string mark = Offspring::ours().next_mark();
  const std::vector<std::string> environment = environment_of(command, mark);
  std::vector<char*> pointers;
  for (const std::string& entry : environment) pointers.push_back(const_cast<char*>(entry.c_str()));
  pointers.push_back(nullptr);
  std::string shell = "sh", option = "-c", text = command.command;
  std::array<char*, 4> arguments{shell.data(), option.data(), text.data(), nullptr};
  const Recipe recipe(in->reads.raw(), out->writes.raw(), err->writes.raw());
  const auto process = Offspring::ours().start([&]() -> Result<pid_t> {
    pid_t started = 0;
    const int failed =
        posix_spawn(&started, "/bin/sh", recipe.actions(), recipe.attributes(), arguments.data(), pointers.data());
    if (failed != 0) return cannot("/bin/sh could not be started", failed);
    return started;
  });
  if (!process) return process.error();
  in->reads.close();
  out->writes.close();
  err->writes.close();
  return Running(*process, std::move(mark), std::move(in->writes), std::move(out->reads), std::move(err->reads),
                 command, listener)
      .run();
}

}  // namespace pawl::cli
