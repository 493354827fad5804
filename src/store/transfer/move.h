// move(): everything of one store, into another one that is empty. Records stream through in batches, so what it needs
// in memory does not grow with the store.
//
// 1. The source is fenced: nobody writes to it from the first record on.
// 2. The target says that it is not complete, from before the first record until all of them were read back and their
//    checksums are the same. A move that is interrupted is run again and starts over.
// 3. First the source says that it was moved, then the target may be opened: at no moment can both be worked on.
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
  std::string from, to;                                  // what they are called, without a password
  std::function<Status(const Progress&)> on_progress{};  // between batches; an error ends it there
};

struct Moved {
  Sums sums;
  std::uint64_t delivered = 0;  // messages that were on their way, put into their inboxes
};

Result<Moved> run(const Move& move);

}  // namespace pawl::store::transfer
