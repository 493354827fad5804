// DuplexBatch: what duplex jobs want of the store at one time: single operations, each of another message, and reads.
// It is carried out by whoever has the time to wait: the engine's thread if the store is at hand, a thread of the store
// if it is far away.
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
  std::vector<store::DuplexRead> reads;  // likewise
  std::vector<RunId> ended;              // whose last row somebody waits for
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
