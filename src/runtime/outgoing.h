// Outgoing: what is on its way to the store. Operations gather in a group until the driver takes it; a group that the
// store cannot take now is kept and handed out again after a while, and callers are told at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/engine_types.h"

namespace pawl::runtime {

// Operations that are committed together, and who waits for them.
struct Group {
  std::vector<store::Operation> operations;
  std::vector<Ticket> tickets;  // one for each operation
  Duration asked_at{0};
  std::size_t bytes = 0;        // of its operations
  std::uint64_t number = 0;     // as they were taken

  void add(store::Operation operation, Ticket ticket);
};

class Outgoing {
 public:
  Outgoing(const EngineOptions& options, const Clock& clock, EngineEvents& events)
      : options_(options), clock_(clock), events_(events) {}

  void push(store::Operation operation, Ticket ticket = 0) { pending_.add(std::move(operation), ticket); }
  void push_decided(core::Bundle bundle);
  // Only bundles count: a flood of submits must not keep the jobs it makes from moving.
  bool takes_bundles() const;

  // A driver may have several groups on their way: no operation of one waits for the outcome of another's.
  std::optional<Group> take();
  // What became of each operation of the group; none: it is tried again later.
  std::optional<std::vector<store::Outcome>> finished(Group& group, Result<std::vector<store::Outcome>> result);
  // Whether the group that is being settled was overtaken: what was committed after it may have been heard of before.
  bool overtaken() const { return overtaken_; }
  // Takes a lost lane's bundles and claims out of what was not sent: its jobs are forgotten, and when they are read again
  // a second bundle for the same rev must not meet the first.
  void withdraw(core::LaneId lane, const std::function<void(const store::Operation&)>& withdrawn);

  bool refuses() const { return retry_.has_value(); }  // the store takes no writes at the moment
  const std::string& why() const { return retry_reason_; }
  std::optional<Duration> next_wake() const;
  bool empty() const { return out_ == 0 && !retry_ && pending_.operations.empty(); }
  std::size_t waiting() const { return pending_.operations.size(); }
  std::size_t bytes() const { return pending_.bytes + bytes_out_ + (retry_ ? retry_->bytes : 0); }

 private:
  void keep(Group group, const Error& error);
  Group refuse_callers(Group group, const Error& error);

  const EngineOptions& options_;
  const Clock& clock_;
  EngineEvents& events_;
  Group pending_;
  std::size_t bundles_ = 0;       // of the pending ones
  std::size_t bundle_bytes_ = 0;
  std::size_t out_ = 0;           // groups that are being committed
  std::size_t bytes_out_ = 0;
  std::uint64_t taken_ = 0;            // groups so far
  std::uint64_t newest_finished_ = 0;  // the number of one
  bool overtaken_ = false;
  std::optional<Group> retry_;
  Duration retry_at_{0};
  Duration backoff_{0};
  std::string retry_reason_;
};

}  // namespace pawl::runtime
