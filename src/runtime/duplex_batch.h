// DuplexBatch: what duplex jobs need of the store at one time: single operations, each for another message, and reads.
// The engine's thread carries it out if the store is local; a thread of the store does if the store is remote.
#pragma once

#include <optional>
#include <vector>

#include "core/job_state.h"
#include "duplex/engine.h"
#include "store/duplex_store.h"
#include "store/job_store.h"

namespace pawl::runtime {

struct DuplexBatch {
  std::vector<duplex::Engine::StepId> committing;
  std::vector<store::DuplexOperation> operations;  // of these, in their order
  std::vector<duplex::Engine::StepId> asking;
  std::vector<store::DuplexRead> reads;  // of these messages, in the same order
  std::vector<RunId> ended;              // jobs whose last row a caller waits for
  bool empty() const { return committing.empty() && asking.empty() && ended.empty(); }
};

struct DuplexAnswers {
  Result<std::vector<store::DuplexOutcome>> outcomes;
  std::vector<store::DuplexAnswer> reads;
  std::vector<Result<std::optional<core::JobRow>>> rows;
};

// On any thread.
DuplexAnswers carry_out(const DuplexBatch& batch, store::DuplexStore& duplex, store::JobStore& jobs);

}  // namespace pawl::runtime
