// Subscription: an observer that was added. It is removed when the Subscription is destroyed.
//
//   void watch(pawl::Runtime& runtime) {
//     const pawl::Subscription events = runtime.observe([](const pawl::Event& event) {
//       if (event.kind == pawl::Event::Kind::job_closed) std::printf("%s ended\n", event.job.raw().c_str());
//     });
//     // ... as long as `events` lives
//   }
#pragma once

#include <functional>
#include <utility>

namespace pawl {

// A movable value. Any thread may end it. After end() or the destructor has returned, the observer is not called any
// more and no call of it is running, unless the observer itself ended it.
class [[nodiscard]] Subscription {
 public:
  Subscription() = default;
  explicit Subscription(std::function<void()> remove) : remove_(std::move(remove)) {}
  Subscription(Subscription&& other) noexcept : remove_(std::exchange(other.remove_, {})) {}
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      end();
      remove_ = std::exchange(other.remove_, {});
    }
    return *this;
  }
  ~Subscription() { end(); }

  void end() {
    if (auto remove = std::exchange(remove_, {})) remove();
  }
  // The observer stays as long as its runtime exists.
  void keep() { remove_ = {}; }

 private:
  std::function<void()> remove_;
};

}  // namespace pawl
