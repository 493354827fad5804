// Every statement that writes, prepared once. The SQL stands in write_statements.cc, in this order.
#pragma once

#include "pawl/result.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/statement.h"

namespace pawl::store::sqlite {

struct WriteStatements {
  Status prepare(Connection& connection);

  // The frame of a group.
  Statement begin, commit, rollback, savepoint, release, undo, count_commit, read_commits, read_version;
  // Lanes.
  Statement read_lane, put_next_run, take_lane, free_lane, read_pool, last_lane, put_pool, put_lane;
  // Jobs.
  Statement step_job, share_data, put_job, read_guard, put_start_key, find_start_key, put_new_job, read_status, read_parent;
  Statement put_activity, end_activity, new_activity, read_activity_ledger, put_record, new_record;
  Statement read_record_ledger, put_closing, drop_closing, read_closing;
  // Messages.
  Statement put_message, count_redelivery, consume, read_redeliveries, sweep_inbox;
  Statement put_timer, count_timer, consume_timer, sweep_timers;
  Statement read_source, put_source;
  // Work.
  Statement put_work, drop_work, sweep_work, read_work_item, list_work, move_work, hold_work;
  Statement find_free_work, find_visible_work, find_expired_work;
  Statement find_pause, count_pauses, put_pause, drop_pause;
  // The end of jobs.
  Statement read_ended, drop_job, drop_activities, drop_records, end_start_key, drop_start_key, drop_old_keys;
  // What jobs are found by, counted by, and say.
  Statement put_label, drop_label, drop_labels, add_measure, announce, drop_announcements;
  // Apps.
  Statement put_app, same_app, find_app, activate_app;
  // Mailboxes.
  Statement drop_empty_mailbox, step_mailbox, read_mailbox_guard, find_mailbox, new_mailbox, put_entry, drop_entry,
      offer_entry, add_signal, drop_signal;
};

}  // namespace pawl::store::sqlite
