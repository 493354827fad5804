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
  bool checking = false;  // everything is written, and is being read back
  std::uint64_t jobs = 0, jobs_total = 0;
  std::uint64_t records = 0, bytes = 0;
};

struct MoveOptions {
  std::string from, to;  // as RuntimeOptions::store
  bool accept_weaker_store = false;
  // Called between batches, on the caller's thread. False ends the move: call it again, and it starts from the
  // beginning.
  std::function<bool(const MoveProgress&)> on_progress{};
};

struct MoveReport {
  struct Kind {
    std::string name;
    std::uint64_t records = 0;
    std::string checksum;  // over everything that was read from both stores: they are the same
  };
  std::vector<Kind> kinds;  // that occur
  std::uint64_t records = 0, bytes = 0;
  std::uint64_t delivered = 0;  // messages between jobs that were on their way
};

// Copies everything of a store that no process uses into an empty one, reads it back and compares. Afterwards the first
// one is marked as moved, and refused; it is a backup. retry_later: a process uses it.
Result<MoveReport> move_store(const MoveOptions& options);

struct UndoMoveOptions {
  std::string store;  // the store that was moved
  bool accept_weaker_store = false;
};
// Makes a moved store usable again. Its copy must not be used then: work would be done twice.
Status undo_move(const UndoMoveOptions& options);

}  // namespace pawl
