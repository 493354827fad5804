#include "store/sqlite/connection.h"

#include <sys/statvfs.h>

#include <cctype>
#include <cerrno>
#include <filesystem>

#include "base/format.h"
#include "store/sqlite/limits.h"
#include "store/sqlite/log_vfs.h"

namespace pawl::store::sqlite {

namespace {

constexpr int primary(int code) { return code & 0xff; }

const char* advice(int code) {
  switch (primary(code)) {
    case SQLITE_FULL:
      return "its disk is full: free some space on it; nothing was written";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program holds a long transaction on it; end that program or wait";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return "make the file and its directory writable for this user";
    case SQLITE_IOERR:
      return "look at the system's log for errors of the disk";
    case SQLITE_SCHEMA:
      return "a newer program has brought it forward; end this program and start the newer one";
    case SQLITE_NOMEM:
      return "the process is out of memory";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "restore it from a backup, or recover what is readable with: sqlite3 FILE .recover";
    default:
      return "see the SQLite result code";
  }
}

// A path as part of a URI: everything except letters, digits and slashes as %XX.
std::string escaped(const std::string& path) {
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '/')
      text += c;
    else
      text += format("%{:02X}", byte);
  }
  return text;
}

int take_first(void* lines, int columns, char** values, char**) {
  if (columns > 0) static_cast<std::vector<std::string>*>(lines)->emplace_back(values[0] != nullptr ? values[0] : "");
  return 0;
}

// SQLite's own memory accounting takes a lock at every allocation and is not used here: 8 % of a commit. Set once per
// process; it is refused without harm when the embedding program already uses SQLite.
void stop_memory_accounting() {
  static const int done = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(done);
}

}  // namespace

Fault fault_of(int code) {
  switch (code) {
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_DIR_FSYNC:
      return Fault::sync_failed;
    case SQLITE_IOERR_READ:
    case SQLITE_IOERR_SHORT_READ:
    case SQLITE_IOERR_DATA:
    case SQLITE_IOERR_CORRUPTFS:
      return Fault::unreadable;
    default:
      break;
  }
  switch (primary(code)) {
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
    case SQLITE_CORRUPT:  // a damaged page stops the jobs on it, not the others
      return Fault::poison;
    default:
      return Fault::passing;
  }
}

std::string describe(int code) { return format("{} (SQLite code {})", sqlite3_errstr(code), code); }

Result<std::unique_ptr<Connection>> Connection::open(const Setup& setup) {
  stop_memory_accounting();
  sqlite3* database = nullptr;
  int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE | (setup.any_thread ? SQLITE_OPEN_FULLMUTEX : SQLITE_OPEN_NOMUTEX);
  if (setup.mode == Mode::create) flags |= SQLITE_OPEN_CREATE;
  std::string name = setup.path;
  if (setup.mode == Mode::look) {
    flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    name = "file:" + escaped(setup.path) + "?immutable=1";
  }
  const std::string vfs = setup.mode == Mode::look ? setup.vfs : log_vfs_over(setup.vfs);
  const int rc = sqlite3_open_v2(name.c_str(), &database, flags, vfs.empty() ? nullptr : vfs.c_str());
  std::unique_ptr<Connection> connection(new Connection(database, setup.path));
  if (rc != SQLITE_OK) return connection->error(rc, "open");
  sqlite3_busy_timeout(database, static_cast<int>(setup.busy_wait.count()));
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, limits::value_bytes_max);
  // A file may come from anywhere: its schema must not call functions with side effects.
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  return connection;
}

Status Connection::execute(const char* sql) {
  const int rc = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  if (rc != SQLITE_OK) return error(rc, "set up");
  return {};
}

Result<std::string> Connection::read_text(const char* sql) {
  std::vector<std::string> lines;
  const int rc = sqlite3_exec(database_, sql, take_first, &lines, nullptr);
  if (rc != SQLITE_OK) return error(rc, "read");
  std::string text;
  for (const std::string& line : lines) text.append(text.empty() ? "" : "\n").append(line);
  return text;
}

Result<std::int64_t> Connection::read_number(const char* sql) {
  const auto text = read_text(sql);
  if (!text) return text.error();
  return static_cast<std::int64_t>(std::strtoll(text->c_str(), nullptr, 10));
}

bool Connection::is_full(int code) const {
  if (primary(code) == SQLITE_FULL) return true;
  if (primary(code) != SQLITE_IOERR && primary(code) != SQLITE_CANTOPEN) return false;
  if (database_ != nullptr && sqlite3_system_errno(database_) == ENOSPC) return true;
  // SQLite does not keep the errno of every failed call.
  struct statvfs disk {};
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  return statvfs(folder.empty() ? "." : folder.c_str(), &disk) == 0 &&
         disk.f_bavail * disk.f_frsize < limits::disk_full_bytes;
}

bool Connection::answers() const {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(database_, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return false;
  if (file == nullptr || file->pMethods == nullptr) return false;
  char head[16];
  const int rc = file->pMethods->xRead(file, head, sizeof head, 0);
  return rc == SQLITE_OK || rc == SQLITE_IOERR_SHORT_READ;  // short: all of it is still in the log
}

Error Connection::error(int code, const char* doing) const {
  const char* said = database_ == nullptr ? "" : sqlite3_errmsg(database_);
  if (is_full(code)) {
    code = SQLITE_FULL;
    said = "no space left";
  }
  const bool damaged = primary(code) == SQLITE_CORRUPT || primary(code) == SQLITE_NOTADB;
  return Error{damaged ? ErrorCode::corrupt : ErrorCode::retry_later,
               format("cannot {} {}: {}: {}; {}", doing, path_, describe(code), said, advice(code))};
}

}  // namespace pawl::store::sqlite
