#include "store/sqlite/doorbell.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/format.h"
#include "base/random.h"
#include "store/sqlite/fork_guard.h"
#include "store/sqlite/limits.h"
#include "store/sqlite/owner_lock.h"

namespace pawl::store::sqlite {

namespace {

// A socket's path has at most 107 bytes, a file's path many more. So the socket is addressed through a descriptor of
// its directory, and a long file name by its hash: both sides get the same path.
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

constexpr char ring_format = 2;  // 1 was a single byte
constexpr std::size_t ring_head_bytes = 1 + sizeof(std::int64_t);

std::string ring_bytes(std::int64_t commit, const Change& change) {
  std::string bytes(1, ring_format);
  bytes.append(reinterpret_cast<const char*>(&commit), sizeof commit);
  return bytes + encode(change);
}

}  // namespace

Result<std::unique_ptr<Doorbell>> Doorbell::listen(Setup setup) {
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0)
    return Error{ErrorCode::retry_later,
                 format("cannot listen beside {}: {}", setup.database_path, std::strerror(errno))};
  const int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  std::unique_ptr<Doorbell> bell(new Doorbell(events, wake, std::move(setup)));
  try {
    bell->thread_ = std::thread([raw = bell.get()] { raw->serve(); });
  } catch (const std::system_error& error) {
    return Error{ErrorCode::retry_later, format("cannot listen beside {}: no thread can be made: {}",
                                                bell->setup_.database_path, error.code().message())};
  }
  return bell;
}

Doorbell::Doorbell(int events, int wake, Setup setup)
    : events_(events), wake_(wake), setup_(std::move(setup)), tally_(setup_.known_commit) {
  if (events_ >= 0) {
    inotify_add_watch(events_, owner_path(setup_.database_path).c_str(), IN_ATTRIB);
    closes_ = inotify_add_watch(events_, setup_.database_path.c_str(), IN_CLOSE);
  }
  hang();  // here, not in the thread: notifications after listen() are received
}

Doorbell::~Doorbell() {
  stopped_ = true;
  eventfd_write(wake_, 1);
  if (thread_.joinable()) thread_.join();
  take_down();
  if (events_ >= 0) close(events_);
  close(wake_);
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
  const BellAddress bell(setup_.database_path);
  if (!bell.usable()) return false;
  socket_ = new_socket();
  if (socket_ < 0) return false;
  close_in_children(socket_);
  unlink(bell.path().c_str());
  struct stat info {};
  if (bind(socket_, bell.address(), BellAddress::size()) != 0 || stat(bell.path().c_str(), &info) != 0) {
    take_down();
    return false;
  }
  inode_ = info.st_ino;
  // The kernel reports a deletion as a change of the link count.
  if (events_ >= 0) watch_ = inotify_add_watch(events_, bell.path().c_str(), IN_ATTRIB | IN_MOVE_SELF);
  return true;
}

bool Doorbell::in_place() const {
  if (socket_ < 0) return false;
  const BellAddress bell(setup_.database_path);
  struct stat info {};
  return bell.usable() && stat(bell.path().c_str(), &info) == 0 && info.st_ino == inode_;
}

void Doorbell::committed(std::int64_t commit) {
  tally_.know(commit);
  if (tally_.has_gap() && !misses_.exchange(true)) eventfd_write(wake_, 1);
}

int Doorbell::time_to_wait() const {
  // A timeout is needed only when the system refused a descriptor, or while a notification is late.
  const bool blind = socket_ < 0 || watch_ < 0;
  std::int64_t wait = blind ? limits::bell_look.count() : -1;
  if (missing_until_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*missing_until_ - Clock::now());
    const std::int64_t late = std::max<std::int64_t>(left.count(), 0);
    wait = wait < 0 ? late : std::min(wait, late);
  }
  return static_cast<int>(wait);
}

void Doorbell::serve() {
  while (true) {
    pollfd waiting[] = {{socket_, POLLIN, 0}, {events_, POLLIN, 0}, {wake_, POLLIN, 0}};
    const int found = poll(waiting, 3, time_to_wait());
    if (found < 0 && errno != EINTR) return;
    if (stopped_) return;
    eventfd_t ignored;
    eventfd_read(wake_, &ignored);
    // First the events, then the notifications: a process that closed the file has notified before.
    const Seen seen = read_events();
    const Change change = receive();
    if (seen.closed)
      if (const auto last = setup_.last_commit()) tally_.see(*last);
    // First the socket, then the check: a process that finds no socket meanwhile touches the lock file.
    const bool blind = !in_place() && (!hang() || watch_ < 0);
    if (seen.touched || blind)
      look_everywhere();
    else if (!change.empty())
      setup_.on_change(change);
    look_for_missing();
  }
}

Doorbell::Seen Doorbell::read_events() {
  Seen seen;
  if (events_ < 0) return seen;
  alignas(inotify_event) std::array<char, 4096> bytes;
  ssize_t count = 0;
  while ((count = read(events_, bytes.data(), bytes.size())) > 0) {
    for (std::size_t at = 0; at < static_cast<std::size_t>(count);) {
      inotify_event event;
      std::memcpy(&event, bytes.data() + at, sizeof event);
      at += sizeof event + event.len;
      if (event.wd == closes_)
        seen.closed = true;
      else if ((event.mask & IN_IGNORED) == 0)
        seen.touched = true;  // from a watch that is gone
    }
  }
  return seen;
}

// All waiting notifications, merged.
Change Doorbell::receive() {
  Change change;
  std::array<char, 4096> bytes;
  while (socket_ >= 0) {
    const ssize_t count = recv(socket_, bytes.data(), bytes.size(), MSG_TRUNC);
    if (count < 0) return change;
    const auto size = static_cast<std::size_t>(count);
    std::optional<Change> rung;
    if (size >= ring_head_bytes && size <= bytes.size() && bytes[0] == ring_format) {
      std::int64_t commit = 0;
      std::memcpy(&commit, bytes.data() + 1, sizeof commit);
      tally_.know(commit);
      rung = decode_change({bytes.data() + ring_head_bytes, size - ring_head_bytes});
    }
    change.add(rung ? *rung : Change::everything());  // undecodable: from another version of this program
  }
  return change;
}

void Doorbell::look_for_missing() {
  if (!tally_.has_gap()) {
    missing_until_.reset();
    misses_ = false;
  } else if (!missing_until_) {
    missing_until_ = Clock::now() + limits::ring_late_max;
    misses_ = true;
  } else if (Clock::now() >= *missing_until_) {
    look_everywhere();
  }
}

void Doorbell::look_everywhere() {
  missing_until_.reset();
  misses_ = false;
  tally_.forgive();
  setup_.on_change(Change::everything());
}

Ringer::~Ringer() {
  if (socket_ >= 0) close(socket_);
}

bool Ringer::ring(std::int64_t commit, const Change& change) {
  const BellAddress bell(path_);
  if (socket_ < 0) socket_ = new_socket();
  if (!bell.usable() || socket_ < 0) return false;
  const std::string bytes = ring_bytes(commit, change);
  if (sendto(socket_, bytes.data(), bytes.size(), 0, bell.address(), BellAddress::size()) > 0) return true;
  // The queue is full: the owner already has notifications to read, and will notice that this one is missing.
  if (errno == EAGAIN) return true;
  utimensat(AT_FDCWD, owner_path(path_).c_str(), nullptr, 0);
  return false;
}

}  // namespace pawl::store::sqlite
