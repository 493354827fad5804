// The doorbell: a process that does not own the lanes uses it to notify the owner of a commit. A datagram socket
// `<file>-bell`: no connection, no state, and no thread wakes while nothing happens. A notification contains the
// commit's number and what the commit touched, so that the owner looks only there. It is a hint: the file holds the
// truth.
//
// A notification may be lost: a full queue, or a process that died between its commit and its notification. Commits are
// numbered, so the owner notices a missing one: by its own next commit, or when another process closes the file, which
// the kernel reports however that process ended. Then the owner looks everywhere, once.
//
// The socket may be deleted, or may never have been created (a full disk). So the owner watches it and the lock file
// `<file>-owner`: it creates a deleted socket again, and a process that finds no socket touches the lock file instead.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "pawl/result.h"
#include "store/change.h"
#include "store/sqlite/commit_tally.h"

namespace pawl::store::sqlite {

// The owner's side: a thread that calls `on_change` for one or more notifications. It ends with this object.
class Doorbell {
 public:
  struct Setup {
    std::string database_path;
    std::int64_t known_commit = 0;  // the owner has looked up to here, or will
    std::function<void(const Change&)> on_change;
    std::function<std::optional<std::int64_t>()> last_commit;  // of the file; none: not readable now
  };
  // REQUIRES: this process holds the owner lock; a socket left by a dead owner is replaced. A socket that cannot be
  // created now is created later. Without a thread or a descriptor: retry_later.
  static Result<std::unique_ptr<Doorbell>> listen(Setup setup);
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;
  ~Doorbell();

  void committed(std::int64_t commit);  // by this process; any thread

 private:
  using Clock = std::chrono::steady_clock;
  struct Seen {
    bool closed = false;   // another process closed the file
    bool touched = false;  // the lock file was touched, or the socket was changed
  };
  Doorbell(int events, int wake, Setup setup);
  void serve();
  int time_to_wait() const;  // for poll()
  Seen read_events();
  Change receive();
  void look_for_missing();
  void look_everywhere();
  bool in_place() const;  // the path leads to this object's socket
  bool hang();            // creates the socket; false: not possible now
  void take_down();

  const int events_;  // inotify; -1: not available
  const int wake_;    // an eventfd
  const Setup setup_;
  CommitTally tally_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> misses_{false};  // the thread waits for a late notification
  // Used by the thread only.
  std::optional<Clock::time_point> missing_until_;
  int socket_ = -1;
  int closes_ = -1;          // the watch of the file
  int watch_ = -1;           // of the socket
  std::uint64_t inode_ = 0;  // of the socket's path
  std::thread thread_;
};

// The other side. Never blocks and never reports a failure: without an owner there is no one to notify.
class Ringer {
 public:
  explicit Ringer(std::string database_path) : path_(std::move(database_path)) {}
  Ringer(const Ringer&) = delete;
  Ringer& operator=(const Ringer&) = delete;
  ~Ringer();

  // Whether an owner's socket took it; if not, the lock file was touched.
  bool ring(std::int64_t commit, const Change& change);

 private:
  const std::string path_;
  int socket_ = -1;
};

}  // namespace pawl::store::sqlite
