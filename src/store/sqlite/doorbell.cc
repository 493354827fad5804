#include "store/sqlite/doorbell.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/format.h"
#include "base/random.h"
#include "store/sqlite/fork_guard.h"
#include "store/sqlite/limits.h"
#include "store/sqlite/owner_lock.h"

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

void forget_events(int events) {
  std::array<char, 4096> bytes;
  while (read(events, bytes.data(), bytes.size()) > 0) {
  }
}

}  // namespace

Result<std::unique_ptr<Doorbell>> Doorbell::listen(const std::string& database_path,
                                                   std::function<void()> on_ring) {
  const int stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop < 0)
    return Error{ErrorCode::retry_later,
                 format("cannot listen beside {}: {}", database_path, std::strerror(errno))};
  const int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (events >= 0) inotify_add_watch(events, owner_path(database_path).c_str(), IN_ATTRIB);
  return std::unique_ptr<Doorbell>(new Doorbell(database_path, events, stop, std::move(on_ring)));
}

Doorbell::Doorbell(std::string database_path, int events, int stop, std::function<void()> on_ring)
    : path_(std::move(database_path)), events_(events), stop_(stop), on_ring_(std::move(on_ring)) {
  hang();  // here, not by the thread: a ring that comes after listen() is heard
  thread_ = std::thread([this] { serve(); });
}

Doorbell::~Doorbell() {
  eventfd_write(stop_, 1);
  thread_.join();
  take_down();
  if (events_ >= 0) close(events_);
  close(stop_);
}

void Doorbell::take_down() {
  if (watch_ >= 0) inotify_rm_watch(events_, watch_);
  if (socket_ >= 0) {
    keep_in_children(socket_);
    close(socket_);
  }
  watch_ = socket_ = -1;
}

bool Doorbell::hang() {
  take_down();
  const BellAddress bell(path_);
  if (!bell.usable()) return false;
  socket_ = new_socket();
  if (socket_ < 0) return false;
  close_in_children(socket_);
  unlink(bell.path().c_str());
  struct stat info {};
  if (bind(socket_, bell.address(), BellAddress::size()) != 0 ||
      stat(bell.path().c_str(), &info) != 0) {
    take_down();
    return false;
  }
  inode_ = info.st_ino;
  // The kernel reports a deletion as a change of the link count.
  if (events_ >= 0)
    watch_ = inotify_add_watch(events_, bell.path().c_str(), IN_ATTRIB | IN_MOVE_SELF);
  return true;
}

bool Doorbell::in_place() const {
  if (socket_ < 0) return false;
  const BellAddress bell(path_);
  struct stat info {};
  return bell.usable() && stat(bell.path().c_str(), &info) == 0 && info.st_ino == inode_;
}

void Doorbell::serve() {
  while (true) {
    pollfd waiting[] = {{socket_, POLLIN, 0}, {events_, POLLIN, 0}, {stop_, POLLIN, 0}};
    // Nothing to wait for but the clock only when the system refused a descriptor.
    const bool blind = socket_ < 0 || watch_ < 0;
    const int found = poll(waiting, 3, blind ? static_cast<int>(limits::bell_look.count()) : -1);
    if (found < 0 && errno != EINTR) return;
    if (waiting[2].revents != 0) return;
    if (waiting[0].revents == 0 && waiting[1].revents == 0 && !blind) continue;
    char ring;
    while (socket_ >= 0 && recv(socket_, &ring, sizeof ring, 0) >= 0) {
    }
    if (events_ >= 0) forget_events(events_);
    // First the socket, then the look: who finds none meanwhile touches the lock file.
    if (!in_place()) hang();
    on_ring_();
  }
}

Ringer::~Ringer() {
  if (socket_ >= 0) close(socket_);
}

bool Ringer::ring() {
  const BellAddress bell(path_);
  if (socket_ < 0) socket_ = new_socket();
  if (!bell.usable() || socket_ < 0) return false;
  const char ring = 1;
  if (sendto(socket_, &ring, sizeof ring, 0, bell.address(), BellAddress::size()) > 0) return true;
  // A full queue means that the owner has rings to hear already.
  if (errno == EAGAIN) return true;
  utimensat(AT_FDCWD, owner_path(path_).c_str(), nullptr, 0);
  return false;
}

}  // namespace pawl::store::sqlite
