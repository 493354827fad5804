// Retries, time limits and guarantees of an activity's work. Types with named setters, so that a call is easy to read:
//
//   auto order = pawl::GraphBuilder("order")
//                    .trigger("received")
//                    .worker("charge", "payments.charge")
//                    .after("received")
//                    .retry(pawl::Retry().attempts(5).first_delay(100ms).never_on({400, 404}))
//                    .timeouts(pawl::Timeouts().attempt(30s).total(10min))
//                    .at_most_once(pawl::WhenUnknown::hold)
//                    .build();
//   // A rule for most errors, one for a service that is busy, and none for a card that was declined:
//   const auto rules = pawl::Retry().attempts(3).on(503, pawl::Retry().attempts(50).first_delay(5s)).never_on({402});
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "pawl/time.h"

namespace pawl {

// What happens when the attempts of an activity are used up and no transition catches its error.
enum class WhenExhausted : std::uint8_t {
  park,  // the job waits for a person (redrive), nothing is lost
  fail,  // the error is the activity's answer: the job fails, and what it did is undone (GraphBuilder::compensate)
};

// When a failed attempt is followed by another one. An attempt has failed when the worker replied with an error or did
// not reply in time; a process that crashed in the middle is not a failed attempt (limits::reentries_max).
class Retry {
 public:
  Retry& attempts(std::uint32_t count) { return attempts_ = count, *this; }  // in total
  Retry& first_delay(Duration delay) { return first_delay_ = delay, *this; }
  Retry& growth(double factor) { return growth_ = factor, *this; }  // of the delay, each time
  Retry& longest_delay(Duration delay) { return longest_delay_ = delay, *this; }
  Retry& jitter(double share) { return jitter_ = share, *this; }  // of the delay taken off at random
  Retry& within(Duration time) { return within_ = time, *this; }  // no attempt begins later than that
  Retry& never_on(std::vector<std::int32_t> codes) { return never_on_ = std::move(codes), *this; }
  Retry& when_exhausted(WhenExhausted then) { return when_exhausted_ = then, *this; }
  // An error with this code uses another rule instead of this one. A rule limits the total number of attempts: every
  // failed attempt of the activity counts, whatever its code was, and the rule of the last failure applies.
  Retry& on(std::int32_t code, Retry rule);

  std::uint32_t attempts() const { return attempts_; }
  Duration first_delay() const { return first_delay_; }
  double growth() const { return growth_; }
  Duration longest_delay() const { return longest_delay_; }
  double jitter() const { return jitter_; }
  Duration within() const { return within_; }  // 0: for ever
  const std::vector<std::int32_t>& never_on() const { return never_on_; }
  WhenExhausted when_exhausted() const { return when_exhausted_; }
  struct ForCode;
  const std::vector<ForCode>& for_codes() const { return for_codes_; }
  const Retry& rule_for(std::int32_t code) const;  // the rule for this code, or this one

 private:
  std::uint32_t attempts_ = 3;
  Duration first_delay_ = std::chrono::seconds(1);
  double growth_ = 2.0;
  Duration longest_delay_ = std::chrono::minutes(5);
  double jitter_ = 0.1;
  Duration within_{0};
  std::vector<std::int32_t> never_on_;
  WhenExhausted when_exhausted_ = WhenExhausted::fail;
  std::vector<ForCode> for_codes_;
};

struct Retry::ForCode {
  std::int32_t code;
  Retry rule;
};

inline Retry& Retry::on(std::int32_t code, Retry rule) {
  std::erase_if(for_codes_, [&](const ForCode& one) { return one.code == code; });
  for_codes_.push_back({code, std::move(rule)});
  return *this;
}

inline const Retry& Retry::rule_for(std::int32_t code) const {
  for (const ForCode& one : for_codes_)
    if (one.code == code) return one.rule;
  return *this;
}

// How long an activity may take. 0: no limit. An attempt that exceeds its time fails with code 408; the other three end
// the activity with that code.
class Timeouts {
 public:
  Timeouts& attempt(Duration time) { return attempt_ = time, *this; }      // one attempt of the worker
  Timeouts& heartbeat(Duration time) { return heartbeat_ = time, *this; }  // between two heartbeats of an attempt
  Timeouts& queue(Duration time) { return queue_ = time, *this; }          // until a worker takes it
  Timeouts& total(Duration time) { return total_ = time, *this; }          // all attempts and waits together

  Duration attempt() const { return attempt_; }
  Duration heartbeat() const { return heartbeat_; }
  Duration queue() const { return queue_; }
  Duration total() const { return total_; }

 private:
  Duration attempt_{0};
  Duration heartbeat_{0};
  Duration queue_{0};
  Duration total_{0};
};

// How often the outside effect of an activity may happen. No system can promise exactly once.
enum class Guarantee : std::uint8_t {
  at_least_once,  // attempted again when the effect is unknown, with the same idempotency key
  at_most_once,   // "started" is committed before the call; whether it had an effect may be unknown
};

// What to do when it is unknown whether an at-most-once activity acted.
enum class WhenUnknown : std::uint8_t {
  hold,       // a person decides (Runtime::settle)
  retry,      // attempt it again with the same idempotency key
  ask_probe,  // ask the probe that was registered for the topic (Runtime::probe); it may hold as well
};

struct Policy {
  bool retries = false;  // false: the first error is the answer
  Retry retry;
  Timeouts timeouts;
  Guarantee guarantee = Guarantee::at_least_once;
  WhenUnknown when_unknown = WhenUnknown::hold;
  std::int32_t priority = 0;  // added to the job's; larger goes first
};

}  // namespace pawl
