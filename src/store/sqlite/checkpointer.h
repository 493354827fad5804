// Checkpointer: copies the write-ahead log home, so that the writer never does and the log stays
// bounded.
//
// 1. A copy beside the writer (passive) leaves what the writer adds meanwhile, and the log starts
//    anew only when nothing is left. So it copies a few rounds beside the writer until the rest is
//    short, then stops the writer for that rest.
// 2. The log is copied home early enough that the copy always finds room: at a quarter of what the
//    disk has left, at most at Setup::pages.
// 3. Somebody's open transaction keeps the log from starting anew. It is named, or reported without
//    a name when it belongs to somebody who is not to be seen; copies go on now and then until it
//    has ended, and the log is cut to its usual length. From
//    Setup::log_bytes_max on, or when the copy would find no room on the disk, room() refuses.
// 4. The file at home says that it lacks a log, the file with its log does not: so a copy without
//    the log is recognised. The sign of store_state.writer is that mark: it is set just before the
//    last copy and taken back in the log just after it.
//
// It is also the store's one thread that is always there: what could not be made for want of another
// one (a bell, a watch over the owner) is tried again by it.
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
    int pages = 0;                                 // the log's length that starts a copy
    std::uint64_t frame_bytes = 0;                 // of a page in the log
    std::uint64_t log_bytes_max = 0;               // then nothing more is written
    WriterTurn* writer = nullptr;                  // held while the writer commits
    std::function<int(bool on)> mark;              // called while the writer stands still
    std::function<void(int code)> on_sync_failed;  // the home file could not be synced
    std::function<void(const std::string&)> on_problem;
    std::function<bool()> make_helpers;  // asked for by keep_trying(); false: not yet
  };
  Checkpointer(std::unique_ptr<Connection> connection, Setup setup);
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;
  ~Checkpointer();  // waits for a running copy
  void stop();      // the same, and the object stays: nothing is copied any more

  // After each commit.
  void note_log_pages(int pages);
  // Before each commit: whether the log may grow. Waits a little for a copy that makes room.
  // REQUIRES: the caller does not hold the writer's mutex.
  Status room();
  // A copy now, however short the log is: this process has become the owner, or the disk is full and
  // the log must give back what it can.
  enum class Space : std::uint8_t { keep, give_back };
  void copy_now(Space space);
  // Calls make_helpers now and then, until it says that they are made.
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
  bool bring_home();  // false: the log could not start anew
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
  std::atomic<int> log_pages_{0};          // not copied home
  std::atomic<int> start_at_;              // the length that starts a copy on this disk
  std::atomic<std::uint64_t> free_bytes_;  // of the disk, when it was last looked at
  std::atomic<bool> room_failed_{false};   // the last copy found no room on the disk
  std::atomic<bool> give_back_{false};     // the next copy cuts the log
  int looked_at_ = 0;                      // the log's length then; of the writer, as is
  std::chrono::steady_clock::time_point no_wait_until_{};
  bool warned_ = false;     // of the thread, as is
  int unnamed_rounds_ = 0;  // that failed although nobody was seen who keeps the log
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
