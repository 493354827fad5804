#include "store/sqlite/open.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/format.h"
#include "store/sqlite/owner_lock.h"
#include "store/sqlite/owner_record.h"

namespace pawl::store::sqlite {

namespace {

Error bad_file(ErrorCode code, const std::string& path, std::string_view what) {
  return Error{code, format("{} {}", path, what)};
}

std::int64_t bytes_at(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}
bool is_empty_or_missing(const std::string& path) { return bytes_at(path) == 0; }

Error newer_file(const std::string& path, std::int64_t version, std::size_t version_max) {
  return bad_file(
      ErrorCode::unsupported, path,
      format("has version {}, this program knows versions up to {}; use a newer program", version, version_max));
}

Status check_directory(const std::string& path) {
  const std::filesystem::path file(path);
  const auto parent = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  struct stat info {};
  if (stat(parent.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return bad_file(ErrorCode::not_found, path,
                    format("cannot be opened: there is no directory {}; make it first", parent.string()));
  if (faccessat(AT_FDCWD, parent.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return bad_file(ErrorCode::invalid, path,
                    format("cannot be opened: its directory {} is not writable for this user ({}); the log"
                           " beside the file needs it",
                           parent.string(), std::strerror(errno)));
  return {};
}

// What the directory reports about the file. Only SQLite opens the file itself: closing any other descriptor of it
// would drop the locks that SQLite has on it in this process.
Status check_entry(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return {};  // a new file
  if (S_ISDIR(info.st_mode)) return bad_file(ErrorCode::invalid, path, "is a directory; name a file in it");
  if (!S_ISREG(info.st_mode)) return bad_file(ErrorCode::invalid, path, "is not a regular file");
  if (faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) != 0)
    return bad_file(ErrorCode::invalid, path,
                    format("cannot be opened for writing ({}); make it writable for this user", std::strerror(errno)));
  if (info.st_nlink > 1)
    return bad_file(ErrorCode::invalid, path,
                    format("has {} names (hard links), and the log stands beside one of them only:"
                           " work would be lost; remove the others (find / -xdev -samefile {})",
                           info.st_nlink, path));
  return {};
}

// Reads the file's header, without its log and without a lock.
Status check_header(const std::string& path, const Options& options, std::size_t version_max) {
  if (is_empty_or_missing(path)) return {};  // a new file
  auto opened = Connection::open({path, Connection::Mode::look, options.vfs, options.busy_wait});
  if (!opened) return opened.error();
  Connection& file = **opened;
  const auto application = file.read_number("PRAGMA application_id");
  const auto version = file.read_number("PRAGMA user_version");
  if (!application || !version) {
    // With a log beside it the file may be behind its own header, and a copy of the log that was cut by a power loss
    // may have left half a header: the log has the other half.
    if (!is_empty_or_missing(path + "-wal")) return {};
    if (sqlite3_errcode(file.handle()) == SQLITE_NOTADB)
      return bad_file(ErrorCode::invalid, path, "is not an SQLite database; name another file, or move this one away");
    const Error& error = !application ? application.error() : version.error();
    if (error.code != ErrorCode::corrupt) return error;
    return bad_file(ErrorCode::corrupt, path,
                    format("is damaged: its {} bytes are not all that its first page says; restore"
                           " it from a backup",
                           bytes_at(path)));
  }
  if (*application != application_id)
    return bad_file(ErrorCode::invalid, path, "is an SQLite database of another program; name another file");
  if (*version > static_cast<std::int64_t>(version_max)) return newer_file(path, *version, version_max);
  return {};
}

// SQLite keeps one index of the log for each file in a process, under any name, but finds the log by name.
Status check_other_name(const std::string& path) {
  const std::string other = FileHold::path_of(file_id_at(path));
  if (other.empty() || other == path) return {};
  return bad_file(ErrorCode::invalid, path,
                  format("is open in this process as {}; close that one first, or use that name", other));
}

bool lives(std::uint64_t process) { return kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM; }

// The owner of a file that was at this path before still runs: its lock and its log are in the way.
Status check_old_owner(const std::string& path) {
  const auto record = OwnerRecord::read(owner_path(path));
  if (record && record->file != file_id_at(path) && lives(record->process) && OwnerLock::is_taken(path))
    return bad_file(ErrorCode::retry_later, path,
                    format("is not the file that process {} runs on: that one was moved, removed or"
                           " replaced; end that process first",
                           record->process));
  const auto log_bytes = bytes_at(path + "-wal");
  if (is_empty_or_missing(path) && log_bytes > 0)
    return bad_file(ErrorCode::invalid, path,
                    format("is missing, but its log {}-wal is here with {} bytes; put the file back"
                           " beside it, or remove the log to begin a new store",
                           path, log_bytes));
  return {};
}

Status expect(Connection& connection, const char* pragma, std::string_view wanted) {
  const auto value = connection.read_text(pragma);
  if (!value) return value.error();
  if (*value == wanted) return {};
  return Error{ErrorCode::unsupported, format("{}: {} is {}, needed is {}", connection.path(), pragma, *value, wanted)};
}

// A new file has the mark of Pawl from its first durable byte on: it is written before the log exists.
Status prepare_new(Connection& connection, const Options& options) {
  auto done = connection.execute(format("PRAGMA page_size = {}", options.page_bytes).c_str());
  if (done) done = connection.execute(format("PRAGMA application_id = {}", application_id).c_str());
  return done;
}

Status set_up_writer(Connection& connection, const Options& options) {
  auto done = expect(connection, "PRAGMA journal_mode = WAL", "wal");
  const bool full = options.durability == Durability::full;
  if (done) done = connection.execute(full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  if (done) done = expect(connection, "PRAGMA synchronous", full ? "2" : "1");
  if (done)
    done = connection.execute("PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = OFF");
  if (done) done = connection.execute(format("PRAGMA cache_size = -{}", options.cache_kib).c_str());
  // The log is cut to twice its usual length when it restarts.
  const auto log_bytes = 2 * std::int64_t{options.checkpoint_pages} * options.page_bytes;
  if (done) done = connection.execute(format("PRAGMA journal_size_limit = {}", log_bytes).c_str());
  sqlite3_wal_autocheckpoint(connection.handle(), 0);
  return done;
}

// The tables that everything depends on are small enough to be read whole at every start.
Status check_small_tables(Connection& connection) {
  for (const char* check :
       {"PRAGMA quick_check('store_state')", "PRAGMA quick_check('pools')", "PRAGMA quick_check('lanes')"}) {
    const auto found = connection.read_text(check);
    if (!found) return found.error();
    if (*found != "ok")
      return bad_file(ErrorCode::corrupt, connection.path(),
                      format("is damaged ({}); restore it from a backup", *found));
  }
  return {};
}

// Whether the file has every acknowledged commit. The owner's record is read first: whatever it counts is in the file
// by then.
Status check_log(Connection& connection) {
  const auto record = OwnerRecord::read(owner_path(connection.path()));
  const auto state =
      connection.read_text("SELECT commits || ' ' || (writer < 0) || ' ' || lower(hex(store_id)) FROM store_state");
  if (!state) return state.error();
  std::int64_t commits = 0;
  int marked = 0;
  core::Guid store;
  if (std::sscanf(state->c_str(), "%" SCNd64 " %d %16" SCNx64 "%16" SCNx64, &commits, &marked, &store.high,
                  &store.low) != 4)
    return bad_file(ErrorCode::corrupt, connection.path(),
                    "is damaged (its store_state is malformed); restore it from a backup");
  if (record && record->store == store) {
    if (static_cast<std::int64_t>(record->commits) <= commits) return {};
    return bad_file(ErrorCode::corrupt, connection.path(),
                    format("holds {} commits, but {} were acknowledged here: its log {}-wal is missing or damaged,"
                           " or an older copy took its place; put the right files back, or, to go on without"
                           " what is missing, remove {}",
                           commits, record->commits, connection.path(), owner_path(connection.path())));
  }
  if (marked != 0)
    return bad_file(ErrorCode::corrupt, connection.path(),
                    format("was copied without its log: what was acknowledged last is missing; copy {}-wal too, or"
                           " copy with: sqlite3 FILE \".backup COPY\". To go on without what is missing: sqlite3 {}"
                           " \"UPDATE store_state SET writer = abs(writer)\"",
                           std::filesystem::path(connection.path()).filename().string(), connection.path()));
  return {};
}

// A process that holds the lock and has written a record runs on the file. Without a record it is creating or migrating
// the file.
std::optional<std::uint64_t> process_on(const std::string& path) {
  const auto record = OwnerRecord::read(owner_path(path));
  return record && lives(record->process) ? std::optional(record->process) : std::nullopt;
}

Error not_the_owner(const std::string& path, std::int64_t version, std::size_t version_max) {
  const auto process = process_on(path);
  if (version == 0 || !process)
    return Error{ErrorCode::retry_later,
                 format("{} is being made or brought forward by another process, which makes no progress;"
                        " try again, or end that process",
                        path)};
  return Error{ErrorCode::unsupported,
               format("{} has version {}, this program needs version {}, and process {} runs on it with"
                      " an older program; stop that one, then this one brings the file forward, or use"
                      " the older program meanwhile",
                      path, version, version_max, *process)};
}

// Creates a new file, and migrates an older one. Only the owner does this: a process that runs on the file has
// statements of the version that it found.
Status bring_forward(Connection& connection, const Options& options, Migrations steps) {
  OwnerLock lock(connection.path());
  // A process that migrates the file advances from version to version: the wait ends only when it stops advancing.
  std::int64_t version_seen = 0;
  auto since = std::chrono::steady_clock::now();
  while (true) {
    // SQLite is asked, not the file's size: a process that was killed while it created the file left a journal, and
    // reading it takes the file back to empty.
    const auto pages = connection.read_number("PRAGMA page_count");
    if (!pages) return pages.error();
    const auto version = connection.read_number("PRAGMA user_version");
    if (!version) return version.error();
    if (*version > static_cast<std::int64_t>(steps.size()))
      return newer_file(connection.path(), *version, steps.size());
    const bool whole = *pages > 0 && *version == static_cast<std::int64_t>(steps.size());
    if (whole || lock.owned()) {
      auto done = *pages == 0 ? prepare_new(connection, options) : Status{};
      if (done) done = set_up_writer(connection, options);
      if (done && !whole) done = migrate(connection, steps);
      return done;
    }
    const auto owned = lock.try_own();
    if (!owned) return owned.error();
    if (*owned) continue;  // from now on no one else changes it
    if (std::exchange(version_seen, *version) != *version) since = std::chrono::steady_clock::now();
    const bool in_use = *version != 0 && process_on(connection.path());
    const auto wait_max = in_use ? limits::migration_wait : options.busy_wait;
    if (std::chrono::steady_clock::now() - since > wait_max)
      return not_the_owner(connection.path(), *version, steps.size());
    std::this_thread::sleep_for(limits::hold_retry);
  }
}

}  // namespace

Result<std::unique_ptr<Connection>> open_file(const std::string& path, const Options& options, Migrations steps) {
  auto checked = check_directory(path);
  if (checked) checked = check_entry(path);
  if (!checked) return checked.error();
  // Links are resolved once, so that every process finds the same lock and the same doorbell.
  std::error_code ignored;
  std::string canonical = std::filesystem::weakly_canonical(path, ignored).string();
  if (canonical.empty()) canonical = path;
  checked = check_other_name(canonical);
  if (checked) checked = check_old_owner(canonical);
  if (checked) checked = check_header(canonical, options, steps.size());
  if (!checked) return checked.error();
  const auto mode = is_empty_or_missing(canonical) ? Connection::Mode::create : Connection::Mode::existing;
  auto opened = Connection::open({canonical, mode, options.vfs, options.busy_wait});
  if (!opened) return opened.error();
  auto done = bring_forward(**opened, options, steps);
  if (done) done = check_small_tables(**opened);
  if (done) done = check_log(**opened);
  if (!done) return done.error();
  return opened;
}

Result<std::unique_ptr<Connection>> open_again(const Connection& first, const Options& options, Role role) {
  auto opened = Connection::open(
      {first.path(), Connection::Mode::existing, options.vfs, options.busy_wait, role == Role::worker});
  if (!opened) return opened.error();
  Connection& connection = **opened;
  sqlite3_wal_autocheckpoint(connection.handle(), 0);
  auto done = connection.execute("PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY");
  // The store's tables have no foreign keys; those of users do.
  if (done && role == Role::worker)
    done =
        connection.execute(format("PRAGMA synchronous = {}; PRAGMA foreign_keys = ON; PRAGMA secure_delete = OFF;"
                                  " PRAGMA cache_size = -{}; PRAGMA journal_size_limit = {}",
                                  options.durability == Durability::full ? "FULL" : "NORMAL", options.reader_cache_kib,
                                  2 * std::int64_t{options.checkpoint_pages} * options.page_bytes)
                               .c_str());
  if (done && role == Role::reader)
    done =
        connection.execute(format("PRAGMA query_only = ON; PRAGMA cache_size = -{}", options.reader_cache_kib).c_str());
  if (!done) return done.error();
  return opened;
}

}  // namespace pawl::store::sqlite
