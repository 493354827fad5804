// What the duplex engine reports to its driver, always after the commit that made it true. After a crash it may be
// reported again: legs run at least once.
#pragma once

#include <cstdint>
#include <string>

#include "core/graph.h"
#include "core/guid.h"
#include "core/job_state.h"
#include "duplex/letters.h"
#include "pawl/result.h"
#include "store/duplex_operation.h"

namespace pawl::duplex {

using core::Graph;

using Ticket = std::uint64_t;  // names a caller that waits for an answer; 0: none

struct Started {
  RunId run{0};
  bool created = false;  // false: the id was taken, `run` is the job that has it
};

struct Change {
  enum class Kind : std::uint8_t { job_started, activity_opened, activity_pending, activity_closed };
  Kind kind = Kind::job_started;
  store::Place place;
  std::int64_t value = 0;  // its digits
  std::int32_t code = 0;
};

class Events {
 public:
  virtual ~Events() = default;
  // X: a worker of its topic may begin.
  virtual void dispatch(const HeldRequest& request, const core::JobRow& job) = 0;
  virtual void submitted(Ticket ticket, Result<Started> result) = 0;
  // A reply from outside is durable. not_found: the job is over or does not exist, so the reply changed nothing.
  virtual void replied(Ticket ticket, Status result) = 0;
  // The result of an ask(): the store's answer, or why it is not known.
  virtual void answered(Ticket ticket, Result<Outcome> outcome) = 0;
  virtual void changed(const core::JobRow& job, const Graph& graph, const Change& change) = 0;
  virtual void ended(RunId run) = 0;  // closed with its clean-up done, or parked
  virtual void problem(const std::string& text) = 0;
};

}  // namespace pawl::duplex
