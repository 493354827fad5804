// Writer: turns a group of operations into one transaction.
//
// 1. A group is first applied without savepoints, for most groups hold nothing that is refused
// after its
//    first write. When one is, the transaction is rolled back and the group applied again with a
//    savepoint around each operation: a refused one is undone alone, at a cost that is linear in
//    the group.
// 2. What is read of a lane is good for one transaction and forgotten with it.
// One thread at a time (Store::commit's rule).
#pragma once

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "core/bundle.h"
#include "store/operation.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/duplex_rows.h"
#include "store/sqlite/write_statements.h"

namespace pawl::store::sqlite {

// What one operation did inside the open transaction.
struct Applied {
  int code = SQLITE_OK;  // other than SQLITE_OK: a statement failed
  bool wrote = false;    // a refusal after a write must be undone
  Outcome outcome;
};

// What is read inside the transaction, or why it cannot be: `failed` is what the operation answers. A row that no
// store can have written is like a damaged page: it stops its own operation, not the group.
struct Checked {
  bool yes = false;
  std::optional<Applied> failed{};
};
struct ReadItem {
  std::optional<core::WorkItem> item;
  std::optional<Applied> failed{};
};

// Whether this process may own lanes. Implemented by the owner lock.
class Ownership {
 public:
  virtual ~Ownership() = default;
  virtual Result<bool> try_own() = 0;
};

class Writer {
 public:
  static Result<std::unique_ptr<Writer>> open(std::unique_ptr<Connection> connection,
                                              const Clock& clock, Ownership& ownership);

  Result<std::vector<Outcome>> commit(std::span<const Operation> group);

  Connection& connection() { return *connection_; }
  std::int64_t row_writes() const { return row_writes_; }
  std::int64_t last_commit() const { return commits_; }  // its number, after a commit that was made
  // The result code of a failed sync, once one failed: the process must end.
  int sync_failure() const { return sync_failure_; }
  // Whether the last group failed for lack of room on the disk.
  bool disk_full() const { return disk_full_; }
  // The number of the last commit of this writer.
  std::int64_t commits() const { return commits_; }
  // Sets or takes back the mark that tells the file at home from the file with its log
  // (checkpointer.h). A result code of SQLite.
  int mark_home(bool on);

 private:
  enum class Undo : std::uint8_t { whole_group, each };
  struct Lane {
    bool exists = false;
    core::Epoch epoch{0};
    std::string owner;
    std::uint64_t next_run = 0;
    std::uint64_t next_run_stored = 0;
  };
  struct Attempt {
    int code = SQLITE_OK;
    bool again = false;  // something was refused after its first write: apply each by itself
    std::vector<Outcome> outcomes;
  };

  Writer(std::unique_ptr<Connection> connection, const Clock& clock, Ownership& ownership)
      : clock_(clock),
        ownership_(ownership),
        connection_(std::move(connection)),
        tag_(static_cast<std::int64_t>(Random::mix(static_cast<std::uint64_t>(clock.now().micros()) ^
                                                   (static_cast<std::uint64_t>(getpid()) << 44)) >> 1)) {}

  // commit.cc
  Attempt apply_group(std::span<const Operation> group, Undo undo);
  Applied apply_in_savepoint(const Operation& operation);
  Applied apply(const Operation& operation);
  int check_version();
  int finish_group();
  Error abandon(int code);
  Result<std::vector<Outcome>> failed_commit(int code, std::vector<Outcome> outcomes);

  // commit_bundle.cc, commit_mailbox.cc
  Applied apply(const core::Bundle& bundle);
  Applied apply_head(const core::Bundle& bundle, const core::JobHead& head);
  Applied apply_head(const core::Bundle& bundle, const core::MailboxHead& head);
  Applied refused_head(const core::Bundle& bundle, const core::JobHead& head);
  Applied refused_entity(const core::Bundle& bundle);
  Applied check_tokens(const core::Bundle& bundle);
  // What a bundle says of one activity: it is one row, so mostly one statement.
  struct ActivityWrites {
    const core::PutActivity* activity = nullptr;
    const core::PutWork* work = nullptr;
    const core::DropWork* drop = nullptr;
    const core::PutRecord* closing = nullptr;
  };
  struct Part {
    std::uint32_t seq;
    std::size_t index;  // in the bundle's writes
  };
  Applied apply_rows(const core::Bundle& bundle, std::size_t begin, std::size_t until);  // of those writes
  Applied apply_row(const core::Bundle& bundle, std::span<const Part> parts);
  Applied put_row(const core::Bundle& bundle, const ActivityWrites& writes);
  Applied refused_row(const core::Bundle& bundle, const ActivityWrites& writes);
  Checked is_closing(const core::Bundle& bundle, const core::PutRecord& record, const core::PutActivity& of);
  Applied put_new_record(RunId run, const core::MessageRecord& record);
  Applied put_closing(RunId run, const core::MessageRecord& record, std::uint64_t before);
  Applied apply_write(const core::Bundle& bundle, const core::PutActivity& write);
  Applied apply_write(const core::Bundle& bundle, const core::PutRecord& write);
  Applied apply_write(const core::Bundle& bundle, const core::PutMessage& write);
  Applied apply_write(const core::Bundle& bundle, const core::CountRedelivery& write);
  Applied apply_write(const core::Bundle& bundle, const core::Consume& write);
  Applied apply_write(const core::Bundle& bundle, const core::PutWork& write);
  Applied apply_write(const core::Bundle& bundle, const core::DropWork& write);
  Applied apply_write(const core::Bundle& bundle, const core::Sweep& write);
  Applied apply_write(const core::Bundle& bundle, const core::Send& write);
  Applied apply_write(const core::Bundle& bundle, const core::PutEntry& write);
  Applied apply_write(const core::Bundle& bundle, const core::DropEntry& write);
  Applied apply_write(const core::Bundle& bundle, const core::OfferEntry& write);
  Applied apply_write(const core::Bundle& bundle, const core::ChangeWork& write);
  Applied apply_write(const core::Bundle& bundle, const core::HoldWork& write);
  // commit_label.cc
  Applied apply_write(const core::Bundle& bundle, const core::PutLabel& write);
  Applied apply_write(const core::Bundle& bundle, const core::DropLabel& write);
  Applied apply_write(const core::Bundle& bundle, const core::AddMeasure& write);
  Applied apply_write(const core::Bundle& bundle, const core::Announce& write);

  // commit_job.cc
  Applied apply(const Submit& submit);
  Applied begin_job(const Submit& submit, const std::optional<core::ParentLink>& parent);
  Applied make_job(const Submit& submit, const std::optional<core::ParentLink>& parent, RunId run);
  Applied start_child(const core::JobKey& key, const core::StartChild& start, core::LaneId lane);
  Applied apply(const RemoveJob& remove);
  Applied apply(const DropKeys& drop);

  // commit_message.cc
  Applied apply(const Deliver& deliver);
  Applied apply(const Respond& respond);
  Applied send(const core::Envelope& envelope, core::LaneId lane);
  Applied send_by_id(const core::JobKey& key, const core::Message& message);
  Applied send_to_job(RunId run, const core::Message& message);
  Applied put_into_inbox(RunId run, const core::Message& message);
  Applied put_timed(RunId run, const core::Message& message, Instant due);
  struct MailboxLoad {
    std::size_t signals = 0;
    std::size_t bytes = 0;
  };
  Applied send_to_mailbox(const core::MailboxKey& key, const core::Message& message, core::LaneId lane);
  Applied find_or_make_mailbox(const core::MailboxKey& key, core::LaneId lane, MailboxLoad& load);

  // commit_work.cc
  Applied apply(const ClaimWork& claim);
  Applied apply(const ClaimItem& claim);
  Applied apply(const ExtendWork& extend);
  Applied apply(const ReleaseWork& release);
  Applied apply(const PauseTopic& pause);
  Applied move_item(const core::WorkItem& item);
  ReadItem read_item(RunId run, core::ActivitySeq activity);
  Checked is_paused(const Topic& topic);

  // commit_app.cc
  Applied apply(const PutApp& put);
  Applied apply(const ActivateApp& activate);

  // commit_lane.cc
  Applied apply(const DropOutbox& drop);
  Applied apply(const OpenPool& open);
  Applied apply(const AcquireLane& acquire);
  Applied apply(const RenewLane& renew);
  Applied apply(const ReleaseLane& release);
  Lane* find_lane(core::LaneId lane);  // null: no such lane, or lane_code_ says what failed
  Applied guard(core::LaneId lane, core::Epoch epoch);
  RunId next_run(core::LaneId id, Lane& lane);

  // commit_duplex.cc
  Applied apply(const StartDuplex& start);
  Applied apply(const SetCell& set);
  Applied apply(const AddToCell& add);
  Applied apply(const NameCloser& name);
  Applied apply(const OpenAddress& open);
  Applied apply(const CloseAddress& close);
  Applied apply(const Enqueue& enqueue);
  Applied apply(const Dequeue& dequeue);
  Applied apply(const Ack& ack);
  Applied apply(const GiveBack& back);
  Applied apply(const EndDuplex& end);
  Applied apply(const ParkDuplex& park);
  Applied read_duplex_job(RunId run);
  Applied take_duplex(RunId run);
  Applied not_running() const;
  Applied count_addresses(RunId run, bool changed, std::int64_t by);
  int put_into_stream(const StreamMessage& message);
  int read_claimed(const Dequeue& dequeue, Outcome& outcome);

  // Constant after construction.
  const Clock& clock_;
  Ownership& ownership_;
  std::unique_ptr<Connection> connection_;
  const std::int64_t tag_;  // tells this writer's commits from those of other processes
  WriteStatements sql_;
  DuplexStatements duplex_;
  std::int64_t version_ = 0;  // of the file, when it was opened

  // Of the open transaction.
  std::unordered_map<core::LaneId, Lane> lanes_;
  int lane_code_ = SQLITE_OK;
  std::int64_t commits_ = 0;
  std::int64_t positions_used_ = 0;
  std::vector<Part> parts_;  // of the bundle at hand
  bool in_doubt_ = false;        // something of the group was refused: each operation is undone alone
  bool tokens_checked_ = false;  // likewise: before its first write
  core::JobStatus duplex_status_ = core::JobStatus::running;  // of the duplex job at hand
  std::int64_t duplex_open_ = 0;                              // its open addresses
  std::string duplex_id_;

  // Of this process.
  std::unordered_map<core::LaneId, core::Epoch> held_;  // lanes that this process took
  std::int64_t row_writes_ = 0;
  int sync_failure_ = SQLITE_OK;
  bool disk_full_ = false;
};

// Items keep the order in which they came: the number of the commit, then the place within it.
inline constexpr int position_bits = 24;

// Short forms for the files of this class.
Applied refused(OutcomeKind kind, std::string reason);
inline Applied contradicts(std::string reason) { return refused(OutcomeKind::rejected, std::move(reason)); }
Applied stale_item(core::ActivitySeq activity);
Applied no_lane(core::LaneId lane);
inline bool is_mailbox(const core::Bundle& bundle) {
  return std::holds_alternative<core::MailboxHead>(bundle.head);
}
inline Applied failed(const Statement& statement) { return Applied{statement.code(), false, {}}; }
inline Applied failed(const Rows& rows) { return Applied{rows.rc(), false, {}}; }
inline Applied damaged_row(std::string what) {
  Applied applied{SQLITE_CORRUPT, false, {}};
  applied.outcome.reason = std::move(what);
  return applied;
}
inline bool is_done(const Applied& applied) {
  return applied.code == SQLITE_OK && applied.outcome.done();
}

}  // namespace pawl::store::sqlite
