// A separate process that sends numbers back to the test. Forked before the test opens anything.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/sqlite/store.h"

namespace pawl::store::sqlite {

class Child {
 public:
  explicit Child(const std::function<void(int out)>& body) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      body(ends[1]);
      _exit(0);
    }
    ::close(ends[1]);
    in_ = ends[0];
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), in_(std::exchange(other.in_, -1)) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    kill_now();
    if (in_ >= 0) ::close(in_);
  }

  // The next number it sent; none at its end, or after `wait_ms` without one.
  std::optional<std::uint64_t> read(int wait_ms = 20'000) {
    pollfd waiting{in_, POLLIN, 0};
    if (poll(&waiting, 1, wait_ms) <= 0) return std::nullopt;
    std::uint64_t value = 0;
    if (::read(in_, &value, sizeof value) != sizeof value) return std::nullopt;
    return value;
  }
  void signal(int number) { ::kill(pid_, number); }
  // Returns when all its threads are stopped.
  void stop() {
    ::kill(pid_, SIGSTOP);
    waitpid(pid_, nullptr, WUNTRACED);
  }
  void kill_now() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  int wait() {  // its exit code; -1: a signal ended it
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  pid_t id() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int in_ = -1;
};

// For the bodies of children: each failure ends the child with a different exit code.
inline void send(int out, std::uint64_t value) {
  if (::write(out, &value, sizeof value) != sizeof value) _exit(3);
}

inline std::vector<Outcome> must_commit(Store& store, const std::vector<Operation>& group) {
  auto outcomes = store.commit(group);
  if (!outcomes) _exit(4);
  return std::move(*outcomes);
}

inline std::unique_ptr<Store> must_open(const std::string& path) {
  auto opened = Store::open(path, {});
  if (!opened) {
    std::fputs((to_string(opened.error()) + "\n").c_str(), stderr);
    _exit(5);
  }
  return std::move(*opened);
}

}  // namespace pawl::store::sqlite
