// Bell: LISTEN and NOTIFY. A commit that others must hear of says so in its transaction, once for the whole group; a
// thread with a connection of its own hears it and tells the listeners of this process.
//
// 1. Nothing is asked while nobody rings: the thread waits for its socket.
// 2. Whatever was missed while the connection was away is made good: then everything may have changed.
// 3. What this process committed itself it does not hear.
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

  // Its connection is made with the first listener.
  void listen(Listener& listener);
  void stop_listening(Listener& listener);
  // Adds the ring to a transaction.
  void ring(Script& script, const Change& change) const;

  // The text of a ring; none: it was not made here, or by this very process.
  static std::string encode_ring(std::uint64_t process, const Change& change);
  static std::optional<Change> decode_ring(std::uint64_t process, std::string_view text);

 private:
  void run();
  bool connect();
  bool receive(int timeout_ms);  // false: the connection is lost
  void tell(const Change& change);
  bool is_stopping() const { return stopping_.load(); }

  const Address address_;
  const std::uint64_t process_;  // a number that no other has
  const std::string channel_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  int wake_[2] = {-1, -1};    // a pipe that ends the wait
  PGconn* handle_ = nullptr;  // the thread's own

  std::mutex mutex_;  // guards what is below
  std::vector<Listener*> listeners_;
};

}  // namespace pawl::store::postgres
