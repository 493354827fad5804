// What a memory store holds for `collation: duplex`, in addition to the job's row: cells, marks, the set of open
// addresses and the streams.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "store/duplex_store.h"
#include "store/operation.h"

namespace pawl::store::memory {

// Shared with the store of the other collation: the ids of jobs, and their rows.
class SharedJobs {
 public:
  virtual ~SharedJobs() = default;
  virtual Outcome begin_duplex(const StartDuplex& start) = 0;  // the id and the row
  virtual core::JobRow* find_row(RunId run) = 0;
};

class DuplexStore final : public pawl::store::DuplexStore {
 public:
  // The references must outlive it. `mutex` guards the jobs as well.
  DuplexStore(const Clock& clock, std::mutex& mutex, SharedJobs& jobs) : clock_(clock), mutex_(mutex), shared_(jobs) {}
  void copy_from(const DuplexStore& other);  // REQUIRES: the mutex of the other one is held

  Result<std::vector<DuplexOutcome>> commit(std::span<const DuplexOperation> operations) override;
  Instant now() const override { return clock_.now(); }
  Result<std::optional<DuplexJob>> read(RunId run) override;
  Result<std::optional<DuplexJob>> read_under_way(RunId run) override;
  Result<std::optional<DuplexView>> view(RunId run, const Place& place) override;

 private:
  // The place of a waiting message in its stream.
  enum class Shelf : std::uint8_t {
    free,     // it may be claimed
    claimed,  // until the lease is over, or an owner with a later epoch comes
    later,    // given back with a delay
    none,     // acknowledged, or its job is parked
  };
  struct Entry {
    StreamMessage message;
    std::uint64_t position = 0;  // order of arrival, over all jobs
    Shelf shelf = Shelf::none;
    bool done = false;  // acknowledged: only its name is left
    ClaimId claim{0};   // stays after the lease: its holder may finish until another claim
    core::Epoch epoch{0};
    Instant free_at;  // the claim's lease, or the delay after it was given back
    std::uint32_t claims = 0;
    std::uint32_t given_back = 0;

    ClaimedMessage claimed() const { return {message, claim, claims - given_back, given_back}; }
  };
  struct Job {
    std::vector<DuplexCell> cells;  // in the order in which they were set
    std::map<Place, std::size_t> by_place;
    std::set<core::Guid> marks;
    std::map<Place, bool> open;  // false: closed permanently
    std::map<core::Guid, Entry> stream;

    std::vector<ClaimedMessage> waiting() const;
    DuplexCell* find(const Place& place) {
      const auto found = by_place.find(place);
      return found == by_place.end() ? nullptr : &cells[found->second];
    }
  };
  // The stream of one lane and topic. Each shelf has its own order, so the cost of a dequeue depends on what it takes,
  // not on how much waits.
  using Where = std::pair<RunId, core::Guid>;
  struct Stream {
    std::map<std::uint64_t, Where> free;  // oldest first
    std::map<std::uint64_t, Where> claimed;
    std::map<std::pair<Instant, std::uint64_t>, Where> later;  // soonest first
    bool empty() const { return free.empty() && claimed.empty() && later.empty(); }
  };
  using StreamKey = std::pair<core::LaneId, Topic>;

  // One per operation; each returns its own answer and changes nothing unless it commits.
  DuplexOutcome run(const StartDuplex& start);
  DuplexOutcome run(const SetCell& set);
  DuplexOutcome run(const AddToCell& add);
  DuplexOutcome run(const NameCloser& name);
  DuplexOutcome run(const OpenAddress& open);
  DuplexOutcome run(const CloseAddress& close);
  DuplexOutcome run(const Enqueue& enqueue);
  DuplexOutcome run(const Dequeue& dequeue);
  DuplexOutcome run(const Ack& ack);
  DuplexOutcome run(const GiveBack& back);
  DuplexOutcome run(const EndDuplex& end);
  DuplexOutcome run(const ParkDuplex& park);

  std::optional<DuplexOutcome> refuse(RunId run);  // none: the job takes writes
  void put(StreamMessage message);
  void move(Entry& entry, Shelf to);
  Entry& entry_at(const Where& where) { return jobs_.at(where.first).stream.at(where.second); }
  void free_what_is_due(Stream& stream, core::Epoch epoch);

  const Clock& clock_;
  std::mutex& mutex_;
  SharedJobs& shared_;
  std::map<RunId, Job> jobs_;
  std::map<StreamKey, Stream> streams_;  // no stream is empty
  std::uint64_t next_position_ = 1;
};

}  // namespace pawl::store::memory
