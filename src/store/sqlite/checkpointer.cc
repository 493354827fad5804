#include "store/sqlite/checkpointer.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/format.h"
#include "store/sqlite/limits.h"
#include "store/sqlite/log_readers.h"

namespace pawl::store::sqlite {

namespace {

constexpr std::uint64_t megabyte = 1'000'000;

std::uint64_t free_bytes_at(const std::string& folder) {
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) return std::numeric_limits<std::int64_t>::max();
  return disk.f_bavail * disk.f_frsize;
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

Checkpointer::Checkpointer(std::unique_ptr<Connection> connection, Setup setup)
    : setup_(std::move(setup)),
      connection_(std::move(connection)),
      folder_(folder_of(connection_->path())),
      start_at_(setup_.pages) {
  // It never waits inside SQLite, because it may hold the writer's turn meanwhile.
  sqlite3_busy_timeout(connection_->handle(), 0);
  look_at_disk(0);
  thread_ = std::thread([this] { serve(); });
}

Checkpointer::~Checkpointer() { stop(); }

void Checkpointer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  copied_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Checkpointer::look_at_disk(int pages) {
  looked_at_ = pages;
  free_bytes_ = free_bytes_at(folder_);
  const std::uint64_t room = (free_bytes_ + bytes(pages)) / limits::log_share_of_disk;
  start_at_ = static_cast<int>(std::clamp<std::uint64_t>(
      room / setup_.frame_bytes, static_cast<std::uint64_t>(std::min(limits::checkpoint_pages_min, setup_.pages)),
      static_cast<std::uint64_t>(setup_.pages)));
}

void Checkpointer::note_log_pages(int pages) {
  log_pages_ = pages;
  if (pages < looked_at_) looked_at_ = 0;  // it restarted
  if (pages - looked_at_ >= limits::disk_look_pages) look_at_disk(pages);
  if (pages >= start_at_) wake();
}

// The copy can make the database file longer by the length of the log.
bool Checkpointer::crowded() const {
  const int pages = log_pages_;
  if (bytes(pages) >= setup_.log_bytes_max) return true;
  return pages > limits::checkpoint_pages_min && bytes(pages) > free_bytes_;
}

Status Checkpointer::room() {
  if (!crowded()) return {};
  look_at_disk(log_pages_);  // space may have been freed
  if (!crowded()) return {};
  // After a wait that failed, a caller does not wait again at once: its thread has other work.
  const auto now = std::chrono::steady_clock::now();
  const auto until = now < no_wait_until_ ? now : now + limits::room_wait;
  // The running round may have begun before the last commit: the one after it decides.
  for (int round = 0; round < 2 && crowded(); ++round) {
    wake();
    std::unique_lock lock(mutex_);
    const std::uint64_t before = rounds_;
    copied_.wait_until(lock, until, [&] { return stopped_ || rounds_ != before; });
  }
  look_at_disk(log_pages_);
  if (!crowded()) return {};
  no_wait_until_ = std::chrono::steady_clock::now() + limits::room_no_wait;
  return Error{ErrorCode::retry_later, why_crowded()};
}

std::string Checkpointer::why_crowded() const {
  const std::uint64_t log = bytes(log_pages_);
  if (room_failed_ || log < setup_.log_bytes_max) {
    const std::string readers = room_failed_ ? "" : readers_of_log(connection_->path());
    return format(
        "the disk of {} is full: its log of {} MB needs as much room again to be copied home, and {}"
        " MB are left; free some space on it{}",
        connection_->path(), log / megabyte, free_bytes_ / megabyte,
        readers.empty() ? "" : format(", and end what keeps the log: {}", readers));
  }
  const std::string readers = readers_of_log(connection_->path());
  return format(
      "the log of {} has {} MB, and no more is written (log_bytes_max): {} keeps a transaction"
      " open, so it cannot start anew; end that transaction",
      connection_->path(), log / megabyte, readers.empty() ? "another connection" : readers);
}

void Checkpointer::wake() {
  {
    const std::lock_guard lock(mutex_);
    if (wanted_) return;
    wanted_ = true;
  }
  changed_.notify_one();
}

void Checkpointer::copy_now(Space space) {
  if (space == Space::give_back) give_back_ = true;
  wake();
}

void Checkpointer::keep_trying() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(helpers_wanted_, true)) return;
  }
  changed_.notify_one();
}

// Returns when a copy is wanted, or at the end.
void Checkpointer::await_something(std::unique_lock<std::mutex>& lock) {
  const auto is_wanted = [this] { return wanted_ || stopped_; };
  while (!is_wanted()) {
    if (!helpers_wanted_) {
      changed_.wait(lock, [&] { return is_wanted() || helpers_wanted_; });
      continue;
    }
    if (changed_.wait_for(lock, limits::helper_retry, is_wanted)) return;
    lock.unlock();
    const bool made = setup_.make_helpers();
    lock.lock();
    helpers_wanted_ = !made;
  }
}

void Checkpointer::serve() {
  std::unique_lock lock(mutex_);
  auto pause = limits::log_retry_min;
  while (true) {
    await_something(lock);
    if (stopped_) return;
    wanted_ = false;
    lock.unlock();
    const bool anew = bring_home();
    lock.lock();
    ++rounds_;
    copied_.notify_all();
    if (anew) {
      pause = limits::log_retry_min;
      continue;
    }
    // A reader's transaction, or a full disk: try repeatedly, but not at every commit.
    changed_.wait_for(lock, pause, [this] { return stopped_; });
    pause = std::min(pause * 2, limits::log_retry_max);
    wanted_ = true;
  }
}

Checkpointer::Copied Checkpointer::copy(int mode) {
  Copied copied;
  copied.code =
      sqlite3_wal_checkpoint_v2(connection_->handle(), nullptr, mode, &copied.log_pages, &copied.copied_pages);
  if (fault_of(copied.code) == Fault::sync_failed) setup_.on_sync_failed(copied.code);
  return copied;
}

int Checkpointer::mark(bool on) {
  const int code = setup_.mark(on);
  if (fault_of(code) == Fault::sync_failed) setup_.on_sync_failed(code);
  return code;
}

// Without room, or beside another process that writes, the mark is left out. Then a copy without the log is not
// recognised; nothing else is wrong.
Checkpointer::Copied Checkpointer::copy_last(int mode) {
  const std::lock_guard pause(*setup_.writer);
  const bool marked = mark(true) == SQLITE_OK;
  const Copied copied = copy(mode);
  if (copied.code == SQLITE_OK && copied.rest() <= 0) log_pages_ = 0;
  if (marked) mark(false);
  return copied;
}

bool Checkpointer::bring_home() {
  Copied copied = copy(SQLITE_CHECKPOINT_PASSIVE);
  bool held = false;  // a reader's transaction keeps the rest from being copied
  for (int round = 1; round < limits::checkpoint_rounds_max && !held; ++round) {
    if (copied.code != SQLITE_OK || copied.rest() <= limits::checkpoint_tail_pages) break;
    const int before = copied.copied_pages;
    copied = copy(SQLITE_CHECKPOINT_PASSIVE);
    held = copied.copied_pages == before;
  }
  // A log that outgrew its usual length is cut; otherwise its space is reused, which is faster.
  const bool large = copied.log_pages > 2 * setup_.pages || give_back_ || crowded();
  if (copied.code == SQLITE_OK && !held)
    copied = copy_last(large ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE);
  room_failed_ = connection_->is_full(copied.code);
  if (copied.code == SQLITE_OK && copied.rest() <= 0) {
    give_back_ = false;
    count_.fetch_add(1, std::memory_order_relaxed);
    warned_ = false;
    unnamed_rounds_ = 0;
    return true;
  }
  // Busy means that another process copies or reads; any other failure passes or appears at the next commit.
  warn(copied);
  return log_pages_ < start_at_ && !give_back_;
}

void Checkpointer::warn(const Copied& copied) {
  const int pages = std::max(copied.log_pages, log_pages_.load());
  if (warned_ || room_failed_ || pages < limits::log_warning_factor * setup_.pages) return;
  std::string readers;
  {
    const std::lock_guard pause(*setup_.writer);  // or the report would name this process
    readers = readers_of_log(connection_->path());
  }
  // The reader may have ended just now, or its process is in another container and the kernel does not name it here.
  if (readers.empty() && ++unnamed_rounds_ < limits::log_unnamed_rounds) return;
  if (readers.empty()) readers = "a process that is not to be seen from here (in another container, perhaps)";
  warned_ = true;
  const bool held = copied.code == SQLITE_OK || (copied.code & 0xff) == SQLITE_BUSY;
  setup_.on_problem(
      format("the log of {} has grown to {} MB: {}. At {} MB nothing more is written", connection_->path(),
             bytes(pages) / megabyte,
             held ? format("{} keeps a transaction open, so it cannot start anew; end that transaction", readers)
                  : format("it cannot be copied home ({})", describe(copied.code)),
             setup_.log_bytes_max / megabyte));
}

}  // namespace pawl::store::sqlite
