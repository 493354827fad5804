#include "store/sqlite/doorbell.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/format.h"
#include "base/random.h"
#include "store/sqlite/limits.h"

namespace pawl::store::sqlite {

namespace {

// A socket's path has 107 bytes at most, a file's many more. So the socket is named through a
// descriptor of its directory, and a long file name by its hash: both sides come to the same file.
class BellAddress {
 public:
  explicit BellAddress(const std::string& database_path) {
    const std::filesystem::path file(database_path);
    const auto parent = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    directory_ = open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    std::string name = file.filename().string() + "-bell";
    const std::string prefix = format("/proc/self/fd/{}/", directory_);
    if (prefix.size() + name.size() > limits::socket_path_max) {
      std::uint64_t hash = 0;
      for (const char c : name) hash = Random::mix(hash ^ static_cast<unsigned char>(c));
      name = format("pawl-{:016x}-bell", hash);
    }
    path_ = prefix + name;
    address_.sun_family = AF_UNIX;
    std::memcpy(address_.sun_path, path_.c_str(), path_.size() + 1);
  }
  BellAddress(const BellAddress&) = delete;
  BellAddress& operator=(const BellAddress&) = delete;
  ~BellAddress() {
    if (directory_ >= 0) close(directory_);
  }
  bool usable() const { return directory_ >= 0; }
  const std::string& path() const { return path_; }
  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }
  static constexpr socklen_t size() { return sizeof(sockaddr_un); }

 private:
  int directory_ = -1;
  std::string path_;
  sockaddr_un address_{};
};

int new_socket() { return socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

Error failure(const std::string& database_path) {
  return Error{ErrorCode::retry_later,
               format("cannot listen beside {}: {}", database_path, std::strerror(errno))};
}

}  // namespace

Result<std::unique_ptr<Doorbell>> Doorbell::listen(const std::string& database_path,
                                                   std::function<void()> on_ring) {
  const BellAddress bell(database_path);
  if (!bell.usable()) return failure(database_path);
  const int socket = new_socket();
  if (socket < 0) return failure(database_path);
  unlink(bell.path().c_str());
  const int stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop < 0 || bind(socket, bell.address(), BellAddress::size()) != 0) {
    const Error error = failure(database_path);
    close(socket);
    if (stop >= 0) close(stop);
    return error;
  }
  return std::unique_ptr<Doorbell>(new Doorbell(socket, stop, std::move(on_ring)));
}

Doorbell::Doorbell(int socket, int stop, std::function<void()> on_ring)
    : socket_(socket), stop_(stop), on_ring_(std::move(on_ring)), thread_([this] { serve(); }) {}

Doorbell::~Doorbell() {
  eventfd_write(stop_, 1);
  thread_.join();
  close(socket_);
  close(stop_);
}

void Doorbell::serve() {
  pollfd waiting[] = {{socket_, POLLIN, 0}, {stop_, POLLIN, 0}};
  while (true) {
    if (poll(waiting, 2, -1) < 0 && errno != EINTR) return;
    if (waiting[1].revents != 0) return;
    if (waiting[0].revents == 0) continue;
    char ring;
    while (recv(socket_, &ring, sizeof ring, 0) >= 0) {
    }
    on_ring_();
  }
}

Ringer::~Ringer() {
  if (socket_ >= 0) close(socket_);
}

bool Ringer::ring() {
  const BellAddress bell(path_);
  if (!bell.usable()) return false;
  if (socket_ < 0) socket_ = new_socket();
  if (socket_ < 0) return false;
  const char ring = 1;
  // A full queue means that the owner has rings to hear already.
  return sendto(socket_, &ring, sizeof ring, 0, bell.address(), BellAddress::size()) > 0 ||
         errno == EAGAIN;
}

}  // namespace pawl::store::sqlite
