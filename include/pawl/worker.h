// Workers: the code that does an activity's work. A worker gets a Work and returns a Reply; whatever it
// throws becomes an error reply with code 500.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "pawl/ids.h"
#include "pawl/payload.h"

namespace pawl {

// How a worker answers. The status decides whether it is an error, the code decides which transitions fire.
class Reply {
 public:
  enum class Status : std::uint8_t { success, error };

  static Reply success(Payload data = {}, std::int32_t code = 200) { return Reply(Status::success, code, std::move(data)); }
  static Reply error(Payload data, std::int32_t code = 500) { return Reply(Status::error, code, std::move(data)); }

  Status status() const { return status_; }
  std::int32_t code() const { return code_; }
  const Payload& data() const { return data_; }

 private:
  Reply(Status status, std::int32_t code, Payload data) : status_(status), code_(code), data_(std::move(data)) {}
  Status status_;
  std::int32_t code_;
  Payload data_;
};

// One request. Valid while the worker runs.
class Work {
 public:
  using SendPending = std::function<void(Payload data, std::int32_t code)>;

  Work(Topic topic, RunId run, std::string key, std::uint32_t attempt, Payload input, SendPending send)
      : topic_(std::move(topic)), run_(run), key_(std::move(key)), attempt_(attempt), input_(std::move(input)),
        send_(std::move(send)) {}

  const Topic& topic() const { return topic_; }
  RunId run() const { return run_; }
  const Payload& input() const { return input_; }
  // Stays the same however often this activity is run: give it to whoever must not act twice.
  const std::string& idempotency_key() const { return key_; }
  std::uint32_t attempt() const { return attempt_; }  // 1 for the first run
  // An interim answer: opens a plane of its own for the activities behind this one, which stays open.
  void pending(Payload data, std::int32_t code = 202) { send_(std::move(data), code); }

 private:
  Topic topic_;
  RunId run_;
  std::string key_;
  std::uint32_t attempt_;
  Payload input_;
  SendPending send_;
};

using Worker = std::function<Reply(Work&)>;

}  // namespace pawl
