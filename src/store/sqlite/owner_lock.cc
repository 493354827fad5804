#include "store/sqlite/owner_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/format.h"
#include "store/sqlite/fork_guard.h"

namespace pawl::store::sqlite {

OwnerLock::~OwnerLock() {
  for (const int descriptor : {file_, writer_}) {
    if (descriptor < 0) continue;
    keep_in_children(descriptor);
    close(descriptor);
  }
}

bool OwnerLock::owned() const {
  const std::lock_guard lock(mutex_);
  return file_ >= 0;
}

Result<bool> OwnerLock::try_own() {
  const std::lock_guard lock(mutex_);
  if (file_ >= 0) return true;
  const int file = open(path_.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return Error{ErrorCode::retry_later, format("cannot open {}: {}", path_, std::strerror(errno))};
  if (flock(file, LOCK_EX | LOCK_NB) == 0) {
    file_ = file;
    close_in_children(file_);
    // Without this descriptor the lock still holds, but other processes notice the end of this one only when they are
    // restarted.
    writer_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (writer_ >= 0) close_in_children(writer_);
    return true;
  }
  const int why = errno;
  close(file);
  if (why == EWOULDBLOCK) return false;
  return Error{ErrorCode::retry_later, format("cannot lock {}: {}", path_, std::strerror(why))};
}

bool OwnerLock::is_taken(const std::string& database_path) {
  const int file = open(owner_path(database_path).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool taken = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(file);
  return taken;
}

void OwnerLock::write(const OwnerRecord& record) {
  const std::lock_guard lock(mutex_);
  if (writer_ < 0) return;
  const std::string line = record.line();
  // A record that cannot be written is behind, which only costs a check.
  static_cast<void>(pwrite(writer_, line.data(), line.size(), 0) < 0);
}

}  // namespace pawl::store::sqlite
