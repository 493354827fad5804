#include "store/sqlite/file_hold.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/format.h"
#include "store/sqlite/fork_guard.h"
#include "store/sqlite/limits.h"

namespace pawl::store::sqlite {

namespace {

// The bytes that SQLite locks for writing before it deletes the log (sqlite3.c, SHARED_FIRST).
constexpr off_t shared_first = 0x4000'0002;
constexpr off_t shared_size = 510;

struct flock shared_range(short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = shared_first;
  range.l_len = shared_size;
  return range;
}

// One descriptor for each file on which this process has stores.
class HeldFiles {
 public:
  // The lock of this file, for one more store. EAGAIN: another process has the file exclusively right now.
  int lock(const std::string& path, FileId& id) {
    const std::lock_guard guard(mutex_);
    id = file_id_at(path);
    Entry* entry = find(id);
    if (entry == nullptr) {
      const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (file < 0) return errno;
      struct stat info {};
      if (fstat(file, &info) != 0) return errno;
      id = FileId{info.st_dev, info.st_ino};
      // Another file replaced it in between. Closing this descriptor could drop locks.
      if (find(id) != nullptr) return EAGAIN;
      close_in_children(file);
      entry = &entries_.emplace_back(Entry{id, file, 0, path});
    }
    if (entry->stores == 0) {
      struct flock range = shared_range(F_RDLCK);
      if (fcntl(entry->file, F_OFD_SETLK, &range) != 0) return errno == EACCES ? EAGAIN : errno;
    }
    ++entry->stores;
    entry->path = path;
    return 0;
  }

  void unlock(FileId id) {
    const std::lock_guard guard(mutex_);
    Entry* entry = find(id);
    if (entry == nullptr || --entry->stores > 0) return;
    struct flock range = shared_range(F_UNLCK);
    fcntl(entry->file, F_OFD_SETLK, &range);
  }

  std::string path_of(FileId id) {
    const std::lock_guard guard(mutex_);
    const Entry* entry = find(id);
    return entry != nullptr && entry->stores > 0 ? entry->path : "";
  }

  nlink_t names(FileId id) {
    const std::lock_guard guard(mutex_);
    const Entry* entry = find(id);
    struct stat info {};
    return entry != nullptr && fstat(entry->file, &info) == 0 ? info.st_nlink : 1;
  }

  // Closes unused descriptors, unless there is a POSIX lock on the file: the lock could belong to this process, and
  // would be lost. Such a descriptor stays here for the next store on its file.
  void tidy() {
    const std::lock_guard guard(mutex_);
    std::erase_if(entries_, [](const Entry& entry) {
      if (entry.stores > 0) return false;
      struct flock range {};
      range.l_type = F_WRLCK;
      range.l_whence = SEEK_SET;
      if (fcntl(entry.file, F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK) return false;
      keep_in_children(entry.file);
      close(entry.file);
      return true;
    });
  }

 private:
  struct Entry {
    FileId id;
    int file;
    int stores;
    std::string path;
  };
  Entry* find(FileId id) {
    for (Entry& entry : entries_)
      if (entry.id == id) return &entry;
    return nullptr;
  }

  std::mutex mutex_;
  std::vector<Entry> entries_;  // guarded by mutex_
};

// Never destroyed: stores may outlive the end of main().
HeldFiles& held_files() {
  static auto* const files = new HeldFiles;
  return *files;
}

}  // namespace

FileId file_id_at(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino};
}

std::string FileHold::path_of(FileId id) { return held_files().path_of(id); }

Result<FileHold> FileHold::take(const std::string& path, std::chrono::milliseconds wait_max) {
  FileHold hold;
  const auto until = std::chrono::steady_clock::now() + wait_max;
  while (const int why = held_files().lock(path, hold.file_)) {
    if (why != EAGAIN || std::chrono::steady_clock::now() > until)
      return Error{ErrorCode::retry_later,
                   format("cannot lock {}: {}; another program has it for itself, end that program"
                          " or wait",
                          path, std::strerror(why))};
    std::this_thread::sleep_for(limits::hold_retry);
  }
  hold.path_ = path;
  hold.locked_ = true;
  hold.log_path_ = path + "-wal";
  hold.index_path_ = path + "-shm";
  hold.log_ = file_id_at(hold.log_path_);
  hold.index_ = file_id_at(hold.index_path_);
  return hold;
}

FileHold& FileHold::operator=(FileHold&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(log_path_, other.log_path_);
  std::swap(index_path_, other.index_path_);
  std::swap(file_, other.file_);
  std::swap(log_, other.log_);
  std::swap(index_, other.index_);
  std::swap(locked_, other.locked_);
  return *this;
}

FileHold::~FileHold() {
  if (path_.empty()) return;
  let_go();
  held_files().tidy();
}

void FileHold::let_go() {
  if (std::exchange(locked_, false)) held_files().unlock(file_);
}

FileHold::Place FileHold::look() const {
  struct stat info {};
  const bool found = stat(path_.c_str(), &info) == 0;
  if (!found || FileId{info.st_dev, info.st_ino} != file_)
    return held_files().names(file_) == 0 ? Place::removed : Place::away;
  if (file_id_at(log_path_) != log_ || file_id_at(index_path_) != index_) return Place::log_lost;
  return info.st_nlink == 1 ? Place::here : Place::two_names;
}

bool FileHold::log_deleted() const { return file_id_at(log_path_) == FileId{}; }

std::string FileHold::say(Place place) const {
  switch (place) {
    case Place::here:
      return format("{} is in its place", path_);
    case Place::two_names:
      return format(
          "{} has a second name (a hard link), and its log stands beside one of them"
          " only; remove the other name (find it with: find / -xdev -samefile {}), then"
          " work goes on",
          path_, path_);
    case Place::away:
      return format(
          "{} was moved away or replaced while this process runs on it; nothing is"
          " acknowledged until it is back in its place. To move a store, stop the process"
          " first",
          path_);
    case Place::removed:
      return format(
          "{} was removed while this process ran on it: what it held is gone with it."
          " Restore it from a backup",
          path_);
    case Place::log_lost:
      return format(
          "{}-wal or {}-shm was removed or replaced while this process ran on it. Leave"
          " the files beside a store alone while it is open",
          path_, path_);
  }
  return path_;
}

}  // namespace pawl::store::sqlite
