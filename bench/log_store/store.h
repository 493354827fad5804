// A prototype, for measurements and their tests only: no program that people run links it
// (docs/decisions/096-log-layout.md).
//
// The log layout: every commit appends one row that holds the whole group as bytes, and the state is in memory
// (store/memory). The order is log, then memory: nobody reads what a crash could take back. Applying a group is
// deterministic, because its time is in the row as well, so opening the file plays all rows again and gets the same
// state, the same numbers of runs and the same refusals.
//
// A finished job gets a row of its own, which people can query without the program. It is derived from the state, so
// it may be late: it is written with the next group, or by flush().
//
// What is missing for a real store is listed in the decision note: it never cuts its log, keeps finished jobs in
// memory, has one process per file, no duplex part and no transactions.
//
// Threads: as store/memory; commit() one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/forward_store.h"
#include "store/memory/store.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/statement.h"

namespace pawl::log_store {

struct Options {
  const Clock* clock = nullptr;  // must outlive the store
  bool archives = true;          // a row for each finished job
  bool syncs = true;             // false: for tests that do not cut the power
};

// The time of the group that is being applied; otherwise the real time.
class GroupClock final : public Clock {
 public:
  explicit GroupClock(const Clock& source) : source_(source) {}
  Instant now() const override {
    const std::int64_t group = group_;
    return group == 0 ? source_.now() : Instant::from_micros(group);
  }
  Duration monotonic() const override { return source_.monotonic(); }
  void begin(Instant at) { group_ = at.micros(); }
  void end() { group_ = 0; }
  Instant real() const { return source_.now(); }

 private:
  const Clock& source_;
  std::atomic<std::int64_t> group_ = 0;
};

// Exists before the base class that refers to it.
struct State {
  explicit State(const Clock& source) : clock(source), memory(std::in_place, clock) {}
  GroupClock clock;
  std::optional<store::memory::Store> memory;
};

class Store final : private State, public store::ForwardStore {
 public:
  static Result<std::unique_ptr<Store>> open(const std::string& path, const Options& options);
  ~Store() override;

  Result<std::vector<store::Outcome>> commit(std::span<const store::Operation> group) override;

  // Forgets the state and plays the log again, as after a crash. Listeners are forgotten too.
  Status recover();
  // Writes the archive rows of jobs that ended with the last group.
  Status flush();
  // What a snapshot would cost that allows to cut the log: one row for each open job, and then all of them read back
  // and decoded. The rows are rolled back.
  struct Snapshot {
    std::uint64_t jobs = 0;
    std::uint64_t bytes = 0;
    double write_seconds = 0;
    double read_seconds = 0;
  };
  Result<Snapshot> measure_snapshot();

  store::memory::Dump dump() const { return memory->dump(); }
  std::uint64_t log_bytes() const { return log_bytes_; }  // appended since it was opened

 private:
  Store(std::unique_ptr<store::sqlite::Connection> file, const Options& options);
  Status prepare();
  Status append(Instant at, std::string_view bytes);
  Status write_archive();
  void note_ends(std::span<const store::Operation> group, const std::vector<store::Outcome>& outcomes);
  Error failed(const store::sqlite::Statement& statement, const char* doing) const;

  const Options options_;
  std::unique_ptr<store::sqlite::Connection> file_;
  store::sqlite::Statement begin_, commit_, rollback_, append_, archive_, unarchive_;
  std::vector<RunId> changed_;  // jobs whose archive row is not what it should be
  std::uint64_t log_bytes_ = 0;
};

}  // namespace pawl::log_store
