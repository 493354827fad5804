// ActivityWriter: owns the rows of activities and the ledgers of messages. What a bundle contains about an instance,
// its work item and the message that concluded it goes into one row, usually with one statement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/bundle.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/at_hand.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/input_writer.h"
#include "store/sqlite/row_hints.h"
#include "store/sqlite/transaction.h"
#include "store/sqlite/work_writer.h"

namespace pawl::store::sqlite {

// The activity whose row a write changes, if any.
std::optional<std::uint32_t> row_of(const core::Write& write);

class ActivityWriter {
 public:
  // The references must outlive it.
  ActivityWriter(Transaction& transaction, InputWriter& inputs, WorkWriter& work, WorkList& list)
      : transaction_(transaction), inputs_(inputs), work_(work), list_(list) {}
  Status prepare(Connection& connection);

  // Applies those of the bundle's writes from `begin` up to `until` that change the row of an activity.
  Applied apply(const AtHand& at, std::size_t begin, std::size_t until);

 private:
  // What a bundle contains about one activity.
  struct RowWrites {
    const core::PutActivity* activity = nullptr;
    const core::PutWork* work = nullptr;
    const core::DropWork* drop = nullptr;
    const core::PutRecord* closing = nullptr;
  };
  struct Part {
    std::uint32_t seq;
    std::size_t index;  // in the bundle's writes
  };
  Applied apply_row(const AtHand& at, std::span<const Part> parts);
  Applied apply_alone(const AtHand& at, const core::Write& write);
  Applied put_row(const AtHand& at, const RowWrites& writes);
  Applied refused_row(const AtHand& at, const RowWrites& writes);
  Checked is_closing(RunId run, const core::PutRecord& record, const core::PutActivity& of);
  Applied put_record(const AtHand& at, const core::PutRecord& write);
  Applied put_new_record(const AtHand& at, const core::PutRecord& write);
  Applied put_closing(const AtHand& at, const core::PutRecord& write);
  // The second half of step_semaphore_and_snapshot: the values bound for a ledger. SQL stores ledger + hit * weight.
  struct Digits {
    std::int64_t ledger;
    bool hit;
  };
  static Digits digits_of(const AtHand& at, const core::PutRecord& record);

  Transaction& transaction_;
  InputWriter& inputs_;
  WorkWriter& work_;
  WorkList& list_;
  RowHints hints_;
  Statement put_activity_, end_activity_, end_row_, new_activity_, read_activity_ledger_, put_record_, new_record_;
  Statement read_record_ledger_, put_closing_, drop_closing_, read_closing_;
  std::vector<Part> parts_;  // of the current bundle
};

}  // namespace pawl::store::sqlite
