#include "redis/gate.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace pawl::testing {

namespace {

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.string().size() >= sizeof address.sun_path) std::abort();
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

bool write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

// The length of the first command; 0: it is not complete yet.
std::size_t command_size(std::string_view text) {
  std::size_t at = 0;
  const auto number = [&]() -> long {
    const std::size_t end = text.find("\r\n", at);
    if (end == std::string_view::npos) return -1;
    long value = -1;
    std::from_chars(text.data() + at + 1, text.data() + end, value);
    at = end + 2;
    return value;
  };
  const long words = number();
  if (words < 0) return 0;
  for (long i = 0; i < words; ++i) {
    const long bytes = number();
    if (bytes < 0 || at + static_cast<std::size_t>(bytes) + 2 > text.size()) return 0;
    at += static_cast<std::size_t>(bytes) + 2;
  }
  return at;
}

}  // namespace

Gate::Gate(std::filesystem::path server_socket, std::filesystem::path own_socket)
    : server_(std::move(server_socket)), own_(std::move(own_socket)) {
  ::unlink(own_.c_str());
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(own_);
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 16) != 0)
    std::abort();
  if (::pipe(waker_) != 0) std::abort();
  thread_ = std::thread([this] { run(); });
}

Gate::~Gate() {
  over_ = true;
  [[maybe_unused]] const ssize_t woken = ::write(waker_[1], "x", 1);
  thread_.join();
  for (const Pair& pair : pairs_) {
    ::close(pair.client);
    ::close(pair.server);
  }
  for (const int fd : {listener_, waker_[0], waker_[1]}) ::close(fd);
  ::unlink(own_.c_str());
}

void Gate::cut_after(std::size_t commands, Then then) {
  then_ = then;
  passed_ = 0;
  limit_ = commands;
}

void Gate::accept_one() {
  const int client = ::accept(listener_, nullptr, nullptr);
  if (client < 0) return;
  const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(server_);
  if (shut_ || ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(client);
    ::close(server);
    return;
  }
  pairs_.push_back({client, server, {}});
}

// Closes towards the server first: the server reads and does all that passed, and closes too.
void Gate::cut(Pair& pair) {
  ::shutdown(pair.server, SHUT_WR);
  char bytes[4096];
  while (::read(pair.server, bytes, sizeof bytes) > 0) {
  }
  ::close(pair.server);
  ::close(pair.client);
}

bool Gate::from_client(Pair& pair) {
  char bytes[65536];
  const ssize_t got = ::read(pair.client, bytes, sizeof bytes);
  if (got <= 0) return false;
  pair.waiting.append(bytes, static_cast<std::size_t>(got));
  while (const std::size_t size = command_size(pair.waiting)) {
    if (!write_all(pair.server, std::string_view(pair.waiting).substr(0, size))) return false;
    pair.waiting.erase(0, size);
    if (++passed_ != limit_) continue;
    if (then_ == Then::stays_shut) shut_ = true;
    ++cuts_;
    return false;
  }
  return true;
}

bool Gate::from_server(Pair& pair) {
  char bytes[65536];
  const ssize_t got = ::read(pair.server, bytes, sizeof bytes);
  return got > 0 && write_all(pair.client, std::string_view(bytes, static_cast<std::size_t>(got)));
}

void Gate::run() {
  while (!over_) {
    std::vector<pollfd> waits = {{waker_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Pair& pair : pairs_) {
      waits.push_back({pair.client, POLLIN, 0});
      waits.push_back({pair.server, POLLIN, 0});
    }
    ::poll(waits.data(), waits.size(), -1);
    std::size_t at = 2;
    for (auto pair = pairs_.begin(); pair != pairs_.end();) {
      const bool client_said = waits[at].revents != 0;
      const bool server_said = waits[at + 1].revents != 0;
      at += 2;
      bool lives = !shut_;
      if (lives && client_said) lives = from_client(*pair);
      if (lives && server_said) lives = from_server(*pair);
      if (lives) {
        ++pair;
        continue;
      }
      cut(*pair);
      pair = pairs_.erase(pair);
    }
    if (shut_)
      for (; !pairs_.empty(); pairs_.pop_front()) cut(pairs_.front());
    if (waits[1].revents != 0) accept_one();
  }
}

}  // namespace pawl::testing
