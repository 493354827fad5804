#include "store/redis/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/format.h"

namespace pawl::store::redis {

namespace {

Error cannot(std::string_view what, const Address& address, const char* why) {
  return Error{ErrorCode::retry_later, format("cannot {} {}: {}", what, address.text(), why)};
}

// Connects or closes the socket.
Result<Socket> finish(int fd, const sockaddr* to, socklen_t bytes, const Address& address, Transport::Timeout timeout) {
  Socket socket(fd);
  if (connect(fd, to, bytes) != 0) {
    if (errno != EINPROGRESS) return cannot("connect to", address, std::strerror(errno));
    if (!socket.wait(POLLOUT, timeout)) return cannot("connect to", address, "no answer");
    int failure = 0;
    socklen_t size = sizeof failure;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size);
    if (failure != 0) return cannot("connect to", address, std::strerror(failure));
  }
  return socket;
}

Result<Socket> connect_local(const Address& address, Transport::Timeout timeout) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (address.host.size() >= sizeof to.sun_path) return cannot("connect to", address, "its path is too long");
  std::memcpy(to.sun_path, address.host.c_str(), address.host.size() + 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return cannot("open a socket for", address, std::strerror(errno));
  return finish(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to, address, timeout);
}

Result<Socket> connect_remote(const Address& address, Transport::Timeout timeout) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(address.host.c_str(), format("{}", address.port).c_str(), &hints, &found); code != 0)
    return cannot("find", address, gai_strerror(code));
  Result<Socket> connected = cannot("connect to", address, "it has no address");
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const int fd = socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    auto tried = finish(fd, one->ai_addr, one->ai_addrlen, address, timeout);
    if (!tried) {
      if (one->ai_next == nullptr) {
        freeaddrinfo(found);
        return tried;
      }
      continue;
    }
    const int on = 1;
    setsockopt(tried->fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(tried->fd(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    freeaddrinfo(found);
    return tried;
  }
  freeaddrinfo(found);
  return connected;
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

bool Socket::wait(short events, Transport::Timeout timeout) const {
  const auto until = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    pollfd one{fd_, events, 0};
    const auto left = std::chrono::duration_cast<Transport::Timeout>(until - std::chrono::steady_clock::now());
    const int ready = poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

Result<Socket> Socket::connect(const Address& address, Transport::Timeout timeout) {
  return address.is_local() ? connect_local(address, timeout) : connect_remote(address, timeout);
}

}  // namespace pawl::store::redis
