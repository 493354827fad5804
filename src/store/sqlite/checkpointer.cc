#include "store/sqlite/checkpointer.h"

#include "store/sqlite/limits.h"

namespace pawl::store::sqlite {

Checkpointer::Checkpointer(std::unique_ptr<Connection> connection, Setup setup)
    : setup_(std::move(setup)), connection_(std::move(connection)), thread_([this] { serve(); }) {}

Checkpointer::~Checkpointer() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Checkpointer::wake() {
  {
    const std::lock_guard lock(mutex_);
    if (wanted_) return;
    wanted_ = true;
  }
  changed_.notify_one();
}

void Checkpointer::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return wanted_ || stopped_; });
    if (stopped_) return;
    lock.unlock();
    bring_home();
    lock.lock();
    wanted_ = false;
  }
}

Checkpointer::Copied Checkpointer::copy() {
  Copied copied;
  copied.code = sqlite3_wal_checkpoint_v2(connection_->handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                          &copied.log_pages, &copied.copied_pages);
  if (fault_of(copied.code) == Fault::sync_failed) setup_.on_sync_failed(copied.code);
  return copied;
}

void Checkpointer::bring_home() {
  Copied copied = copy();
  for (int round = 1; round < limits::checkpoint_rounds_max; ++round) {
    // Busy means that another process copies; any other failure passes or shows at the next commit.
    if (copied.code != SQLITE_OK) return;
    if (copied.rest() <= limits::checkpoint_tail_pages) break;
    copied = copy();
  }
  if (copied.code == SQLITE_OK) {
    const std::lock_guard pause(*setup_.writer);
    copied = copy();
  }
  if (copied.code == SQLITE_OK) count_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace pawl::store::sqlite
