// Offspring: the processes that this process's shell commands started, also those that left their command's process
// group (setsid, a daemon). This process adopts processes that lose their parent; a variable in their environment names
// the command that they came from. One per process; any thread may call it.
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

// Whether the environment that the process began with has this mark, or one that begins with it. None: it has no
// environment, as during an exec.
std::optional<bool> is_marked(pid_t process, std::string_view mark);

class Offspring {
 public:
  static Offspring& ours();

  // The values of mark_variable for this process and for one command. A command's mark begins with the owner's.
  const std::string& owner_mark() const { return owner_mark_; }
  std::string next_mark();

  // A child that is not a command and is not ended.
  void spare(pid_t process);
  // Starts a command's process.
  Result<pid_t> start(const std::function<Result<pid_t>()>& spawn);
  // REQUIRES: the command's process has ended and was not waited for. Ends everything that it left running.
  void end(pid_t command, std::string_view mark);

 private:
  Offspring();
  bool end_one(pid_t process, pid_t command, std::string_view mark);

  const std::string owner_mark_;
  std::mutex mutex_;          // held while a process starts, so that a sweep knows it
  std::uint64_t marks_ = 0;   // guarded by mutex_
  std::set<pid_t> commands_;  // running ones; guarded by mutex_
  std::set<pid_t> spared_;    // guarded by mutex_
};

}  // namespace pawl::cli
