// WorkWriter: owns the work items in the rows of activities, and who holds them: conditional writes on one work row,
// never on its job's row.
#pragma once

#include <optional>

#include "base/clock.h"
#include "store/operation.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/at_hand.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/inbox_writer.h"
#include "store/sqlite/input_writer.h"
#include "store/sqlite/job_writer.h"
#include "store/sqlite/lane_writer.h"
#include "store/sqlite/transaction.h"
#include "store/sqlite/work_list.h"

namespace pawl::store::sqlite {

class WorkWriter {
 public:
  // The references must outlive it.
  WorkWriter(const Clock& clock, Transaction& transaction, LaneWriter& lanes, InboxWriter& inbox, JobWriter& jobs,
             InputWriter& inputs, WorkList& list)
      : clock_(clock),
        transaction_(transaction),
        lanes_(lanes),
        inbox_(inbox),
        jobs_(jobs),
        inputs_(inputs),
        list_(list) {}
  Status prepare(Connection& connection);

  Applied apply(const ClaimWork& claim);
  Applied apply(const ClaimItem& claim);
  Applied apply(const ExtendWork& extend);
  Applied apply(const ReleaseWork& release);
  Applied apply(const DeliverReply& delivery);
  Applied apply(const PauseTopic& pause);

  // The items that a bundle deletes or changes must still have the tokens that the bundle knows.
  Applied check_tokens(const core::Bundle& bundle);
  Applied apply(const AtHand& at, const core::PutWork& write);
  Applied apply(const AtHand& at, const core::DropWork& write);
  Applied apply(const AtHand& at, const core::ChangeWork& write);
  Applied apply(const AtHand& at, const core::HoldWork& write);
  Applied sweep(RunId run);

 private:
  struct ReadItem {
    std::optional<core::WorkItem> item;
    std::optional<Applied> failed{};
  };
  Checked delete_item(RunId run, core::ActivitySeq activity, core::WorkToken token, bool token_checked);
  Applied move_item(const core::WorkItem& item);  // stores everything that may have changed since it was put
  ReadItem read_item(RunId run, core::ActivitySeq activity);
  Checked is_paused(const Topic& topic);

  const Clock& clock_;
  Transaction& transaction_;
  LaneWriter& lanes_;
  InboxWriter& inbox_;
  JobWriter& jobs_;
  InputWriter& inputs_;
  WorkList& list_;
  Statement put_work_, drop_work_, sweep_work_, read_work_item_, work_of_, move_work_, hold_work_;
  Statement find_free_work_, find_visible_work_, find_expired_work_;
  Statement find_pause_, count_pauses_, put_pause_, drop_pause_;
};

Applied stale_item(core::ActivitySeq activity);

}  // namespace pawl::store::sqlite
