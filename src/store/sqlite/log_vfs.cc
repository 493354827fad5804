#include "store/sqlite/log_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>

#include "store/sqlite/limits.h"

namespace pawl::store::sqlite {

namespace {

// The format of the log, https://www.sqlite.org/fileformat.html#the_write_ahead_log: each page follows a header of so
// many bytes, whose second word is zero except before the last page of a transaction.
constexpr int frame_header_bytes = 24;

bool ends_transaction(std::string_view header) { return header.substr(4, 4) != std::string_view("\0\0\0\0", 4); }

// Bytes that SQLite has written and the file below has not yet. They belong to the open transaction.
struct Gathered {
  sqlite3_int64 at = 0;
  std::string bytes;
  sqlite3_int64 end = -1;       // of the write before, whether it waits here or not
  bool last_page_next = false;  // the write before was the header of the last page of a transaction
};

struct LogFile;

// What the layer has of a database file, behind the file below. That file's calls go to it directly, except the one
// that ends a transaction. `methods` is first: the file's pMethods leads here.
struct DatabaseFile {
  sqlite3_io_methods methods;
  const sqlite3_io_methods* below;
  LogFile* log;  // null: it is not open
};

// The log of a store. The file below lies behind it, in the same piece of memory, which SQLite provides.
struct LogFile {
  sqlite3_file as_file;
  Gathered* gathered;
  DatabaseFile* database;

  sqlite3_file* below() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
static_assert(sizeof(LogFile) % 8 == 0, "SQLite aligns files to eight bytes");

constexpr int log_write_lock = 0;  // the lock without which nobody writes the log, and nobody else while it is held

DatabaseFile& database_of(sqlite3_file* file) {
  return *reinterpret_cast<DatabaseFile*>(const_cast<sqlite3_io_methods*>(file->pMethods));
}

LogFile& log_of(sqlite3_file* file) { return *reinterpret_cast<LogFile*>(file); }

// After an error they still wait: SQLite was told that they are written, and it may go on with the transaction.
int write_out(LogFile& log) {
  Gathered& gathered = *log.gathered;
  if (gathered.bytes.empty()) return SQLITE_OK;
  const int rc = log.below()->pMethods->xWrite(log.below(), gathered.bytes.data(),
                                               static_cast<int>(gathered.bytes.size()), gathered.at);
  if (rc == SQLITE_OK) gathered.bytes.clear();
  return rc;
}

int log_write(sqlite3_file* file, const void* data, int size, sqlite3_int64 at) {
  LogFile& log = log_of(file);
  Gathered& gathered = *log.gathered;
  const std::string_view bytes(static_cast<const char*>(data), static_cast<std::size_t>(size));
  const bool goes_on = at == gathered.end;
  if (!goes_on || gathered.bytes.size() + bytes.size() > limits::log_piece_bytes)
    if (const int rc = write_out(log); rc != SQLITE_OK) return rc;
  const bool last_page = gathered.last_page_next;
  gathered.end = at + size;
  gathered.last_page_next = size == frame_header_bytes && ends_transaction(bytes);
  // A header that is written a second time, since its transaction changed a page twice, is followed by no page.
  if (!goes_on) return log.below()->pMethods->xWrite(log.below(), data, size, at);
  if (gathered.bytes.empty()) gathered.at = at;
  gathered.bytes.append(bytes);
  return last_page ? write_out(log) : SQLITE_OK;
}

// Who asks the file must see what was written.
template <class Ask>
int ask(sqlite3_file* file, const Ask& next) {
  LogFile& log = log_of(file);
  const int rc = write_out(log);
  return rc == SQLITE_OK ? next(log.below()) : rc;
}

int log_close(sqlite3_file* file) {
  LogFile& log = log_of(file);
  if (log.database != nullptr) log.database->log = nullptr;
  delete log.gathered;  // of a transaction that never ended, if anything waits
  return log.below()->pMethods->xClose(log.below());
}
// What does not wait is read even if the rest cannot be written: so a rollback gets the pages that it needs.
int log_read(sqlite3_file* file, void* data, int size, sqlite3_int64 at) {
  LogFile& log = log_of(file);
  const Gathered& waiting = *log.gathered;
  const bool waits = at < waiting.at + static_cast<sqlite3_int64>(waiting.bytes.size()) && at + size > waiting.at;
  if (waits)
    if (const int rc = write_out(log); rc != SQLITE_OK) return rc;
  return log.below()->pMethods->xRead(log.below(), data, size, at);
}
int log_truncate(sqlite3_file* file, sqlite3_int64 size) {
  return ask(file, [&](sqlite3_file* below) { return below->pMethods->xTruncate(below, size); });
}
int log_sync(sqlite3_file* file, int flags) {
  return ask(file, [&](sqlite3_file* below) { return below->pMethods->xSync(below, flags); });
}
int log_file_size(sqlite3_file* file, sqlite3_int64* size) {
  return ask(file, [&](sqlite3_file* below) { return below->pMethods->xFileSize(below, size); });
}
sqlite3_file* below(sqlite3_file* file) { return log_of(file).below(); }
int log_lock(sqlite3_file* file, int level) { return below(file)->pMethods->xLock(below(file), level); }
int log_unlock(sqlite3_file* file, int level) { return below(file)->pMethods->xUnlock(below(file), level); }
int log_is_reserved(sqlite3_file* file, int* yes) {
  return below(file)->pMethods->xCheckReservedLock(below(file), yes);
}
int log_control(sqlite3_file* file, int what, void* argument) {
  return below(file)->pMethods->xFileControl(below(file), what, argument);
}
int log_sector_size(sqlite3_file* file) { return below(file)->pMethods->xSectorSize(below(file)); }
int log_characteristics(sqlite3_file* file) { return below(file)->pMethods->xDeviceCharacteristics(below(file)); }

// A transaction that is rolled back leaves the pages that had left the cache. From here on the next transaction of any
// process writes in their place, so they must not come after it.
int database_lock(sqlite3_file* file, int first, int count, int flags) {
  DatabaseFile& database = database_of(file);
  const bool ends = (flags & SQLITE_SHM_UNLOCK) != 0 && (flags & SQLITE_SHM_EXCLUSIVE) != 0 && first == log_write_lock;
  if (ends && database.log != nullptr) {
    database.log->gathered->bytes.clear();
    database.log->gathered->last_page_next = false;
  }
  return database.below->xShmLock(file, first, count, flags);
}

constexpr sqlite3_io_methods log_methods = {1,
                                            log_close,
                                            log_read,
                                            log_write,
                                            log_truncate,
                                            log_sync,
                                            log_file_size,
                                            log_lock,
                                            log_unlock,
                                            log_is_reserved,
                                            log_control,
                                            log_sector_size,
                                            log_characteristics,
                                            nullptr,
                                            nullptr,
                                            nullptr,
                                            nullptr,
                                            nullptr,
                                            nullptr};

sqlite3_vfs* base_of(sqlite3_vfs* vfs) { return static_cast<sqlite3_vfs*>(vfs->pAppData); }

// Where the layer's part of a database file begins, behind the file below.
int bytes_below(const sqlite3_vfs* base) { return (base->szOsFile + 7) / 8 * 8; }

int open_database(sqlite3_vfs* base, const char* name, sqlite3_file* file, int flags, int* flags_out) {
  const int rc = base->xOpen(base, name, file, flags, flags_out);
  if (rc != SQLITE_OK || file->pMethods->iVersion < 2) return rc;
  auto* database = new (reinterpret_cast<char*>(file) + bytes_below(base))
      DatabaseFile{*file->pMethods, file->pMethods, nullptr};
  database->methods.xShmLock = database_lock;
  file->pMethods = &database->methods;
  return SQLITE_OK;
}

int open_log(sqlite3_vfs* base, const char* name, sqlite3_file* file, int flags, int* flags_out) {
  LogFile& log = log_of(file);
  log.as_file.pMethods = nullptr;  // then SQLite does not close it
  const int rc = base->xOpen(base, name, log.below(), flags, flags_out);
  if (rc != SQLITE_OK) {
    if (log.below()->pMethods != nullptr) log.below()->pMethods->xClose(log.below());
    return rc;
  }
  log.gathered = new Gathered;
  log.database = nullptr;
  sqlite3_file* database = sqlite3_database_file_object(name);
  if (database->pMethods->xShmLock == database_lock) {
    log.database = &database_of(database);
    log.database->log = &log;
  }
  log.as_file.pMethods = &log_methods;
  return SQLITE_OK;
}

int open_layered(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* flags_out) {
  sqlite3_vfs* base = base_of(vfs);
  if ((flags & SQLITE_OPEN_WAL) != 0) return open_log(base, name, file, flags, flags_out);
  if ((flags & SQLITE_OPEN_MAIN_DB) != 0) return open_database(base, name, file, flags, flags_out);
  return base->xOpen(base, name, file, flags, flags_out);
}

// One layer over one file system. `pAppData` of the layer is the file system below.
struct Layer {
  std::string name;
  sqlite3_vfs vfs{};
};

void put_over(sqlite3_vfs& vfs, const char* name, sqlite3_vfs* base) {
  vfs = {};
  vfs.iVersion = std::min(base->iVersion, 2);
  vfs.szOsFile = bytes_below(base) + static_cast<int>(std::max(sizeof(LogFile), sizeof(DatabaseFile)));
  vfs.mxPathname = base->mxPathname;
  vfs.zName = name;
  vfs.pAppData = base;
  vfs.xOpen = open_layered;
  vfs.xDelete = [](sqlite3_vfs* v, const char* file, int synced) {
    return base_of(v)->xDelete(base_of(v), file, synced);
  };
  vfs.xAccess = [](sqlite3_vfs* v, const char* file, int flags, int* out) {
    return base_of(v)->xAccess(base_of(v), file, flags, out);
  };
  vfs.xFullPathname = [](sqlite3_vfs* v, const char* file, int size, char* out) {
    return base_of(v)->xFullPathname(base_of(v), file, size, out);
  };
  vfs.xDlOpen = [](sqlite3_vfs* v, const char* file) { return base_of(v)->xDlOpen(base_of(v), file); };
  vfs.xDlError = [](sqlite3_vfs* v, int size, char* out) { base_of(v)->xDlError(base_of(v), size, out); };
  vfs.xDlSym = [](sqlite3_vfs* v, void* library, const char* symbol) {
    return base_of(v)->xDlSym(base_of(v), library, symbol);
  };
  vfs.xDlClose = [](sqlite3_vfs* v, void* library) { base_of(v)->xDlClose(base_of(v), library); };
  vfs.xRandomness = [](sqlite3_vfs* v, int size, char* out) { return base_of(v)->xRandomness(base_of(v), size, out); };
  vfs.xSleep = [](sqlite3_vfs* v, int micros) { return base_of(v)->xSleep(base_of(v), micros); };
  vfs.xCurrentTime = [](sqlite3_vfs* v, double* out) { return base_of(v)->xCurrentTime(base_of(v), out); };
  vfs.xGetLastError = [](sqlite3_vfs* v, int size, char* out) {
    return base_of(v)->xGetLastError(base_of(v), size, out);
  };
  if (base->iVersion >= 2)
    vfs.xCurrentTimeInt64 = [](sqlite3_vfs* v, sqlite3_int64* out) {
      return base_of(v)->xCurrentTimeInt64(base_of(v), out);
    };
}

}  // namespace

std::string log_vfs_over(const std::string& base) {
  sqlite3_vfs* below = sqlite3_vfs_find(base.empty() ? nullptr : base.c_str());
  if (below == nullptr) return base;  // opening it reports the wrong name
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Layer>> layers;  // by the name below; as long as the process
  const std::lock_guard lock(mutex);
  std::unique_ptr<Layer>& layer = layers[below->zName];
  if (layer == nullptr) {
    layer = std::make_unique<Layer>();
    layer->name = std::string("pawl-log-") + below->zName;
  }
  if (layer->vfs.pAppData == below) return layer->name;  // otherwise new, or another one has that name now
  put_over(layer->vfs, layer->name.c_str(), below);
  return sqlite3_vfs_register(&layer->vfs, 0) == SQLITE_OK ? layer->name : base;
}

}  // namespace pawl::store::sqlite
