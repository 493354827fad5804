#include "store/sqlite/owner_record.h"

#include <sqlite3.h>

#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <vector>

#include "base/format.h"

namespace pawl::store::sqlite {

std::string OwnerRecord::line() const {
  return format("process {:010} file {:016x}:{:016x} store {:016x}{:016x} commits {:020}\n", process,
                static_cast<std::uint64_t>(file.device), static_cast<std::uint64_t>(file.inode), store.high, store.low,
                commits);
}

std::optional<OwnerRecord> OwnerRecord::parse(const std::string& line) {
  OwnerRecord record;
  std::uint64_t device = 0, inode = 0;
  const int fields = std::sscanf(
      line.c_str(),
      "process %10" SCNu64 " file %16" SCNx64 ":%16" SCNx64 " store %16" SCNx64 "%16" SCNx64 " commits %20" SCNu64,
      &record.process, &device, &inode, &record.store.high, &record.store.low, &record.commits);
  record.file = FileId{device, inode};
  if (fields != 6 || record.line() != line) return std::nullopt;
  return record;
}

std::optional<OwnerRecord> OwnerRecord::read(const std::string& owner_path) {
  std::ifstream in(owner_path, std::ios::binary);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return parse(line + "\n");
}

int OwnerRecord::sync(const std::string& owner_path, const std::string& vfs) {
  sqlite3_vfs* files = sqlite3_vfs_find(vfs.empty() ? nullptr : vfs.c_str());
  std::vector<std::max_align_t> place(static_cast<std::size_t>(files->szOsFile) / sizeof(std::max_align_t) + 1);
  auto* file = reinterpret_cast<sqlite3_file*>(place.data());
  // Read-only: other processes take the close of a writing descriptor for the end of the owner.
  const int opened =
      files->xOpen(files, owner_path.c_str(), file, SQLITE_OPEN_READONLY | SQLITE_OPEN_SUPER_JOURNAL, nullptr);
  const int synced = opened == SQLITE_OK ? file->pMethods->xSync(file, SQLITE_SYNC_FULL) : opened;
  if (file->pMethods != nullptr) file->pMethods->xClose(file);
  return synced;
}

}  // namespace pawl::store::sqlite
