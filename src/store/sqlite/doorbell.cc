#include "store/sqlite/doorbell.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
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

constexpr char ring_format = 2;  // 1 was a single byte
constexpr std::size_t ring_head_bytes = 1 + sizeof(std::int64_t);

std::string ring_bytes(std::int64_t commit, const Change& change) {
  std::string bytes(1, ring_format);
  bytes.append(reinterpret_cast<const char*>(&commit), sizeof commit);
  return bytes + encode(change);
}

bool read_away(int events) {
  std::array<char, 4096> bytes;
  bool any = false;
  while (read(events, bytes.data(), bytes.size()) > 0) any = true;
  return any;
}

Error failure(const std::string& database_path) {
  return Error{ErrorCode::retry_later,
               format("cannot listen beside {}: {}", database_path, std::strerror(errno))};
}

}  // namespace

Result<std::unique_ptr<Doorbell>> Doorbell::listen(Setup setup) {
  const BellAddress bell(setup.database_path);
  if (!bell.usable()) return failure(setup.database_path);
  const int socket = new_socket();
  if (socket < 0) return failure(setup.database_path);
  unlink(bell.path().c_str());
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0 || bind(socket, bell.address(), BellAddress::size()) != 0) {
    const Error error = failure(setup.database_path);
    close(socket);
    if (wake >= 0) close(wake);
    return error;
  }
  const int closes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (closes >= 0) inotify_add_watch(closes, setup.database_path.c_str(), IN_CLOSE);
  return std::unique_ptr<Doorbell>(new Doorbell(socket, closes, wake, std::move(setup)));
}

Doorbell::Doorbell(int socket, int closes, int wake, Setup setup)
    : socket_(socket),
      closes_(closes),
      wake_(wake),
      setup_(std::move(setup)),
      tally_(setup_.known_commit),
      thread_([this] { serve(); }) {}

Doorbell::~Doorbell() {
  stopped_ = true;
  eventfd_write(wake_, 1);
  thread_.join();
  close(socket_);
  if (closes_ >= 0) close(closes_);
  close(wake_);
}

void Doorbell::committed(std::int64_t commit) {
  tally_.know(commit);
  if (tally_.has_gap() && !misses_.exchange(true)) eventfd_write(wake_, 1);
}

void Doorbell::serve() {
  pollfd waiting[] = {{socket_, POLLIN, 0}, {wake_, POLLIN, 0}, {closes_, POLLIN, 0}};
  while (true) {
    int wait = -1;
    if (missing_until_) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*missing_until_ - Clock::now());
      wait = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }
    if (poll(waiting, closes_ < 0 ? 2 : 3, wait) < 0 && errno != EINTR) return;
    if (stopped_) return;
    eventfd_t ignored;
    eventfd_read(wake_, &ignored);
    // First the events, then the rings: who closed the file rang before.
    const bool closed = closes_ >= 0 && read_away(closes_);
    const Change change = hear();
    if (closed)
      if (const auto last = setup_.last_commit()) tally_.see(*last);
    if (!change.empty()) setup_.on_change(change);
    look_for_missing();
  }
}

// All rings that wait, as one.
Change Doorbell::hear() {
  Change change;
  std::array<char, 4096> bytes;
  for (;;) {
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
    change.add(rung ? *rung : Change::everything());  // else of another version of this program
  }
}

void Doorbell::look_for_missing() {
  if (!tally_.has_gap()) {
    missing_until_.reset();
    misses_ = false;
  } else if (!missing_until_) {
    missing_until_ = Clock::now() + limits::ring_late_max;
    misses_ = true;
  } else if (Clock::now() >= *missing_until_) {
    missing_until_.reset();
    misses_ = false;
    tally_.forgive();
    setup_.on_change(Change::everything());
  }
}

Ringer::~Ringer() {
  if (socket_ >= 0) close(socket_);
}

bool Ringer::ring(std::int64_t commit, const Change& change) {
  const BellAddress bell(path_);
  if (!bell.usable()) return false;
  if (socket_ < 0) socket_ = new_socket();
  if (socket_ < 0) return false;
  const std::string bytes = ring_bytes(commit, change);
  // A full queue means that the owner has rings to hear already, and it will miss this one.
  return sendto(socket_, bytes.data(), bytes.size(), 0, bell.address(), BellAddress::size()) > 0 ||
         errno == EAGAIN;
}

}  // namespace pawl::store::sqlite
