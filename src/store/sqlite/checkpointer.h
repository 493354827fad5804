// Checkpointer: copies the write-ahead log home, so that the writer never does and the log stays
// bounded.
//
// A copy beside the writer (passive) leaves what the writer adds meanwhile, and the log starts anew
// only when nothing is left. So it copies a few rounds beside the writer until the rest is short,
// then stops the writer for that rest.
//
// Threads: its own, on its own connection; note_log_pages() comes from the writer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "store/sqlite/connection.h"

namespace pawl::store::sqlite {

class Checkpointer {
 public:
  struct Setup {
    int pages = 0;                                 // the log's length that starts a copy
    std::mutex* writer = nullptr;                  // held while the writer commits
    std::function<void(int code)> on_sync_failed;  // the home file could not be synced
  };
  Checkpointer(std::unique_ptr<Connection> connection, Setup setup);
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;
  ~Checkpointer();  // waits for a running copy

  void note_log_pages(int pages) {
    if (pages >= setup_.pages) wake();
  }
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
  void bring_home();
  Copied copy();

  const Setup setup_;
  std::unique_ptr<Connection> connection_;  // used by the thread only
  std::atomic<std::uint64_t> count_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false;   // guarded by mutex_
  bool stopped_ = false;  // guarded by mutex_
  std::thread thread_;    // last: it uses all of the above
};

}  // namespace pawl::store::sqlite
