// move(): copies everything from one store into an empty one. Records stream through in batches, so the memory it needs
// does not grow with the store.
//
// 1. The source is fenced: no one writes to it from the first record on.
// 2. The target is marked as incomplete, from before the first record until all records were read back and their
//    checksums match. An interrupted move is run again and starts over.
// 3. First the source is marked as moved, then the target may be opened: at no moment can both be used.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "store/transfer/site.h"
#include "store/transfer/sums.h"

namespace pawl::store::transfer {

struct Progress {
  enum class Phase : std::uint8_t { copy, check };
  Phase phase = Phase::copy;
  std::uint64_t jobs = 0, jobs_total = 0;
  std::uint64_t records = 0, bytes = 0;
};

struct Move {
  Source& source;
  Target& target;
  std::string from, to;                                  // their names, without a password
  std::function<Status(const Progress&)> on_progress{};  // between batches; an error ends the move
};

struct Moved {
  Sums sums;
  std::uint64_t delivered = 0;  // messages between lanes, now in their inboxes
};

Result<Moved> run(const Move& move);

}  // namespace pawl::store::transfer
