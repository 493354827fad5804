// OwnerLock: which process owns the lanes of a file. An operating-system lock on `<file>-owner`: it
// ends with the process, however that ends, and costs nothing while it is held. The lock file
// stays; it is empty. Only the owner has it open for writing: the close of that descriptor is what
// OwnerWatch hears in other processes.
//
// Threads: any.
#pragma once

#include <mutex>
#include <string>

#include "pawl/result.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

class OwnerLock final : public Ownership {
 public:
  explicit OwnerLock(const std::string& database_path) : path_(database_path + "-owner") {}
  OwnerLock(const OwnerLock&) = delete;
  OwnerLock& operator=(const OwnerLock&) = delete;
  ~OwnerLock() override;

  Result<bool> try_own() override;  // true: this process owns it, since now or since before
  bool owned() const;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  mutable std::mutex mutex_;
  int file_ = -1;    // guarded by mutex_; open exactly while owned, as is
  int writer_ = -1;  // the same file, open for writing; closed after the lock is free
};

}  // namespace pawl::store::sqlite
