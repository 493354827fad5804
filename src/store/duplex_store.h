// DuplexStore: keeps jobs under `collation: duplex`. It is a separate interface beside Store because it needs no
// transactions, only single operations that may be repeated, so a server without transactions can be one. A store may
// be a Store, a DuplexStore or both; both share the ids of jobs and their rows.
//
// Invariants of every DuplexStore (store/conformance/duplex_test.cc checks them):
// 1. Each operation is applied whole or not at all, and committed means durable.
// 2. Each operation may be repeated, by anyone (duplex_operation.h).
#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "pawl/result.h"
#include "store/duplex_operation.h"

namespace pawl::store {

// Reads as values, for callers that must not wait for an answer (duplex/sequence.h).
struct ViewDuplex {
  RunId run{0};
  Place place;
};
struct ReadDuplex {
  RunId run{0};
};
using DuplexRead = std::variant<ViewDuplex, ReadDuplex>;
// In the order of the reads above.
using DuplexAnswer = std::variant<Result<std::optional<DuplexView>>, Result<std::optional<DuplexJob>>>;

// Threads: one thread at a time calls commit(), and it counts together with commit() of the Store beside it. Reads may
// come from any other thread meanwhile.
class DuplexStore {
 public:
  virtual ~DuplexStore() = default;

  // One outcome for each operation, in order. They are passed together so that they can share a sync. Callers may not
  // rely on more: each operation is independent, as if it had been committed alone. After an error (retry_later:
  // nothing was applied; outcome_unknown: the reply was lost) any of them may have been applied, unless the error rules
  // that out.
  virtual Result<std::vector<DuplexOutcome>> commit(std::span<const DuplexOperation> operations) = 0;
  Result<DuplexOutcome> commit_one(const DuplexOperation& operation) {
    auto outcomes = commit({&operation, 1});
    if (!outcomes) return outcomes.error();
    return std::move(outcomes->front());
  }

  virtual Instant now() const = 0;

  // None: no such job, or a job of another collation.
  virtual Result<std::optional<DuplexJob>> read(RunId run) = 0;
  // What is under way: the job's row without its result, its stream, and only the cells that a message of the stream is
  // about. Finished parts of the job cost nothing here.
  virtual Result<std::optional<DuplexJob>> read_under_way(RunId run) = 0;
  virtual Result<std::optional<DuplexView>> view(RunId run, const Place& place) = 0;

  DuplexAnswer answer(const DuplexRead& asked) {
    if (const auto* looked = std::get_if<ViewDuplex>(&asked)) return view(looked->run, looked->place);
    return read(std::get<ReadDuplex>(asked).run);
  }
};

}  // namespace pawl::store
