// OwnerWatch: waits, without polling, until the process that owns a file's lanes is gone, then takes them over and
// reports it once.
//
// The owner holds `<file>-owner` open for writing; the kernel reports the close of that descriptor, however the process
// ended. The report may come a moment before the lock is free, so the watch tries a few times after a report, and never
// without one.
//
// Threads: one of its own, which ends with this object.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "pawl/result.h"

namespace pawl::store::sqlite {

class OwnerWatch {
 public:
  struct Setup {
    std::string lock_path;
    std::function<Result<bool>()> try_own;
    std::function<void()> on_owned;  // called once, from the watch's thread
  };
  // Without a thread or a descriptor: retry_later.
  static Result<std::unique_ptr<OwnerWatch>> start(Setup setup);
  OwnerWatch(const OwnerWatch&) = delete;
  OwnerWatch& operator=(const OwnerWatch&) = delete;
  ~OwnerWatch();

 private:
  OwnerWatch(int events, int stop, Setup setup);
  void serve();
  bool take_over();  // false: another process still owns it, or owns it again

  const int events_;  // inotify
  const int stop_;    // an eventfd
  const Setup setup_;
  std::thread thread_;
};

}  // namespace pawl::store::sqlite
