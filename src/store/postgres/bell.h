// Bell: LISTEN and NOTIFY. A commit that other processes must learn of sends one notification for the whole group, in
// its transaction. A thread with its own connection receives notifications and calls the listeners of this process.
//
// 1. The thread waits on its socket. While there is no notification it asks the server nothing.
// 2. After the connection was lost, the thread reports that everything may have changed, because notifications may have
//    been missed.
// 3. A process ignores the notifications of its own commits.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "store/notification.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

class Bell {
 public:
  explicit Bell(Address address, std::uint64_t process);
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  // The connection is opened for the first listener.
  void listen(Listener& listener);
  void stop_listening(Listener& listener);
  // Adds the notification to a transaction.
  void ring(Script& script, const Change& change) const;

  // The text of a notification. decode_ring returns none if this process sent it.
  static std::string encode_ring(std::uint64_t process, const Change& change);
  static std::optional<Change> decode_ring(std::uint64_t process, std::string_view text);

 private:
  void run();
  bool connect();
  bool receive(int timeout_ms);  // false: the connection is lost
  void tell(const Change& change);
  bool is_stopping() const { return stopping_.load(); }

  const Address address_;
  const std::uint64_t process_;  // unique to this process
  const std::string channel_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  int wake_[2] = {-1, -1};    // a pipe that ends the wait
  PGconn* handle_ = nullptr;  // used only by the thread

  std::mutex mutex_;  // guards the members below
  std::vector<Listener*> listeners_;
};

}  // namespace pawl::store::postgres
