// Sequence: a coroutine that asks for one commit at a time and goes on with its outcome. Whoever holds it reads
// operation(), commits it, and calls resume(). Destroying it at any point is a crash at that point.
//
// g++ 12 destroys aggregates twice that are temporaries of a co_await expression, so Ask has a constructor and takes
// an operation, which is a variant (no aggregate).
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "base/invariant.h"
#include "store/duplex_operation.h"

namespace pawl::duplex {

class Ask;

class [[nodiscard]] Sequence {
 public:
  struct promise_type {
    const store::DuplexOperation* asked = nullptr;
    store::DuplexOutcome outcome;

    Sequence get_return_object() { return Sequence(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  Sequence(Sequence&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Sequence& operator=(Sequence&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Sequence() {
    if (handle_) handle_.destroy();
  }

  bool done() const { return handle_.done(); }
  // REQUIRES: !done(). Valid until resume().
  const store::DuplexOperation& operation() const { return *handle_.promise().asked; }
  void resume(store::DuplexOutcome outcome) {
    invariant(!done(), "a sequence that ended asks for nothing");
    handle_.promise().outcome = std::move(outcome);
    handle_.promise().asked = nullptr;
    handle_.resume();
  }

 private:
  explicit Sequence(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

class Ask {
 public:
  explicit Ask(store::DuplexOperation operation) : operation_(std::move(operation)) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<Sequence::promise_type> handle) {
    handle_ = handle;
    handle_.promise().asked = &operation_;
  }
  store::DuplexOutcome await_resume() { return std::move(handle_.promise().outcome); }

 private:
  store::DuplexOperation operation_;
  std::coroutine_handle<Sequence::promise_type> handle_;
};

}  // namespace pawl::duplex
