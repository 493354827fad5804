#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/format.h"
#include "store/redis/socket.h"
#include "store/redis/transport.h"

namespace pawl::store::redis {

namespace {

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(Socket socket) : socket_(std::move(socket)) {}

  Status write(std::string_view bytes, Timeout timeout) override {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK)
        return Error{ErrorCode::not_found, format("the connection is gone: {}", std::strerror(errno))};
      if (!socket_.wait(POLLOUT, timeout)) return Error{ErrorCode::retry_later, "the server takes no more bytes"};
    }
    return {};
  }

  Result<std::size_t> read(char* into, std::size_t bytes_max, Timeout timeout) override {
    for (;;) {
      const ssize_t got = recv(socket_.fd(), into, bytes_max, 0);
      if (got > 0) return static_cast<std::size_t>(got);
      if (got == 0) return Error{ErrorCode::not_found, "the server closed the connection"};
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK)
        return Error{ErrorCode::not_found, format("the connection is gone: {}", std::strerror(errno))};
      if (!socket_.wait(POLLIN, timeout)) return Error{ErrorCode::retry_later, "the server does not answer"};
    }
  }

 private:
  Socket socket_;
};

}  // namespace

Result<std::unique_ptr<Transport>> connect_plain(const Address& address, Transport::Timeout timeout) {
  auto socket = Socket::connect(address, timeout);
  if (!socket) return socket.error();
  return std::unique_ptr<Transport>(std::make_unique<PlainTransport>(std::move(*socket)));
}

}  // namespace pawl::store::redis
