// What a memory store holds for `collation: duplex`, beside the job's row: cells, marks, the set of open addresses
// and the streams. duplex.cc applies the operations to it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "store/duplex_operation.h"

namespace pawl::store::memory {

struct StreamEntry {
  StreamMessage message;
  std::uint64_t position = 0;  // order of arrival, over all jobs
  bool done = false;           // acknowledged: only its name is left
  ClaimId claim{0};
  core::Epoch epoch{0};
  Instant free_at;  // the claim's lease, or the delay after it was given back
  std::uint32_t claims = 0;
  std::uint32_t given_back = 0;

  ClaimedMessage claimed() const { return {message, claim, claims - given_back, given_back}; }
};

struct DuplexRows {
  std::vector<DuplexCell> cells;  // in the order they were set
  std::map<Place, std::size_t> by_place;
  std::set<core::Guid> marks;
  std::map<Place, bool> open;  // false: closed for good
  std::map<core::Guid, StreamEntry> stream;

  DuplexCell* find(const Place& place) {
    const auto found = by_place.find(place);
    return found == by_place.end() ? nullptr : &cells[found->second];
  }
};

// The messages that wait, of one lane and topic, oldest first.
using StreamKey = std::pair<core::LaneId, Topic>;
using StreamOrder = std::map<std::uint64_t, std::pair<RunId, core::Guid>>;

struct DuplexTables {
  std::map<RunId, DuplexRows> jobs;
  std::map<StreamKey, StreamOrder> streams;
  std::uint64_t next_position = 1;
};

}  // namespace pawl::store::memory
