// FileHold: this process's claim on the very file that SQLite has open, and the view of whether its
// path still leads there.
//
// 1. SQLite's own locks are POSIX locks: the first close() of that file by anybody in this process
//    drops them all, and the next program would take the file for unused, copy the log home and
//    delete it. So a second lock stands where SQLite would have to lock for that: an open file
//    description lock, which ends only with its descriptor.
// 2. That descriptor is itself never closed while SQLite has locks on the file in this process. All
//    stores of a process on one file (device and inode) share it.
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

// What stat() says; all zero when there is nothing at the path.
FileId file_id_at(const std::string& path);

class FileHold {
 public:
  // What an acknowledgement needs to know.
  enum class Place : std::uint8_t {
    here,       // the path leads to the file, and to its log
    two_names,  // another hard link leads to it as well: its log would be another one
    away,       // it was moved, or another file is in its place
    removed,    // it has no name any more
    log_lost,   // its log or the log's index is not the one that we write to
  };

  FileHold() = default;
  FileHold(FileHold&& other) noexcept { *this = std::move(other); }
  FileHold& operator=(FileHold&& other) noexcept;
  ~FileHold();

  // REQUIRES: SQLite has the file open and has read from it, so that the log exists.
  static Result<FileHold> take(const std::string& path, std::chrono::milliseconds wait_max);

  // The path by which this process has the file open; empty: it has not.
  static std::string path_of(FileId id);

  Place look() const;
  std::string say(Place place) const;  // what is wrong and what to do
  FileId id() const { return file_; }
  bool log_deleted() const;  // nothing is at the log's path

  // Before SQLite closes the file, so that the last one can copy the log home.
  void let_go();

 private:
  std::string path_;  // empty: holds nothing
  std::string log_path_, index_path_;
  FileId file_, log_, index_;
  bool locked_ = false;
};

}  // namespace pawl::store::sqlite
