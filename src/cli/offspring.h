// Offspring: the processes that this process's shell commands started, also those that left their command's process
// group (setsid, a daemon). This process adopts who loses its parent, and a variable in the environment says whose
// it was. One per process; any thread may call it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/result.h"

namespace pawl::cli {

inline constexpr std::string_view mark_variable = "PAWL_COMMAND";

// Has the process this mark in the environment that it began with, or one that begins with it? None: it has no
// environment, as in the midst of an exec.
std::optional<bool> is_marked(pid_t process, std::string_view mark);

class Offspring {
 public:
  static Offspring& ours();

  // Of this process, and of one command: what mark_variable says. The owner's is how each of its commands' begins.
  const std::string& owner_mark() const { return owner_mark_; }
  std::string next_mark();

  // A child that is not a command and is left alone.
  void spare(pid_t process);
  // Starts a command's process.
  Result<pid_t> start(const std::function<Result<pid_t>()>& spawn);
  // REQUIRES: the command's process has ended and nobody waited for it. Ends all that it left running.
  void end(pid_t command, std::string_view mark);

 private:
  Offspring();
  bool end_one(pid_t process, pid_t command, std::string_view mark);

  const std::string owner_mark_;
  std::mutex mutex_;          // held while a process starts: a sweep must know it
  std::uint64_t marks_ = 0;   // guarded by mutex_
  std::set<pid_t> commands_;  // that run; guarded by mutex_
  std::set<pid_t> spared_;    // guarded by mutex_
};

}  // namespace pawl::cli
