// Gate: a proxy between a store and its server, on its own socket. It reads the protocol messages in both directions.
// It can end or hold the sessions between any two messages.
#pragma once

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace pawl::store::postgres {

class Gate {
 public:
  enum class Way : std::uint8_t { to_server, to_client };
  // `server`: the folder of the server's socket.
  Gate(std::filesystem::path server, std::string database)
      : server_(std::move(server)), database_(std::move(database)) {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-gate-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_in(folder_);
    is_up_ =
        bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && listen(listener_, 16) == 0;
    accepts_ = std::thread([this] { accept_all(); });
  }
  ~Gate() {
    closing_ = true;
    let_go();
    shutdown(listener_, SHUT_RDWR);
    accepts_.join();
    close(listener_);
    for (std::thread& session : sessions_) session.join();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  bool is_up() const { return is_up_; }
  std::string address() const {
    return "postgres:///" + database_ + "?user=postgres&application_name=gated&host=" + folder_.string();
  }

  // Counts the messages that pass from now on.
  void count() {
    const std::lock_guard lock(mutex_);
    passed_[0] = passed_[1] = 0;
    plan_.reset();
  }
  int passed(Way way) const {
    const std::lock_guard lock(mutex_);
    return passed_[static_cast<int>(way)];
  }
  // Lets so many messages pass in that direction, from now on, and ends the session before the next one. With
  // `instead`, the gate calls that function at this point, once the other end has read the messages, and the session
  // continues.
  void cut_behind(Way way, int messages, std::function<void()> instead = {}) {
    const std::lock_guard lock(mutex_);
    passed_[0] = passed_[1] = 0;
    plan_ = Plan{way, messages, std::move(instead)};
  }
  bool has_cut() const {
    const std::lock_guard lock(mutex_);
    return !plan_;
  }
  // Waits until the server has ended every session that was cut.
  void wait_ended() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ending_ == 0; });
  }

  // Holds back everything to the server from that statement on, or from the nth message on.
  void hold_before(std::string statement) {
    const std::lock_guard lock(mutex_);
    hold_ = Hold{std::move(statement), -1};
  }
  void hold_behind(int messages) {
    const std::lock_guard lock(mutex_);
    passed_[0] = passed_[1] = 0;
    hold_ = Hold{"", messages};
  }
  bool wait_held(std::chrono::seconds at_most = std::chrono::seconds(30)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, at_most, [this] { return holding_; });
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    hold_.reset();
    holding_ = false;
    changed_.notify_all();
  }

 private:
  struct Plan {
    Way way;
    int messages;
    std::function<void()> instead;
  };
  struct Hold {
    std::string statement;
    int messages;
  };
  // One direction of a session, with the bytes that do not form a whole message yet.
  struct Stream {
    Way way;
    int from, to;
    bool is_first = true;  // the first message of a client has no type byte
    std::string bytes{};
    bool over = false;
  };

  static sockaddr_un address_in(const std::filesystem::path& folder) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = (folder / ".s.PGSQL.5432").string();
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    return address;
  }

  void accept_all() {
    while (true) {
      const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0 || closing_) {
        if (client >= 0) close(client);
        return;
      }
      const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const sockaddr_un address = address_in(server_);
      if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        close(server);
        close(client);
        continue;
      }
      sessions_.emplace_back([this, client, server] { serve(client, server); });
    }
  }

  void serve(int client, int server) {
    Stream up{Way::to_server, client, server};
    Stream down{Way::to_client, server, client};
    down.is_first = false;
    bool cut = false;
    while (!cut && !up.over && !down.over && !closing_) {
      pollfd waits[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
      poll(waits, 2, 100);
      if (waits[1].revents != 0) cut = !move(down);
      if (!cut && waits[0].revents != 0) cut = !move(up);
    }
    if (cut) {
      const std::lock_guard lock(mutex_);
      ++ending_;
    }
    close(client);
    shutdown(server, SHUT_WR);
    char rest[4096];
    while (read(server, rest, sizeof rest) > 0) {
    }
    close(server);
    if (!cut) return;
    const std::lock_guard lock(mutex_);
    --ending_;
    changed_.notify_all();
  }

  // Returns false if the session must be cut.
  bool move(Stream& stream) {
    char chunk[65536];
    const ssize_t got = read(stream.from, chunk, sizeof chunk);
    if (got <= 0) {
      stream.over = true;
      return true;
    }
    stream.bytes.append(chunk, static_cast<std::size_t>(got));
    while (const std::size_t size = message_size(stream)) {
      if (size > stream.bytes.size()) break;
      if (!may_pass(stream, std::string_view(stream.bytes).substr(0, size))) return false;
      // If the server is gone, the other direction of the session notices it.
      if (send(stream.to, stream.bytes.data(), size, MSG_NOSIGNAL) < 0 && stream.way == Way::to_client)
        stream.over = true;
      stream.bytes.erase(0, size);
      stream.is_first = false;
    }
    return true;
  }

  static std::size_t message_size(const Stream& stream) {
    const std::size_t head = stream.is_first ? 0 : 1;
    if (stream.bytes.size() < head + 4) return 0;
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(stream.bytes[head + i]);
    return head + size;
  }

  // Whether the other end has not read all bytes that were sent to it.
  static bool has_unread(int to) {
    int bytes = 0;
    return ioctl(to, SIOCOUTQ, &bytes) == 0 && bytes > 0;
  }

  // A Bind message: a type byte, a length, the name of a portal, the name of a statement.
  static bool binds(std::string_view message, const std::string& statement) {
    return !statement.empty() && message.size() > 6 && message[0] == 'B' && message[5] == '\0' &&
           std::string_view(message.data() + 6) == statement;
  }

  bool may_pass(const Stream& stream, std::string_view message) {
    std::unique_lock lock(mutex_);
    int& passed = passed_[static_cast<int>(stream.way)];
    if (plan_ && plan_->way == stream.way && passed >= plan_->messages) {
      const auto instead = std::exchange(plan_->instead, {});
      plan_.reset();
      if (!instead) return false;
      lock.unlock();
      while (has_unread(stream.to)) usleep(100);  // otherwise it would overtake messages that have passed
      instead();
      lock.lock();
    }
    if (hold_ && stream.way == Way::to_server &&
        (hold_->messages >= 0 ? passed >= hold_->messages : binds(message, hold_->statement))) {
      holding_ = true;
      changed_.notify_all();
      changed_.wait(lock, [this] { return !holding_; });
    }
    ++passed;
    return true;
  }

  const std::filesystem::path server_;
  const std::string database_;
  std::filesystem::path folder_;
  int listener_ = -1;
  bool is_up_ = false;
  std::atomic<bool> closing_{false};
  std::thread accepts_;
  std::vector<std::thread> sessions_;  // used by the accepting thread until it ends

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  int passed_[2] = {0, 0};
  std::optional<Plan> plan_;
  std::optional<Hold> hold_;
  bool holding_ = false;
  int ending_ = 0;
};

}  // namespace pawl::store::postgres
