#include "store/sqlite/owner_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/format.h"

namespace pawl::store::sqlite {

OwnerLock::~OwnerLock() {
  if (file_ >= 0) close(file_);
  if (writer_ >= 0) close(writer_);
}

bool OwnerLock::owned() const {
  const std::lock_guard lock(mutex_);
  return file_ >= 0;
}

Result<bool> OwnerLock::try_own() {
  const std::lock_guard lock(mutex_);
  if (file_ >= 0) return true;
  const int file = open(path_.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0)
    return Error{ErrorCode::retry_later, format("cannot open {}: {}", path_, std::strerror(errno))};
  if (flock(file, LOCK_EX | LOCK_NB) == 0) {
    file_ = file;
    // Without it the lock holds all the same; others then notice the end of this process only when
    // they are started anew.
    writer_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    return true;
  }
  const int why = errno;
  close(file);
  if (why == EWOULDBLOCK) return false;
  return Error{ErrorCode::retry_later, format("cannot lock {}: {}", path_, std::strerror(why))};
}

}  // namespace pawl::store::sqlite
