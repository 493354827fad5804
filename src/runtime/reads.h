// Reads: what is read from the store, and what follows when the reply arrives. The engine never waits for a read.
//
// A local store replies at once, and what follows happens before ask() returns. For a remote store, reads gather in
// batches that the driver takes, as it takes groups; what follows happens in answered(). Until then anything may have
// happened, so the caller keeps a place for the reply and checks its state again when it comes.
//
// 1. A continuation for a lane is called only if the engine has owned the lane without a break since the read was
// asked.
// 2. A reply about a run is not used if this engine learned meanwhile that one of its own commits changed the run's
//    work (touched()): the store is asked once more.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "runtime/owned_lane.h"
#include "store/store.h"

namespace pawl::runtime {

struct ReadBatch {
  std::vector<store::Read> reads;
  std::vector<std::uint64_t> numbers;  // of the reads
};

class Lanes;

class Reads {
 public:
  enum class Way : std::uint8_t { at_once, later };

  // The references must outlive it.
  Reads(Way way, store::Store& store, const Lanes& lanes) : way_(way), store_(store), lanes_(lanes) {}

  // `then(OwnedLane&, AnswerTo<Read>)`; `lost()`, if needed: the engine does not own the lane any more.
  template <class Read, class Then, class Lost>
  void ask(OwnedLane& lane, Read read, Then then, Lost lost);
  template <class Read, class Then>
  void ask(OwnedLane& lane, Read read, Then then) {
    ask(lane, std::move(read), std::move(then), [] {});
  }
  // For no lane: `then(AnswerTo<Read>)`.
  template <class Read, class Then>
  void ask(Read read, Then then);

  // A commit of this engine changed who has the run's work.
  void touched(RunId run);

  std::optional<ReadBatch> take();
  // One answer for each of the first reads of the batch; the others are asked again.
  void answered(ReadBatch batch, std::vector<store::ReadAnswer> answers);

  bool empty() const { return asked_.empty(); }
  std::size_t waiting() const { return waiting_.size(); }  // for the driver
  bool has_room() const { return asked_.size() < limits::reads_out_max; }

 private:
  struct Asked {
    store::Read read;
    RunId run{0};  // its subject, if the reply contains its work
    bool stale = false;
    std::function<void(store::ReadAnswer)> then;
  };
  void ask_later(store::Read read, std::function<void(store::ReadAnswer)> then);
  OwnedLane* same(core::LaneId lane, std::uint64_t number) const;

  const Way way_;
  store::Store& store_;
  const Lanes& lanes_;
  std::unordered_map<std::uint64_t, Asked> asked_;  // by number
  std::unordered_multimap<RunId, std::uint64_t> by_run_;
  std::vector<std::uint64_t> waiting_;  // for the driver, in their order
  std::uint64_t last_number_ = 0;
};

template <class Read, class Then, class Lost>
void Reads::ask(OwnedLane& lane, Read read, Then then, Lost lost) {
  if (way_ == Way::at_once) return then(lane, answer_to(store_, read));
  ask_later(std::move(read), [this, id = lane.id, number = lane.number, then = std::move(then),
                              lost = std::move(lost)](store::ReadAnswer answer) mutable {
    OwnedLane* still = same(id, number);
    if (still == nullptr) return lost();
    then(*still, std::move(std::get<store::Answered<Read>>(answer).value));
  });
}

template <class Read, class Then>
void Reads::ask(Read read, Then then) {
  if (way_ == Way::at_once) return then(answer_to(store_, read));
  ask_later(std::move(read), [then = std::move(then)](store::ReadAnswer answer) mutable {
    then(std::move(std::get<store::Answered<Read>>(answer).value));
  });
}

}  // namespace pawl::runtime
