// ActivityRows: the activities that a group names, and the ledgers of messages. The ledger of the message that
// concluded an activity is stored in the activity's row. Every other message has its own row.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/bundle.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

class ActivityRows {
 public:
  using Key = std::pair<RunId, core::ActivitySeq>;
  using RecordKey = std::pair<RunId, core::Guid>;
  struct Place {
    std::optional<core::ActivitySeq> activity;  // none: the record has its own row
    bool stored = false;                        // the row existed before this group
  };

  void want(RunId run, core::ActivitySeq seq) { wanted_.emplace(run, seq); }
  // Assumes, without reading, that the stored row has the ledger that the write was computed from and no closing
  // message. The statement compares this when it writes.
  void assume(RunId run, const core::PutActivity& write);
  void want_record(RunId run, const core::Guid& guid) { wanted_records_.emplace(run, guid); }

  void ask(Script& script);
  Status take(Done& answers);
  void write(Script& script) const;
  void forget() { *this = ActivityRows(); }

  std::optional<std::int64_t> ledger_of(RunId run, core::ActivitySeq seq) const;
  // The ledger of a message, in its own row or in its activity's row.
  std::optional<std::int64_t> record_of(RunId run, const core::MessageRecord& record) const;

  // The references must stay valid until the commit.
  void put(RunId run, const core::PutActivity& write);
  // `of`: the same bundle's write of the record's activity. Returns where the record is stored now. For a snapshot,
  // `digits` do not include the digit that SQL decides.
  enum class Is : std::uint8_t { record, snapshot };
  Place put(RunId run, const core::PutRecord& write, const core::PutActivity* of, std::int64_t digits, Is is);

 private:
  struct Slot {
    bool stored = false;
    std::int64_t ledger = 0;
    std::optional<core::Guid> closing;
    std::int64_t closing_ledger = 0;
    std::int64_t ledger_before = 0;  // as it is stored
    std::optional<core::Guid> closing_before;
    bool is_snapshot = false;               // the step of the job writes the closing ledger
    const core::Activity* after = nullptr;  // none: only the closing message changed
    bool changed = false;
  };
  struct Record {
    bool stored = false;
    std::int64_t ledger = 0;
    const core::MessageRecord* after = nullptr;
  };
  bool takes_closing(const Slot& slot, const core::PutRecord& write, const core::PutActivity* of) const;

  std::set<Key> wanted_;
  std::set<RecordKey> wanted_records_;
  std::optional<std::size_t> at_, records_at_;
  std::map<Key, Slot> slots_;
  std::map<RecordKey, Record> records_;
};

}  // namespace pawl::store::postgres
