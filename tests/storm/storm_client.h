// The client side of a storm node: submits jobs under known ids, waits for their ends, and records each call and each
// answer. A restarted node finds in its log the jobs whose end it does not know and asks again, as a careful client
// would.
//
// Log: `submit <id> <graph> <input>`, `accepted <id> <run>`, `exists <id> <run>`, `error <id> <text>`, `closed <id>
// <run> <status> <result or reason>`.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pawl/runtime.h"
#include "synced_log.h"

namespace pawl::storm {

class Client {
 public:
  struct Setup {
    std::string log_path;
    std::vector<std::string> earlier_logs;  // what to finish: its own log, or all of them to drain
    std::string slot;
    bool new_jobs = true;
    bool of_app = false;  // jobs of the graph language
  };
  Client(Runtime& runtime, Setup setup);

  // One client of several: returns when stop() was called or, without new jobs, when all have
  // ended.
  void serve();
  void stop() { stopping_ = true; }
  std::size_t left() const;  // earlier jobs whose end is not known

 private:
  struct Known {
    std::string id, graph, input;
  };
  std::optional<Known> next();
  void read_earlier(const std::string& path);
  void follow(const Known& job);
  std::optional<RunId> submit(const Known& job);

  Runtime& runtime_;
  const Setup setup_;
  SyncedLog log_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::deque<Known> earlier_;  // guarded by mutex_
  std::size_t following_ = 0;  // guarded by mutex_
  std::uint64_t number_ = 0;   // guarded by mutex_; of the last job of this slot
};

}  // namespace pawl::storm
