// RetentionThread: carries out the rules of retention for the lanes that this process owns. Without a rule it sleeps
// until it is told that there may be one.
// Threads: has one thread, which ends with this object.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/retention.h"

namespace pawl::runtime {

class RetentionThread {
 public:
  struct Hooks {
    std::function<Result<std::vector<core::LaneId>>()> owned_lanes;
    std::function<Instant()> now;
    std::function<void(const std::string&)> problem;
  };
  // The reference must outlive it.
  RetentionThread(Retention& retention, Hooks hooks);
  RetentionThread(const RetentionThread&) = delete;
  RetentionThread& operator=(const RetentionThread&) = delete;
  ~RetentionThread();

  void look();  // there may be other rules
  void end();   // after the batch that is on its way; does not wait for it

 private:
  void serve();
  bool rest(Duration time, bool until_told);  // false: it ends
  bool is_ended();
  Status pass();

  Retention& retention_;
  const Hooks hooks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool told_ = false;     // guarded by mutex_
  bool stopped_ = false;  // guarded by mutex_
  std::size_t passes_ = 0;
  Retention::Places places_;
  std::thread thread_;
};

}  // namespace pawl::runtime
