// A file system for tests that fails on demand: it asks a plan, then passes the call to SQLite's own file system.
#pragma once

#include <sqlite3.h>

#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace pawl::store::sqlite::test {

enum class Call : std::uint8_t { open, read, write, truncate, sync };

// Called before every such call on any file, also from the store's threads. A value other than SQLITE_OK becomes the
// call's result.
using FaultPlan = std::function<int(Call, std::string_view file)>;
struct FaultPlanHolder {
  std::mutex mutex;
  FaultPlan plan;        // guarded by mutex, as is the next
  sqlite3_int64 at = 0;  // the file offset of the read that the plan decides about
};
inline FaultPlanHolder& fault_plan_holder() {
  static FaultPlanHolder holder;
  return holder;
}
inline void set_fault_plan(FaultPlan plan) {
  const std::lock_guard lock(fault_plan_holder().mutex);
  fault_plan_holder().plan = std::move(plan);
}

class FaultVfs {
 public:
  static constexpr const char* name = "pawl-fault";

  static void install() {
    static sqlite3_vfs shim;
    if (shim.zName != nullptr) return;
    sqlite3_vfs* real = sqlite3_vfs_find(nullptr);
    shim = *real;
    shim.zName = name;
    shim.pAppData = real;
    shim.szOsFile = real->szOsFile + static_cast<int>(sizeof(File));
    shim.xOpen = open;
    sqlite3_vfs_register(&shim, 0);
  }

 private:
  struct File {
    sqlite3_file base;
    sqlite3_file* real;
    const char* name;
  };

  static File& self(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
  static sqlite3_file* real(sqlite3_file* file) { return self(file).real; }
  static int ask(Call call, sqlite3_file* file, sqlite3_int64 at = 0) {
    const std::lock_guard lock(fault_plan_holder().mutex);
    fault_plan_holder().at = at;
    const FaultPlan& plan = fault_plan_holder().plan;
    return plan ? plan(call, self(file).name != nullptr ? self(file).name : "") : SQLITE_OK;
  }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out) {
    static const sqlite3_io_methods methods = make_methods();
    auto* below = static_cast<sqlite3_vfs*>(vfs->pAppData);
    File& opened = self(file);
    opened.real = reinterpret_cast<sqlite3_file*>(&opened + 1);
    opened.name = path;
    opened.base.pMethods = nullptr;
    if (const int rc = ask(Call::open, file); rc != SQLITE_OK) return rc;
    const int rc = below->xOpen(below, path, opened.real, flags, out);
    opened.base.pMethods = opened.real->pMethods != nullptr ? &methods : nullptr;
    return rc;
  }

  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
    const int rc = ask(Call::write, file);
    return rc != SQLITE_OK ? rc : real(file)->pMethods->xWrite(real(file), bytes, size, at);
  }
  static int sync(sqlite3_file* file, int flags) {
    const int rc = ask(Call::sync, file);
    return rc != SQLITE_OK ? rc : real(file)->pMethods->xSync(real(file), flags);
  }

  static sqlite3_io_methods make_methods() {
    sqlite3_io_methods m{};
    m.iVersion = 3;
    m.xClose = [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); };
    m.xRead = [](sqlite3_file* f, void* b, int n, sqlite3_int64 at) {
      const int rc = ask(Call::read, f, at);
      return rc != SQLITE_OK ? rc : real(f)->pMethods->xRead(real(f), b, n, at);
    };
    m.xWrite = write;
    m.xTruncate = [](sqlite3_file* f, sqlite3_int64 n) {
      const int rc = ask(Call::truncate, f);
      return rc != SQLITE_OK ? rc : real(f)->pMethods->xTruncate(real(f), n);
    };
    m.xSync = sync;
    m.xFileSize = [](sqlite3_file* f, sqlite3_int64* n) { return real(f)->pMethods->xFileSize(real(f), n); };
    m.xLock = [](sqlite3_file* f, int l) { return real(f)->pMethods->xLock(real(f), l); };
    m.xUnlock = [](sqlite3_file* f, int l) { return real(f)->pMethods->xUnlock(real(f), l); };
    m.xCheckReservedLock = [](sqlite3_file* f, int* o) { return real(f)->pMethods->xCheckReservedLock(real(f), o); };
    m.xFileControl = [](sqlite3_file* f, int op, void* arg) {
      return real(f)->pMethods->xFileControl(real(f), op, arg);
    };
    m.xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); };
    m.xDeviceCharacteristics = [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); };
    m.xShmMap = [](sqlite3_file* f, int i, int n, int e, void volatile** p) {
      return real(f)->pMethods->xShmMap(real(f), i, n, e, p);
    };
    m.xShmLock = [](sqlite3_file* f, int o, int n, int g) { return real(f)->pMethods->xShmLock(real(f), o, n, g); };
    m.xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); };
    m.xShmUnmap = [](sqlite3_file* f, int d) { return real(f)->pMethods->xShmUnmap(real(f), d); };
    m.xFetch = [](sqlite3_file* f, sqlite3_int64 at, int n, void** p) {
      return real(f)->pMethods->xFetch(real(f), at, n, p);
    };
    m.xUnfetch = [](sqlite3_file* f, sqlite3_int64 at, void* p) { return real(f)->pMethods->xUnfetch(real(f), at, p); };
    return m;
  }
};

}  // namespace pawl::store::sqlite::test
