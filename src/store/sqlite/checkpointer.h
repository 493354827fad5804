// Checkpointer: copies the write-ahead log into the database file, so that the writer never does and the log stays
// bounded.
//
// 1. A copy beside the writer (passive) leaves what the writer adds meanwhile, and the log restarts only when nothing
//    is left. So it copies a few rounds beside the writer until the rest is short, then stops the writer for that rest.
// 2. The log is copied early enough that the copy always finds room: when it reaches a quarter of the free disk space,
//    at most Setup::pages.
// 3. A reader's open transaction keeps the log from restarting. The report names its process, or has no name when the
//    process cannot be seen. Copies are repeated until the transaction has ended, and then the log is cut to its usual
//    length. From Setup::log_bytes_max on, or when the copy would find no room on the disk, room() refuses.
// 4. The database file itself is marked as lacking its log; read together with its log, it is not. So a copy without
//    the log is recognised. The mark is the sign of store_state.writer: it is set just before the last copy and cleared
//    in the log just after it.
//
// This is also the store's one permanent thread: when another thread could not be started (a doorbell, a watch over the
// owner), this one tries again.
//
// Threads: its own, on its own connection; the writer calls note_log_pages() and room().
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "store/sqlite/connection.h"
#include "store/sqlite/writer_turn.h"

namespace pawl::store::sqlite {

class Checkpointer {
 public:
  struct Setup {
    int pages = 0;                                 // the log length that starts a copy
    std::uint64_t frame_bytes = 0;                 // of a page in the log
    std::uint64_t log_bytes_max = 0;               // from here on nothing more is written
    WriterTurn* writer = nullptr;                  // held while the writer commits
    std::function<int(bool on)> mark;              // called while the writer is stopped
    std::function<void(int code)> on_sync_failed;  // the database file could not be synced
    std::function<void(const std::string&)> on_problem;
    std::function<bool()> make_helpers;  // called because of keep_trying(); false: not yet
  };
  Checkpointer(std::unique_ptr<Connection> connection, Setup setup);
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;
  ~Checkpointer();  // waits for a running copy
  void stop();      // the same, but the object stays: nothing is copied any more

  // After each commit.
  void note_log_pages(int pages);
  // Before each commit: whether the log may grow. Waits briefly for a copy that makes room.
  // REQUIRES: the caller does not hold the writer's mutex.
  Status room();
  // A copy now, even of a short log: this process has become the owner, or the disk is full and the log must give back
  // space.
  enum class Space : std::uint8_t { keep, give_back };
  void copy_now(Space space);
  // Calls make_helpers from time to time, until it returns true.
  void keep_trying();
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  struct Copied {
    int code = SQLITE_OK;
    int log_pages = 0;
    int copied_pages = 0;
    int rest() const { return log_pages - copied_pages; }
  };
  void wake();
  void serve();
  void await_something(std::unique_lock<std::mutex>& lock);
  bool bring_home();  // false: the log could not restart
  Copied copy(int mode);
  Copied copy_last(int mode);
  int mark(bool on);
  void look_at_disk(int pages);
  bool crowded() const;
  void warn(const Copied& copied);
  std::string why_crowded() const;
  std::uint64_t bytes(int pages) const { return static_cast<std::uint64_t>(pages) * setup_.frame_bytes; }

  const Setup setup_;
  std::unique_ptr<Connection> connection_;  // used by the thread only
  const std::string folder_;
  std::atomic<std::uint64_t> count_{0};
  std::atomic<int> log_pages_{0};          // not copied yet
  std::atomic<int> start_at_;              // the log length that starts a copy on this disk
  std::atomic<std::uint64_t> free_bytes_;  // of the disk, at the last check
  std::atomic<bool> room_failed_{false};   // the last copy found no room on the disk
  std::atomic<bool> give_back_{false};     // the next copy cuts the log
  int looked_at_ = 0;                      // the log length at that check; used by the writer only, as is the next
  std::chrono::steady_clock::time_point no_wait_until_{};
  bool warned_ = false;     // used by the thread only, as is the next
  int unnamed_rounds_ = 0;  // failed rounds in which no process was seen that keeps the log
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable copied_;
  std::uint64_t rounds_ = 0;  // guarded by mutex_, as are the next three
  bool wanted_ = false;
  bool helpers_wanted_ = false;
  bool stopped_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace pawl::store::sqlite
