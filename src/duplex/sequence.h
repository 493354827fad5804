// Sequence: a coroutine that requests one commit or one read at a time and continues with the result. Its holder looks
// at operation() or question(), carries it out, and calls resume(). Destroying it at any point is a crash at that
// point.
//
// g++ 12 destroys aggregates twice that are temporaries of a co_await expression, so the awaited types have a
// constructor that takes a variant (no aggregate).
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "base/invariant.h"
#include "store/duplex_store.h"

namespace pawl::duplex {

class [[nodiscard]] Sequence {
 public:
  struct promise_type {
    const store::DuplexOperation* asked = nullptr;  // one of these two, while it waits
    const store::DuplexRead* looked = nullptr;
    store::DuplexOutcome outcome;
    std::optional<store::DuplexAnswer> answer;

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
  bool is_reading() const { return !done() && handle_.promise().looked != nullptr; }
  // REQUIRES: !done(), and it waits for a commit or for a read. Valid until resume().
  const store::DuplexOperation& operation() const { return *handle_.promise().asked; }
  const store::DuplexRead& question() const { return *handle_.promise().looked; }

  void resume(store::DuplexOutcome outcome) {
    invariant(!done() && !is_reading(), "a sequence goes on with the outcome of the commit that it asked for");
    handle_.promise().outcome = std::move(outcome);
    handle_.promise().asked = nullptr;
    handle_.resume();
  }
  void resume(store::DuplexAnswer answer) {
    invariant(is_reading(), "a sequence goes on with the answer to its own question");
    handle_.promise().answer = std::move(answer);
    handle_.promise().looked = nullptr;
    handle_.resume();
  }

 private:
  explicit Sequence(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

// A commit.
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

// A read; `Answer` is the type of the store's answer to that question.
template <class Answer>
class Look {
 public:
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<Sequence::promise_type> handle) {
    handle_ = handle;
    handle_.promise().looked = &question_;
  }
  Answer await_resume() { return std::get<Answer>(std::move(*handle_.promise().answer)); }

 protected:
  explicit Look(store::DuplexRead question) : question_(std::move(question)) {}

 private:
  store::DuplexRead question_;
  std::coroutine_handle<Sequence::promise_type> handle_;
};

using Viewed = Result<std::optional<store::DuplexView>>;
using WholeJob = Result<std::optional<store::DuplexJob>>;

class View : public Look<Viewed> {
 public:
  explicit View(RunId run) : Look(store::ViewDuplex{run, {}}) {}  // only the job
  View(RunId run, const store::Place& place) : Look(store::ViewDuplex{run, place}) {}
};

class Read : public Look<WholeJob> {
 public:
  explicit Read(RunId run) : Look(store::ReadDuplex{run}) {}
};

}  // namespace pawl::duplex
