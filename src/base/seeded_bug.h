// Bugs on demand, to prove that the tests catch them. Where possible a bug is outside the product: in a decorator or in
// a file of sim/ that only the bug hunt builds. For the rest seeded() is the constant false in every normal build and
// leaves no code behind; only the bug hunt compiles the sources with PAWL_SEEDED_BUGS.
#pragma once

#include <cstdint>

namespace pawl {

enum class SeededBug : std::uint8_t {
  none,

  // Inside functions of src/runtime, where a part forgets something that only it knows; nowhere else in the product.
  // Each is a conditional that a normal build does not have.
  fenced_ignored,                   // the engine continues as if its bundle were committed
  unknown_is_committed,             // a lost reply counts as success
  ack_before_commit,                // the client gets success before the store has committed
  dispatch_before_commit,           // a worker begins before its request is durable
  response_under_new_id,            // a repeated attempt's pending reply counts as a new one
  no_safety_net,                    // no one looks for a start whose reply was lost
  late_renewal_trusted,             // replies dropped while the lease was over are not missed
  run_begun_twice,                  // a scan that meets a claim under way begins the item too
  pending_reply_lost,               // an attempt counts on although one of its replies was lost
  at_most_once_twice,               // a lost attempt of an at-most-once activity is handed out again
  timer_early,                      // a job that is read takes its timers with it, due or not
  timer_forgotten,                  // the store's list of due times is ignored
  cancel_not_told,                  // a worker is not notified that its attempt is cancelled
  outbox_dropped_early,             // a row is dropped before its delivery is known
  outbox_left_behind,               // a new owner does not look at what its predecessor sent last
  mailbox_left_behind,              // a new owner does not look at what waits in a mailbox's inbox
  bytes_not_counted,                // idle jobs stay in memory, whatever their size
  attempt_clock_at_claim,           // the time of an attempt begins before the attempt
  attempt_clock_not_begun,          // the time of an attempt never begins
  stop_counts_as_crash,             // what a stopping engine did not begin is not given back
  lane_cut_off,                     // a lane is given back while its workers work
  once_claimed_ahead,               // at-most-once work is claimed although no thread can begin it
  answer_outlives_its_transaction,  // the worker's writes may be undone, but its reply counts
  far_reply_acked_early,            // a remote worker's reply is acknowledged before the bundle that takes it
  far_failure_unstored,             // a remote worker's failure goes into a bundle although it may be stored already
  far_work_before_commit,           // a remote worker gets its item before the bundle that claims it

  // Around core::decide(): sim/seeded_decide.cc.
  semaphore_off_by_one,     // a fan-out counts one obligation too many
  lost_child,               // counted, but never sent
  snapshot_missing,         // it is not recorded which message closed the job
  completion_refused,       // step 3 is refused because the job looks closed
  step3_skipped,            // without fusion the completion tasks are forgotten
  plane_from_redeliveries,  // a redelivery shifts the plane
  attempts_wrap,            // the tenth attempt reads as none
  sweep_forgets_work,       // a failed job's work stays in the queue
  consume_forgotten,        // served messages stay in the inbox
  try_not_counted,          // a failed attempt is not recorded
  try_counted_twice,        // a failed attempt counts twice
  stale_try_counted,        // a retry does not check that the failed attempt still holds the item
  held_work_handed_out,     // the work of a paused or parked job is not held back
  paused_answer_dropped,    // a reply that comes while the job is paused is not kept
  given_answer_dropped,     // a person's answer to a hook that comes while the job is paused is not kept
  given_answer_comes_late,  // a person's answer to a hook is served after the hook's timer
  deadline_left_behind,     // a job that ends in time leaves the timer of its deadline
  replaced_runs_on,         // a run whose id was taken over is notified, and continues
  redrive_keeps_limits,     // a redriven job gets no more attempts than before
  registration_lost,        // a hook that registers before its signal is forgotten
  early_signal_lost,        // a signal that comes before its hook is forgotten
  mailbox_resumes_twice,    // a concluding signal leaves its receiver registered
  withdraw_not_sent,        // a hook that no longer waits stays registered
  withdraw_ignored,         // a mailbox ignores the withdrawal
  offer_forgotten,          // a mailbox forgets a signal that is on its way to a hook
  signal_not_given_back,    // a signal that its hook did not take is dropped
  taken_not_told,           // a hook does not report that it took its signal
  taken_signal_given_back,  // a signal that its hook took goes to the next one
  timer_outlives_signal,    // the timer of a hook that its signal concluded stays
  child_end_not_told,       // the parent is not notified of the end
  end_does_not_descend,     // the children of a job that is ended continue
  cancel_undoes_nothing,    // a cancelled job ends as it is
  answers_not_carried,      // a run that goes on for a failed one asks for everything again
  page_told_again,          // a signal to all begins its second page where the first began
  end_not_announced,        // a job that publishes does not announce its end
  measured_twice,           // a job is measured twice
  key_from_run_number,      // work is named by its run number, which a restored store gives out again
  never_pauses,             // a decision continues its own steps as long as it has room

  // Around a store: sim/seeded_store.cc.
  marker_without_guard,     // the store does not compare the rev
  marker_outside_commit,    // a message is acknowledged although its bundle was refused
  epoch_unchecked,          // the store lets a fenced owner commit
  first_step_for_another,   // a job's first step counts although another job got the number it was decided for
  epoch_not_raised,         // a new owner gets its predecessor's epoch
  lease_by_own_clock,       // a lease is compared with a clock that runs ahead
  stale_worker_accepted,    // a reply counts, whatever its token
  tenant_filter_missing,    // job ids of all tenants share one name space
  removal_leaves_rows,      // a removed job can still be read
  paused_topic_handed_out,  // the store hands out work of a paused topic
  progress_overwritten,     // a job's older view of its work overwrites the worker's last report
  outbox_row_taken_twice,   // a row that was delivered before is accepted again
  outbox_row_lost,          // a row counts as delivered but was not stored
  outbox_numbers_shared,    // rows for all targets are counted together
  outbox_gap_taken,         // a row is accepted before earlier rows
  refusal_lost,             // a child whose id is taken is not created, and the parent gets no message
  lane_crossed,             // an operation of one lane writes into another one
  child_takes_id,           // a child replaces the holder of a taken id
  two_successors,           // a failed job that was let go on twice goes on twice
  signal_id_forgotten,      // a signal repeated after its mailbox served it counts twice
  share_not_given_back,     // an engine does not learn of the others
  dead_share_left,          // a dead engine is reported as alive
  effect_before_guards,     // a worker's writes are committed before the guards of its reply's bundle are checked

  // Around a DuplexStore and the letters of its sequences: sim/seeded_duplex.cc.
  duplex_preset_after_enqueue,  // a child can be entered before it is set
  duplex_counter_not_set,       // open obligations are counted, not kept by address
  duplex_every_closer_closes,   // everyone who tries to close an activity adds the closing number
  duplex_undo_forgotten,        // a refused entry stays counted
  duplex_plane_by_arrival,      // the plane is the entry count, not the index in the message
  duplex_remove_before_add,     // an activity leaves the open set before its children are in it
  duplex_cleanup_lost,          // a closer that returns to a closed activity does not look at the job

  // In the simulator's machine: sim/clock.h.
  clock_followed_back,  // timers wait for a wall clock that was set back
};

#ifdef PAWL_SEEDED_BUGS
extern SeededBug active_seeded_bug;
inline bool seeded(SeededBug bug) { return active_seeded_bug == bug; }
#else
constexpr bool seeded(SeededBug) { return false; }
#endif

}  // namespace pawl
