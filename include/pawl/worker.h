// Workers: the code that does an activity's work. A worker gets a Work and returns a Reply; whatever it
// throws becomes an error reply with code 500.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "pawl/ids.h"
#include "pawl/payload.h"
#include "pawl/time.h"

namespace pawl {

// How a worker answers. The status decides whether it is an error, the code decides which transitions fire.
class Reply {
 public:
  enum class Status : std::uint8_t { success, error, fatal, later };

  static Reply success(Payload data = {}, std::int32_t code = 200) {
    return Reply(Status::success, code, std::move(data));
  }
  // A failed try: the activity's retry policy says whether there is another one.
  static Reply error(Payload data, std::int32_t code = 500) { return Reply(Status::error, code, std::move(data)); }
  // An error that no further try mends.
  static Reply fatal(Payload data, std::int32_t code = 500) { return Reply(Status::fatal, code, std::move(data)); }
  // Somebody else will answer, with Work::token() and Runtime::complete(), within this time. After it the work
  // is handed out again (or is unknown, if it may act at most once).
  static Reply later(Duration within = std::chrono::hours(24)) {
    Reply reply(Status::later, 202, {});
    reply.within_ = within;
    return reply;
  }

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

// One request. Valid while the worker runs; copy token() to answer later.
class Work {
 public:
  // What a running worker can tell its runtime. Implemented by the runtime; any thread may call it.
  class Line {
   public:
    virtual ~Line() = default;
    virtual void pending(Payload data, std::int32_t code) = 0;
    virtual void heartbeat(Payload progress) = 0;
    virtual bool cancelled() const = 0;
  };
  struct Facts {
    Topic topic{""};
    RunId run{0};
    std::string idempotency_key;
    std::string token;
    std::uint32_t attempt = 1;
    Payload input;
    Payload progress;
  };

  Work(Facts facts, Line& line) : facts_(std::move(facts)), line_(line) {}

  const Topic& topic() const { return facts_.topic; }
  RunId run() const { return facts_.run; }
  const Payload& input() const { return facts_.input; }
  // Stays the same however often this activity is run, and no other work ever gets it: give it to whoever must not act
  // twice.
  const std::string& idempotency_key() const { return facts_.idempotency_key; }
  // Names this run of the work, for Runtime::complete() and Runtime::heartbeat(). Whoever has it may answer; nobody can
  // guess it.
  const std::string& token() const { return facts_.token; }
  std::uint32_t attempt() const { return facts_.attempt; }  // 1 for the first run
  // What an earlier run last said with heartbeat(); empty if nothing.
  const Payload& progress() const { return facts_.progress; }
  // An interim answer: opens a plane of its own for the activities behind this one, which stays open.
  void pending(Payload data, std::int32_t code = 202) { line_.pending(std::move(data), code); }
  // Still alive, and this far. The next run reads it, should there be one.
  void heartbeat(Payload progress = {}) { line_.heartbeat(std::move(progress)); }
  // True once nobody waits for this run any more: its job has ended, its time is over, or this process stops. Stop and
  // return: a worker that does not is reported, and its thread replaced.
  bool cancelled() const { return line_.cancelled(); }

 private:
  Facts facts_;
  Line& line_;
};

// What became of an at-most-once activity whose run was lost.
class ProbeResult {
 public:
  enum class Kind : std::uint8_t { done, failed, not_done, cannot_tell };
  static ProbeResult done(Payload output, std::int32_t code = 200) { return {Kind::done, code, std::move(output)}; }
  static ProbeResult failed(Payload error, std::int32_t code = 500) { return {Kind::failed, code, std::move(error)}; }
  static ProbeResult not_done() { return {Kind::not_done, 0, {}}; }        // run it now
  static ProbeResult cannot_tell() { return {Kind::cannot_tell, 0, {}}; }  // hold it for a person

  Kind kind() const { return kind_; }
  std::int32_t code() const { return code_; }
  const Payload& data() const { return data_; }

 private:
  ProbeResult(Kind kind, std::int32_t code, Payload data) : kind_(kind), code_(code), data_(std::move(data)) {}
  Kind kind_;
  std::int32_t code_;
  Payload data_;
};
using Probe = std::function<ProbeResult(const Work&)>;

using Worker = std::function<Reply(Work&)>;

}  // namespace pawl
