// ByteGate: limits the bytes that are in the engine at once. A caller with more waits at the gate, or is refused. A
// worker's reply always enters: the worker's thread waits afterwards, before it begins something new. Any thread may
// call it; only the engine's thread calls turn().
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace pawl::runtime {

class ByteGate {
 public:
  explicit ByteGate(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  enum class Wait : std::uint8_t { no, yes };
  enum class Pass : std::uint8_t { in, full, closed };
  // One request may enter although it needs more than the free room, so that none is too large for ever.
  Pass enter(std::size_t bytes, Wait wait) {
    std::unique_lock lock(mutex_);
    // When the store takes no writes, callers enter: the engine tells them the reason.
    const auto may_pass = [&] { return has_room() || refuses_ || closed_; };
    if (wait == Wait::yes) room_.wait(lock, may_pass);
    if (closed_) return Pass::closed;
    if (!may_pass()) return Pass::full;
    queued_ += bytes;
    return Pass::in;
  }
  // Returns whether there is room after it.
  bool add(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    queued_ += bytes;
    return has_room();
  }
  void wait_for_room() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return has_room() || closed_; });
  }
  // The queue did not take what entered.
  void leave(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    queued_ -= bytes;
    if (has_room()) room_.notify_all();
  }
  // The engine took `taken` bytes out of its queue and holds `held` bytes in all now.
  void turn(std::size_t taken, std::size_t held, bool store_refuses) {
    const std::lock_guard lock(mutex_);
    const bool could = has_room() || refuses_;
    queued_ -= taken;
    held_ = held;
    refuses_ = store_refuses;
    if (!could && (has_room() || refuses_)) room_.notify_all();
  }
  // No caller waits here from now on.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    room_.notify_all();
  }

 private:
  bool has_room() const { return queued_ + held_ < bytes_max_; }

  const std::size_t bytes_max_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::size_t queued_ = 0;  // guarded by mutex_, like the rest
  std::size_t held_ = 0;
  bool refuses_ = false;
  bool closed_ = false;
};

}  // namespace pawl::runtime
