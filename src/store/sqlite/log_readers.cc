#include "store/sqlite/log_readers.h"

#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "base/format.h"
#include "store/sqlite/file_hold.h"
#include "store/sqlite/limits.h"

namespace pawl::store::sqlite {

namespace {

// The bytes of the index that readers lock (sqlite3.c, WAL_READ_LOCK).
constexpr long read_lock_first = 123;
constexpr long read_lock_last = 127;

std::string name_of_process(long process) {
  std::ifstream in(format("/proc/{}/comm", process));
  std::string name;
  std::getline(in, name);
  return name.empty() ? format("process {}", process) : format("process {} ({})", process, name);
}

}  // namespace

std::string readers_of_log(const std::string& database_path) {
  const FileId index = file_id_at(database_path + "-shm");
  std::ifstream locks("/proc/locks");
  std::set<long> processes;
  for (std::string line; std::getline(locks, line);) {
    // 1: POSIX  ADVISORY  READ 1234 fd:01:5678 124 124
    long process = 0, first = 0, last = 0;
    unsigned major_part = 0, minor_part = 0;
    unsigned long inode = 0;
    if (std::sscanf(line.c_str(), "%*d: POSIX %*s READ %ld %x:%x:%lu %ld %ld", &process, &major_part, &minor_part,
                    &inode, &first, &last) != 6)
      continue;
    if (inode != index.inode || makedev(major_part, minor_part) != index.device) continue;
    if (first >= read_lock_first && last <= read_lock_last) processes.insert(process);
  }
  std::string text;
  for (const long process : processes) {
    if (!text.empty()) text += ", ";
    text += process == getpid() ? "a connection of this process" : name_of_process(process);
  }
  return text;
}

}  // namespace pawl::store::sqlite
