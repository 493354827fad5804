// FileHold: this process's claim on the file that SQLite has open, and the check that its path still leads to that
// file.
//
// 1. SQLite's own locks are POSIX locks: the first close() of that file anywhere in this process drops them all. The
//    next program would then think that the file is unused, copy the log into it and delete the log. So a second lock
//    covers the bytes that SQLite would have to lock for that: an open file description lock, which ends only with its
//    descriptor.
// 2. That descriptor is never closed while SQLite has locks on the file in this process. All stores of a process on one
//    file (device and inode) share it.
//
// Threads: any.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "pawl/result.h"

namespace pawl::store::sqlite {

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

// From stat(); all zero when there is nothing at the path.
FileId file_id_at(const std::string& path);

class FileHold {
 public:
  // What must be known before an acknowledgement.
  enum class Place : std::uint8_t {
    here,       // the path leads to the file, and to its log
    two_names,  // another hard link leads to it too, and would get another log
    away,       // it was moved, or another file is in its place
    removed,    // it has no name any more
    log_lost,   // its log or the log's index is not the one that this process writes to
  };

  FileHold() = default;
  FileHold(FileHold&& other) noexcept { *this = std::move(other); }
  FileHold& operator=(FileHold&& other) noexcept;
  ~FileHold();

  // REQUIRES: SQLite has the file open and has read from it, so that the log exists.
  static Result<FileHold> take(const std::string& path, std::chrono::milliseconds wait_max);

  // The path by which this process has the file open; empty: it is not open.
  static std::string path_of(FileId id);

  Place look() const;
  std::string say(Place place) const;  // what is wrong and what to do
  FileId id() const { return file_; }
  bool log_deleted() const;  // nothing is at the log's path

  // Before SQLite closes the file, so that the last process can copy the log into it.
  void let_go();

 private:
  std::string path_;  // empty: holds nothing
  std::string log_path_, index_path_;
  FileId file_, log_, index_;
  bool locked_ = false;
};

}  // namespace pawl::store::sqlite
