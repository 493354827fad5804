// Moves a stopped store into another one: from a file to a server when one machine is not enough, and back.
//
//   pawl::Status to_the_server() {
//     const auto moved = pawl::move_store({.from = "orders.db", .to = "postgres://pawl@db.example/jobs"});
//     if (!moved) return moved.error();
//     std::printf("%llu records\n", static_cast<unsigned long long>(moved->records));
//     return {};
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pawl/result.h"

namespace pawl {

struct MoveProgress {
  bool checking = false;  // all is written, and is read back
  std::uint64_t jobs = 0, jobs_total = 0;
  std::uint64_t records = 0, bytes = 0;
};

struct MoveOptions {
  std::string from, to;  // as RuntimeOptions::store
  bool accept_weaker_store = false;
  // Between batches, on the caller's thread. False ends the move: run it again, and it starts over.
  std::function<bool(const MoveProgress&)> on_progress{};
};

struct MoveReport {
  struct Kind {
    std::string name;
    std::uint64_t records = 0;
    std::string checksum;  // what was read from the one store and from the other: it is the same
  };
  std::vector<Kind> kinds;  // of which there are any
  std::uint64_t records = 0, bytes = 0;
  std::uint64_t delivered = 0;  // messages between jobs that were on their way
};

// Copies everything of a store that nobody runs on into one that is empty, reads it back and compares. Afterwards the
// first one says that it was moved, and is refused; it is a backup. retry_later: somebody runs on it.
Result<MoveReport> move_store(const MoveOptions& options);

struct UndoMoveOptions {
  std::string store;  // that was moved
  bool accept_weaker_store = false;
};
// Makes a store usable again that was moved. Its copy must not be used then: work would be done twice.
Status undo_move(const UndoMoveOptions& options);

}  // namespace pawl
