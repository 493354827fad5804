// PlainCommits: what an engine needs of a server without scripts, beside the jobs of collation duplex: pools, engines,
// apps, and lanes with their owners. Uses WATCH and MULTI, on the same keys. Jobs of collation ledger need the scripts:
// they are refused there.
//
// Threads: any.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/operation.h"
#include "store/redis/keys.h"
#include "store/redis/lane_watch.h"
#include "store/redis/servers.h"
#include "store/redis/watched.h"

namespace pawl::store::redis {

class PlainCommits {
 public:
  // The references must outlive it. `clock` null: the server's.
  PlainCommits(Servers& servers, const Keys& keys, core::Guid store, const Clock* clock, LaneWatch& watch,
               std::string sender)
      : servers_(servers), keys_(keys), store_(store), clock_(clock), watch_(watch), sender_(std::move(sender)) {}

  Result<Outcome> commit(const Operation& operation);

 private:
  using Replies = std::vector<Reply>;
  using Chosen = Decision<Outcome>;

  Result<Outcome> run(const OpenPool& open);
  Result<Outcome> run(const BeatEngine& beat);
  Result<Outcome> run(const LeaveEngine& leave);
  Result<Outcome> run(const PutApp& put);
  Result<Outcome> run(const ActivateApp& activate);
  Result<Outcome> run(const AcquireLane& acquire);
  Result<Outcome> run(const RenewLane& renew);
  Result<Outcome> run(const ReleaseLane& release);

  // The first reply is the store's id, the second one the time.
  Result<Outcome> in_catalogue(Look look,
                               const std::function<Result<Chosen>(const Replies& seen, Instant now)>& choose);
  // The owner, as the lane's hash has it.
  struct Owned {
    std::string owner;
    core::Epoch epoch{0};
    std::optional<Instant> until;
    Instant now;
  };
  Result<Outcome> in_lane(core::LaneId lane, const std::function<Chosen(const Owned& owned)>& choose);
  Result<Instant> time_in(const Reply& reply) const;

  Servers& servers_;
  const Keys& keys_;
  const core::Guid store_;
  const Clock* const clock_;
  LaneWatch& watch_;
  const std::string sender_;
};

}  // namespace pawl::store::redis
