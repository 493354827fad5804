// Outgoing: what is on its way to the store. Operations gather in a group until the driver takes it. A group that the
// store cannot take now is kept and handed out again after a while; callers get the error at once.
//
// A store with one domain for all lanes takes groups over all of them. Otherwise each lane has separate groups, one
// under way at a time: while a lane's group is on its way its next one gathers, and a lane that cannot be reached
// blocks no other.
//
// A remote store with one domain takes several groups at once. There steps are in separate groups: an operation that
// numbers something new (a job, a mailbox, an announcement) waits in the store for others that do, and a step need not.
// Removals are separate too, a few at a time, one group after the other.
//
// A bundle that is committed with a worker's transaction is a separate group, and goes before all others.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/engine_types.h"
#include "store/domain.h"

namespace pawl::runtime {

// Operations that are committed together, and the callers that wait for them.
struct Group {
  std::vector<store::Operation> operations;
  std::vector<Ticket> tickets;  // one for each operation
  Duration asked_at{0};
  std::size_t bytes = 0;                                // of its operations
  std::uint64_t number = 0;                             // in the order they were taken
  store::Domain domain;                                 // of all of them; unused where all lanes are one domain
  std::shared_ptr<store::OpenTransaction> transaction;  // commits its one bundle; none: a usual group

  void add(store::Operation operation, Ticket ticket);
};

class Outgoing {
 public:
  enum class Groups : std::uint8_t { over_all_lanes, steps_apart, by_lane };

  Outgoing(Groups groups, const EngineOptions& options, const Clock& clock, EngineEvents& events)
      : groups_(groups), options_(options), clock_(clock), events_(events) {}

  void push(store::Operation operation, Ticket ticket = 0);
  void push(core::Bundle bundle, std::shared_ptr<store::OpenTransaction> transaction);
  // Only bundles count: a flood of submits must not block the jobs that it creates.
  bool takes_bundles() const;

  // A driver may have several groups on their way: no operation of one waits for the outcome of another.
  std::optional<Group> take();
  std::optional<Group> take_with_transaction();
  void finished_with_transaction(const Group& group);
  // The outcome of each operation of the group; none: it is tried again later.
  std::optional<std::vector<store::Outcome>> finished(Group& group, Result<std::vector<store::Outcome>> result);
  // Whether the group that is being settled was overtaken: outcomes of later commits may have arrived before.
  bool overtaken() const { return overtaken_; }
  // Removes a lost lane's bundles and claims from what was not sent: its jobs are forgotten, and when they are read
  // again a second bundle for the same rev must not meet the first.
  void withdraw(core::LaneId lane, const std::function<void(const store::Operation&)>& withdrawn);

  bool refuses() const;  // the store takes no writes now, or not all
  // Why the store takes no operation of this kind now; none: it does.
  const std::string* refusal_of(const store::Operation& operation) const;
  std::optional<Duration> next_wake() const;
  bool empty() const;
  std::size_t waiting() const { return waiting_; }  // operations
  std::size_t bytes() const { return bytes_; }

 private:
  struct Stream {  // of one domain
    Group pending;
    std::size_t bundles = 0;  // of the pending ones
    std::size_t bundle_bytes = 0;
    std::size_t out = 0;  // groups that are being committed
    std::optional<Group> retry;
    Duration retry_at{0};
    Duration backoff{0};
    std::string why;
  };
  store::Domain domain_of(const store::Operation& operation) const;
  bool may_send_beside_others(const Stream& stream) const;
  bool is_ready(const Stream& stream) const;
  Group take_all(Stream& stream);  // of the waiting ones; they still count in bytes_
  Group cut(Stream& stream);       // the part of it that fits a group
  void put_back(Group group);      // waits again; bytes_ already counts it
  void keep(Stream& stream, Group group, const Error& error);
  Group refuse_callers(Group group, const Error& error);

  const Groups groups_;
  const EngineOptions& options_;
  const Clock& clock_;
  EngineEvents& events_;
  std::map<store::Domain, Stream> streams_;
  std::deque<Group> alone_;    // with their transactions
  std::size_t alone_out_ = 0;  // of these, being committed
  store::Domain last_taken_;   // whose turn was last
  std::size_t waiting_ = 0;    // waiting operations, without those that are tried again
  std::size_t bundles_ = 0;    // of these
  std::size_t bundle_bytes_ = 0;
  std::size_t bytes_ = 0;              // of all that waits, is on its way or is tried again
  std::uint64_t taken_ = 0;            // number of groups so far
  std::uint64_t newest_finished_ = 0;  // its number
  bool overtaken_ = false;
};

}  // namespace pawl::runtime
