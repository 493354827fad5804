// JobStore: what an engine needs from a store. It applies operations, many in one transaction, and reads what was
// committed.
//
// Invariants of every JobStore (the tests of store/conformance check them):
// 1. commit() applies each operation whole or not at all, and answers one outcome for each, in order.
// 2. A bundle is applied only if its lane's epoch and its entity's rev are the stored ones.
// 3. Committed means durable: it survives the faults that docs/GUARANTEES.md lists for the store.
// 4. An operation that can never be applied is rejected alone; the others of its group are applied.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/limits.h"
#include "core/job_state.h"
#include "core/mailbox_state.h"
#include "pawl/ids.h"
#include "pawl/result.h"
#include "pawl/time.h"
#include "store/operation.h"

namespace pawl::store {

struct StoredJob {
  core::JobState state;
  std::vector<core::InboxMessage> inbox;   // not consumed, in order of arrival
  std::vector<core::InboxMessage> timers;  // not consumed, by due time, due or not
};
// What one decision of a mailbox needs. Its size does not depend on how much waits there.
struct MailboxPage {
  core::MailboxState state;               // only entries that the messages may concern, and expired ones
  core::MailboxCut cut;                   // what these leave out
  std::vector<core::InboxMessage> inbox;  // the oldest
  bool more = false;                      // more messages may wait behind these
};
struct MailboxPageSize {
  std::size_t messages = limits::mailbox_page_messages;
  std::size_t bytes = limits::mailbox_page_bytes;  // the first one is read whatever its size
};
struct PoolInfo {
  core::LaneId first{0};  // its lanes are first, first + 1, ... first + lanes - 1
  std::uint32_t lanes = 0;
  Pool pool{""};
};
struct LaneInfo {
  core::LaneId lane{0};
  core::Epoch epoch{0};
  std::string owner;  // empty: free
  std::optional<Instant> lease_until;
};
enum class EntityKind : std::uint8_t { job, mailbox };
struct Waiting {
  RunId run{0};
  EntityKind kind = EntityKind::job;
};
struct OutboxRow {
  std::uint64_t seq = 0;  // from 1, without gaps, for each lane that is sent to
  core::Envelope envelope;
  core::LaneId lane{0};  // the target's
};
struct WorkCursor {
  RunId run{0};
  core::ActivitySeq activity{0};
};
// A work item without the fields that may be large.
struct WorkPlace {
  RunId run{0};
  core::ActivitySeq activity{0};
  Topic topic{""};
  friend bool operator==(const WorkPlace&, const WorkPlace&) = default;
};
// A row that no store can have written. The reader of a page skips it and reports it.
struct Damaged {
  RunId run{0};
  std::string what;
};
// Rows in order. Damaged ones are listed separately and do not count: fewer rows than requested means that there are no
// more.
template <class Row>
struct Page : std::vector<Row> {
  using std::vector<Row>::vector;
  std::vector<Damaged> damaged;  // at most limits::damaged_per_page_max
};
// Something due by the clock: a timer message, a work item (core::wake_of), the removal of a closed job, or the end of
// a start key whose job is gone.
struct Due {
  enum class Kind : std::uint8_t { message, work, removal, key };
  Instant at;
  RunId run{0};
  Kind kind = Kind::message;
  core::Guid guid;                                            // of a message
  core::ActivitySeq activity{0};                              // of a work item
  friend auto operator<=>(const Due&, const Due&) = default;  // the order of read_due
};
// Threads: as many threads at a time may call commit() as the store has connections, one if it has none. Reads may come
// from any other thread meanwhile.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // The only durable write of the program, except those under collation duplex (duplex_store.h). A group holds at most
  // one bundle per entity.
  // An error concerns the whole group: retry_later (nothing was applied, and the cause may pass: a full disk, a busy
  // file) or outcome_unknown (the reply was lost).
  virtual Result<std::vector<Outcome>> commit(std::span<const Operation> group) = 0;

  virtual Instant now() const = 0;

  // Identifies this store among all stores, permanently.
  virtual core::Guid id() const = 0;

  // Whether a bundle's Send goes straight into the target's inbox, in the sender's transaction. If not, it waits in the
  // outbox until the lane owner delivers it.
  virtual bool sends_directly() const = 0;

  // Whether all lanes are one atomic domain: then ClaimWork, PauseTopic and DropKeys may concern all lanes at once. If
  // not, an operation reads and writes the keys of one lane only (store/domain.h), and so does a group.
  virtual bool spans_lanes() const { return true; }
  // Whether the first step of a job may be in the group of its submit (core::Bundle::with_submit). If not, it is a
  // conflict.
  virtual bool takes_first_steps() const { return true; }

  // How many calls to a remote store may be under way at once; the caller does other work until the answer comes. 0:
  // the store is local, a read takes microseconds, and one thread commits.
  virtual std::size_t connections() const { return 0; }

  virtual Result<std::optional<PoolInfo>> read_pool(const Pool& pool) = 0;
  virtual Result<LaneInfo> read_lane(core::LaneId lane) = 0;
  virtual Result<std::optional<RunId>> find_run(const Namespace& name_space, const JobId& id) = 0;
  virtual Result<std::optional<StoredJob>> read_job(RunId run) = 0;
  // The job's row alone: the cost does not depend on the number of activities. While the job runs, data and result are
  // left out, because they may be large and the caller only wants to know whether the job has ended.
  virtual Result<std::optional<core::JobRow>> read_job_row(RunId run) = 0;
  virtual Result<std::optional<RunId>> find_mailbox(const core::MailboxKey& key) = 0;
  virtual Result<std::optional<MailboxPage>> read_mailbox_page(RunId run, const MailboxPageSize& size, Instant now) = 0;

  // Recovery of one lane, page by page: entities with unconsumed messages, and work items. A page of large work items
  // may have fewer rows than requested: only an empty page is the last.
  virtual Result<std::vector<Waiting>> read_waiting(core::LaneId lane, RunId after, std::size_t rows_max) = 0;
  // What the lane's present owner claimed as it put it may be missing among the places: it knows of that.
  virtual Result<Page<WorkPlace>> read_work_places(core::LaneId lane, WorkCursor after, std::size_t rows_max) = 0;
  virtual Result<Page<core::WorkItem>> read_work(core::LaneId lane, WorkCursor after, std::size_t rows_max) = 0;
  // Rows that wait to be delivered: for each target lane the oldest `rows_max`, in order. A target lane that cannot be
  // reached delays no other one, nor does a damaged row: rows behind it for the same target are left out.
  virtual Result<Page<OutboxRow>> read_outbox(core::LaneId lane, std::size_t rows_max) = 0;

  // What is due by the clock in a lane, soonest first, from `after` on. Overdue entries that were left as they are (a
  // paused job's timer) stay in the list.
  virtual Result<Page<Due>> read_due(core::LaneId lane, const std::optional<Due>& after, std::size_t rows_max) = 0;
  virtual Result<std::optional<core::InboxMessage>> read_message(RunId run, const core::Guid& guid) = 0;
  virtual Result<std::vector<Topic>> read_paused_topics() = 0;
};

}  // namespace pawl::store
