// SyncedLog: a text file that is appended to one line at a time, each on disk before append()
// returns. Any thread. A line is one write() with O_APPEND: a kill leaves it whole or absent.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace pawl::storm {

inline std::int64_t wall_micros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class SyncedLog {
 public:
  explicit SyncedLog(const std::string& path)
      : file_(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_ < 0) give_up(path);
  }
  SyncedLog(const SyncedLog&) = delete;
  SyncedLog& operator=(const SyncedLog&) = delete;
  ~SyncedLog() { close(file_); }

  void append(const std::string& line) {
    const std::string text = line + "\n";
    const bool whole = write(file_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!whole || fdatasync(file_) != 0) give_up(line);
  }

 private:
  // Without its log the run proves nothing.
  [[noreturn]] static void give_up(const std::string& what) {
    std::perror(what.c_str());
    std::_Exit(9);
  }
  const int file_;
};

}  // namespace pawl::storm
