// OwnerLock: which process owns the lanes of a file. An operating-system lock on `<file>-owner`: it ends with the
// process, however that ends, and costs nothing while it is held. The lock file stays, with the owner's record in it.
// Only the owner has it open for writing: OwnerWatch in other processes is notified when that descriptor is closed. A
// forked child keeps neither the lock nor the descriptor.
//
// Threads: any.
#pragma once

#include <mutex>
#include <string>

#include "pawl/result.h"
#include "store/sqlite/lane_writer.h"
#include "store/sqlite/owner_record.h"

namespace pawl::store::sqlite {

inline std::string owner_path(const std::string& database_path) { return database_path + "-owner"; }

class OwnerLock final : public Ownership {
 public:
  explicit OwnerLock(const std::string& database_path) : path_(owner_path(database_path)) {}
  OwnerLock(const OwnerLock&) = delete;
  OwnerLock& operator=(const OwnerLock&) = delete;
  ~OwnerLock() override;

  Result<bool> try_own() override;  // true: this process owns it, since now or before
  bool owned() const;
  // Whether some process owns the file at this path, without taking it.
  static bool is_taken(const std::string& database_path);
  // For the next owner. Only while owned.
  void write(const OwnerRecord& record);
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  mutable std::mutex mutex_;
  int file_ = -1;    // guarded by mutex_; open exactly while owned, as is the next
  int writer_ = -1;  // the same file, open for writing; closed after the lock is released
};

}  // namespace pawl::store::sqlite
