// SyncedLog: a text file that is appended to one line at a time, each on disk before append() returns. Any thread. A
// line is one write() with O_APPEND. A kill can leave the last line incomplete; the next process that opens the file
// cuts it off, since append() had not returned.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace pawl::storm {

inline std::int64_t wall_micros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class SyncedLog {
 public:
  explicit SyncedLog(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_ < 0) give_up(path);
    const std::uintmax_t whole = whole_lines(path);
    if (ftruncate(file_, static_cast<off_t>(whole)) != 0) give_up(path);
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
  static std::uintmax_t whole_lines(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    auto size = static_cast<std::uintmax_t>(file.tellg());
    for (char last = 0; size > 0; --size) {
      file.seekg(static_cast<std::streamoff>(size) - 1);
      if (file.get(last) && last == '\n') break;
    }
    return size;
  }
  // Without its log the storm proves nothing.
  [[noreturn]] static void give_up(const std::string& what) {
    std::perror(what.c_str());
    std::_Exit(9);
  }
  const int file_;
};

}  // namespace pawl::storm
