// Connection: one sqlite3 handle, and the only place that gives SQLite's result codes a meaning.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pawl/result.h"

namespace pawl::store::sqlite {

// What a failed statement means for its group.
enum class Fault : std::uint8_t {
  passing,      // full disk, busy file, no memory: the operation is valid; try again later
  poison,       // this operation cannot be applied; the others of its group can
  unreadable,   // the disk did not return a page: poison, if this persists while the rest of the disk works
  sync_failed,  // written bytes may already be lost: the process must end
};
Fault fault_of(int code);

// "disk I/O error (SQLITE_IOERR_WRITE, 778)": for people.
std::string describe(int code);

class Connection {
 public:
  enum class Mode : std::uint8_t {
    create,
    existing,
    look,  // at the file as it is on the disk: reads only, takes no lock, ignores the log and creates none
  };
  struct Setup {
    std::string path;
    Mode mode = Mode::existing;
    std::string vfs;  // empty: the default
    std::chrono::milliseconds busy_wait{0};
    bool any_thread = false;  // several threads may use the handle at once, because a worker's library has it
  };
  static Result<std::unique_ptr<Connection>> open(const Setup& setup);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { sqlite3_close_v2(database_); }

  sqlite3* handle() const { return database_; }
  const std::string& path() const { return path_; }

  // For settings and migrations: text without parameters, written in this folder.
  Status execute(const char* sql);
  Result<std::int64_t> read_number(const char* sql);
  Result<std::string> read_text(const char* sql);  // the first column of all rows, one line each

  // Whether it failed for lack of room on the disk, under any of SQLite's codes.
  bool is_full(int code) const;
  // Whether the disk now returns the head of the file, bypassing SQLite's caches.
  bool answers() const;
  // retry_later for what may pass, corrupt for a damaged file; names the file and what to do.
  Error error(int code, const char* doing) const;

 private:
  Connection(sqlite3* database, std::string path) : database_(database), path_(std::move(path)) {}
  sqlite3* database_;
  std::string path_;
};

}  // namespace pawl::store::sqlite
