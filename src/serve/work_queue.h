// WorkQueue: how much work a process takes ahead, if its user gave no number. Little at first. It doubles while the
// threads finish all of it within a moment: then they would wait for the network. It is halved when work waits for them
// that other processes could have begun.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "pawl/time.h"
#include "serve/limits.h"

namespace pawl::serve {

class WorkQueue {
 public:
  explicit WorkQueue(std::uint32_t threads)
      : threads_(std::max<std::size_t>(threads, 1)), least_(std::max<std::size_t>(8, 2 * threads_)), room_(least_) {}

  std::size_t room() const { return room_; }
  // A worker returned after this time.
  void finished(Duration worked) {
    worked_ += worked;
    if (++count_ < room_) return;
    const Duration wait = worked_ * static_cast<std::int64_t>(room_) / static_cast<std::int64_t>(count_ * threads_);
    if (wait < short_wait) room_ = std::min(2 * room_, limits::stream_work_max);
    if (wait > long_wait) room_ = std::max(room_ / 2, least_);
    worked_ = Duration{0};
    count_ = 0;
  }

 private:
  // Until the last one of a full queue begins.
  static constexpr Duration short_wait = std::chrono::milliseconds(50);
  static constexpr Duration long_wait = std::chrono::milliseconds(500);

  const std::size_t threads_;
  const std::size_t least_;
  std::size_t room_;
  Duration worked_{0};     // by the attempts since room_ was looked at,
  std::size_t count_ = 0;  // and their number
};

}  // namespace pawl::serve
