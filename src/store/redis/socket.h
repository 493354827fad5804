// Socket: a connected, non-blocking stream socket.
#pragma once

#include <utility>

#include "pawl/result.h"
#include "store/redis/transport.h"

namespace pawl::store::redis {

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket();
  static Result<Socket> connect(const Address& address, Transport::Timeout timeout);

  int fd() const { return fd_; }
  // False: nothing happened within the timeout. `events` are those of poll().
  bool wait(short events, Transport::Timeout timeout) const;

 private:
  int fd_;
};

}  // namespace pawl::store::redis
