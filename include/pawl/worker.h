// Workers: the code that does an activity's work. A worker is a function that you give to Runtime::serve. It takes its
// input as a value, or the Work with all that is known of the attempt, or both; and it returns its result:
//
//   int add_tax(const int& cents) { return cents + cents / 5; }
//   int charge(const int& cents, pawl::Work& work) {
//     if (cents > 10'000) throw pawl::Failure{.code = 402, .message = "declined", .retryable = false};
//     std::printf("charging once, under the key %s\n", work.key().c_str());
//     return cents;
//   }
//   pawl::Reply by_hand(pawl::Work& work) { return pawl::Reply::success(work.input()); }
//
//   pawl::Status serve_all(pawl::Runtime& runtime) {
//     if (auto served = runtime.serve("orders.tax", add_tax); !served) return served;
//     if (auto served = runtime.serve("payments.charge", charge); !served) return served;
//     return runtime.serve("orders.echo", by_hand);
//   }
//
// Instead of a value a worker may return nothing, a Payload (bytes, unchanged), a Result, a Result<T, Failure>, a
// Failure or a Reply. Several threads may call it at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "pawl/codec.h"
#include "pawl/failure.h"
#include "pawl/ids.h"
#include "pawl/payload.h"
#include "pawl/time.h"

namespace pawl {

// A worker's reply, in bytes. The status decides whether it is an error, the code decides which transitions fire.
class Reply {
 public:
  enum class Status : std::uint8_t { success, error, fatal, later };

  static Reply success(Payload data = {}, std::int32_t code = 200) {
    return Reply(Status::success, code, std::move(data));
  }
  // A failed attempt: the activity's retry policy decides whether there is another one.
  static Reply error(Payload data, std::int32_t code = 500) { return Reply(Status::error, code, std::move(data)); }
  // An error that another attempt would not change.
  static Reply fatal(Payload data, std::int32_t code = 500) { return Reply(Status::fatal, code, std::move(data)); }
  // Somebody else will reply, with Work::token() and Runtime::complete(), within this time. After it the work is handed
  // out again (or its effect is unknown, if it is at most once).
  static Reply later(Duration within = std::chrono::hours(24)) {
    Reply reply(Status::later, 202, {});
    reply.within_ = within;
    return reply;
  }
  Reply(const Failure& failure)
      : Reply(failure.retryable ? Status::error : Status::fatal, failure.code, to_payload(failure)) {}

  Status status() const { return status_; }
  std::int32_t code() const { return code_; }
  const Payload& data() const { return data_; }
  Duration within() const { return within_; }  // of a later()

 private:
  Reply(Status status, std::int32_t code, Payload data) : status_(status), code_(code), data_(std::move(data)) {}
  Status status_;
  std::int32_t code_;
  Payload data_;
  Duration within_{0};
};

namespace detail {

// The messages of a running worker to its runtime, which implements this. Any thread may call it.
class WorkLine {
 public:
  virtual void pending(Payload data, std::int32_t code) = 0;
  virtual void heartbeat(Payload progress) = 0;
  virtual bool cancelled() const = 0;

 protected:
  ~WorkLine() = default;
};

struct WorkFacts {
  Topic topic{""};
  RunId run{0};
  std::string key;
  std::string token;
  std::uint32_t attempt = 1;
  Payload input;
  Payload progress;
  std::string trace{};
};

}  // namespace detail

// One attempt of an activity's work. Valid while the worker runs; copy token() to reply later.
class Work {
 public:
  Work(detail::WorkFacts facts, detail::WorkLine& line) : facts_(std::move(facts)), line_(line) {}

  const Topic& topic() const { return facts_.topic; }
  RunId run() const { return facts_.run; }  // of the job
  // The same for every attempt of this activity, and different for all other work: pass it to every system that must
  // not act twice.
  const std::string& key() const { return facts_.key; }
  // Names this attempt, for Runtime::complete() and Runtime::heartbeat(). Its holder may reply; it cannot be guessed.
  const std::string& token() const { return facts_.token; }
  std::uint32_t attempt() const { return facts_.attempt; }  // 1: the first one

  // The trace that its job was started with, to continue it: a W3C traceparent, and behind a space its tracestate, if
  // any. Empty: none.
  const std::string& trace() const { return facts_.trace; }

  const Payload& input() const { return facts_.input; }
  template <class T>
  Result<T> input_as() const {
    return decode<T>(facts_.input);
  }

  // What an earlier attempt last sent with heartbeat(); empty if nothing.
  const Payload& progress() const { return facts_.progress; }
  template <class T>
  Result<std::optional<T>> progress_as() const {
    if (facts_.progress.empty()) return std::optional<T>();
    auto value = decode<T>(facts_.progress);
    if (!value) return value.error();
    return std::optional<T>(std::move(*value));
  }
  // Still alive, with this progress. The next attempt, if any, can read it.
  void heartbeat() { line_.heartbeat({}); }
  template <class T>
  void heartbeat(const T& progress) {
    line_.heartbeat(written(progress));
  }
  // An interim reply: opens a new plane for the activities after this one, which stays open.
  template <class T>
  void pending(const T& data, std::int32_t code = 202) {
    line_.pending(written(data), code);
  }
  // True when the result of this attempt is not needed any more: its job has ended, its time is over, or this process
  // stops. Stop and return: a worker that does not is reported, and its thread is replaced.
  bool cancelled() const { return line_.cancelled(); }

 private:
  template <class T>
  static Payload written(const T& value) {
    auto bytes = encode(value);
    if (!bytes) throw Failure{.code = 500, .message = bytes.error().detail, .data = {}, .retryable = false};
    return std::move(*bytes);
  }
  detail::WorkFacts facts_;
  detail::WorkLine& line_;
};

using Worker = std::function<Reply(Work&)>;

}  // namespace pawl
