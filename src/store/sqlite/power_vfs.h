// A disk for tests that can lose its power: it passes every call on, and records which bytes were synced. At any moment
// it can create an image of what a disk may hold after a power loss: everything that was synced and, for the rest,
// sector by sector, the new bytes, the old ones or neither.
#pragma once

#include <sqlite3.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace pawl::store::sqlite::test {

class PowerDisk {
 public:
  static constexpr std::size_t sector = 512;

  // Called before every change of the disk. It may call `take_image`.
  std::function<void()> before_change;

  void begin(std::uint64_t seed) {
    files_.clear();
    random_.seed(seed);
  }
  // Into an empty folder. Called from before_change only.
  void take_image(const std::filesystem::path& folder) {
    for (const auto& [path, file] : files_) {
      if (!file.entry_synced && chance(50)) continue;
      std::string bytes = file.synced;
      for (const Change& change : file.unsynced) apply_partly(bytes, change);
      std::ofstream(folder / std::filesystem::path(path).filename(), std::ios::binary) << bytes;
    }
  }
  std::uint32_t draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  // Reports from the file system below SQLite.
  void opened(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (files_.contains(path)) return;
    File file;
    if (!path.ends_with("-owner")) file.synced = bytes_of(path);
    file.entry_synced = !file.synced.empty();
    files_.emplace(path, std::move(file));
  }
  int changes(const std::function<int()>& real, const std::string& path, std::size_t at, std::string bytes) {
    return change(real, path, Change{at, std::move(bytes), false});
  }
  int truncates(const std::function<int()>& real, const std::string& path, std::size_t size) {
    return change(real, path, Change{size, "", true});
  }
  int syncs(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (before_change) before_change();
    File& file = files_.at(path);
    for (const Change& change : file.unsynced) apply(file.synced, change);
    file.unsynced.clear();
    if (path.ends_with("-owner")) file.synced = bytes_of(path);     // written by others than SQLite
    for (auto& [other, entry] : files_) entry.entry_synced = true;  // a sync of the directory
    return SQLITE_OK;                                               // no real sync is needed
  }
  int removes(const std::function<int()>& real, const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (before_change) before_change();
    files_.erase(path);
    return real();
  }

 private:
  struct Change {
    std::size_t at = 0;  // for a truncation: the new length
    std::string bytes;
    bool truncation = false;
  };
  struct File {
    std::string synced;
    std::vector<Change> unsynced;
    bool entry_synced = false;  // the directory has it durably
  };

  bool chance(std::uint32_t percent) { return draw(100) < percent; }

  int change(const std::function<int()>& real, const std::string& path, Change change) {
    const std::lock_guard lock(mutex_);
    if (before_change) before_change();
    const int rc = real();
    if (rc == SQLITE_OK) files_.at(path).unsynced.push_back(std::move(change));
    return rc;
  }

  static std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  static void put(std::string& bytes, std::size_t at, std::string_view part) {
    if (bytes.size() < at + part.size()) bytes.resize(at + part.size(), '\0');
    std::memcpy(bytes.data() + at, part.data(), part.size());
  }
  static void apply(std::string& bytes, const Change& change) {
    if (change.truncation)
      bytes.resize(change.at);
    else
      put(bytes, change.at, change.bytes);
  }
  void apply_partly(std::string& bytes, const Change& change) {
    if (change.truncation) {
      if (chance(50)) bytes.resize(change.at);
      return;
    }
    // Sectors as the disk has them, not aligned to the start of the write.
    for (std::size_t done = 0; done < change.bytes.size();) {
      const std::size_t size = std::min(sector - (change.at + done) % sector, change.bytes.size() - done);
      const std::uint32_t fate = draw(10);
      if (fate < 5) {
        put(bytes, change.at + done, std::string_view(change.bytes).substr(done, size));
      } else if (fate == 9) {
        std::string garbage(size, '\0');
        for (char& c : garbage) c = static_cast<char>(random_());
        put(bytes, change.at + done, garbage);
      }
      done += size;
    }
  }

  std::mutex mutex_;
  std::map<std::string, File> files_;
  std::mt19937_64 random_;
};

inline PowerDisk& power_disk() {
  static PowerDisk disk;
  return disk;
}

class PowerVfs {
 public:
  static constexpr const char* name = "pawl-power";

  static void install() {
    static sqlite3_vfs shim;
    if (shim.zName != nullptr) return;
    sqlite3_vfs* real = sqlite3_vfs_find(nullptr);
    shim = *real;
    shim.zName = name;
    shim.pAppData = real;
    shim.szOsFile = real->szOsFile + static_cast<int>(sizeof(File));
    shim.xOpen = open;
    shim.xDelete = [](sqlite3_vfs* vfs, const char* path, int sync) {
      auto* below_vfs = static_cast<sqlite3_vfs*>(vfs->pAppData);
      return power_disk().removes([&] { return below_vfs->xDelete(below_vfs, path, sync); }, path);
    };
    sqlite3_vfs_register(&shim, 0);
  }

 private:
  struct File {
    sqlite3_file base;
    sqlite3_file* real;
    const char* path;
  };
  static File& self(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
  static sqlite3_file* below(sqlite3_file* file) { return self(file).real; }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out) {
    static const sqlite3_io_methods methods = make_methods();
    auto* below_vfs = static_cast<sqlite3_vfs*>(vfs->pAppData);
    File& opened = self(file);
    opened.real = reinterpret_cast<sqlite3_file*>(&opened + 1);
    opened.path = path;
    if (path != nullptr) power_disk().opened(path);
    const int rc = below_vfs->xOpen(below_vfs, path, opened.real, flags, out);
    opened.base.pMethods = opened.real->pMethods != nullptr ? &methods : nullptr;
    return rc;
  }

  static sqlite3_io_methods make_methods() {
    sqlite3_io_methods m{};
    m.iVersion = 3;
    m.xClose = [](sqlite3_file* f) { return below(f)->pMethods->xClose(below(f)); };
    m.xRead = [](sqlite3_file* f, void* b, int n, sqlite3_int64 at) {
      return below(f)->pMethods->xRead(below(f), b, n, at);
    };
    m.xWrite = [](sqlite3_file* f, const void* b, int n, sqlite3_int64 at) {
      const auto real = [&] { return below(f)->pMethods->xWrite(below(f), b, n, at); };
      if (self(f).path == nullptr) return real();
      return power_disk().changes(real, self(f).path, static_cast<std::size_t>(at),
                                  std::string(static_cast<const char*>(b), static_cast<std::size_t>(n)));
    };
    m.xTruncate = [](sqlite3_file* f, sqlite3_int64 n) {
      const auto real = [&] { return below(f)->pMethods->xTruncate(below(f), n); };
      if (self(f).path == nullptr) return real();
      return power_disk().truncates(real, self(f).path, static_cast<std::size_t>(n));
    };
    m.xSync = [](sqlite3_file* f, int flags) {
      return self(f).path == nullptr ? below(f)->pMethods->xSync(below(f), flags) : power_disk().syncs(self(f).path);
    };
    m.xFileSize = [](sqlite3_file* f, sqlite3_int64* n) { return below(f)->pMethods->xFileSize(below(f), n); };
    m.xLock = [](sqlite3_file* f, int l) { return below(f)->pMethods->xLock(below(f), l); };
    m.xUnlock = [](sqlite3_file* f, int l) { return below(f)->pMethods->xUnlock(below(f), l); };
    m.xCheckReservedLock = [](sqlite3_file* f, int* o) { return below(f)->pMethods->xCheckReservedLock(below(f), o); };
    m.xFileControl = [](sqlite3_file* f, int op, void* arg) {
      // The real file system would bypass this one.
      if (op == SQLITE_FCNTL_SIZE_HINT || op == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_OK;
      return below(f)->pMethods->xFileControl(below(f), op, arg);
    };
    m.xSectorSize = [](sqlite3_file*) { return static_cast<int>(PowerDisk::sector); };
    m.xDeviceCharacteristics = [](sqlite3_file* f) { return below(f)->pMethods->xDeviceCharacteristics(below(f)); };
    m.xShmMap = [](sqlite3_file* f, int i, int n, int e, void volatile** p) {
      return below(f)->pMethods->xShmMap(below(f), i, n, e, p);
    };
    m.xShmLock = [](sqlite3_file* f, int o, int n, int g) { return below(f)->pMethods->xShmLock(below(f), o, n, g); };
    m.xShmBarrier = [](sqlite3_file* f) { below(f)->pMethods->xShmBarrier(below(f)); };
    m.xShmUnmap = [](sqlite3_file* f, int d) { return below(f)->pMethods->xShmUnmap(below(f), d); };
    m.xFetch = [](sqlite3_file*, sqlite3_int64, int, void** p) {
      *p = nullptr;  // no mapping: every byte goes through here
      return SQLITE_OK;
    };
    m.xUnfetch = [](sqlite3_file*, sqlite3_int64, void*) { return SQLITE_OK; };
    return m;
  }
};

}  // namespace pawl::store::sqlite::test
