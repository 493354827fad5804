// Bugs on demand, to prove that the tests catch them. A bug stands beside the product wherever it can: in a decorator
// or in a file of sim/ that only the bug hunt is built with. For the rest seeded() is the constant false in every
// normal build and leaves no code behind; only the bug hunt compiles the sources with PAWL_SEEDED_BUGS.
#pragma once

#include <cstdint>

namespace pawl {

enum class SeededBug : std::uint8_t {
  none,

  // Inside product functions of src/runtime, where a part forgets what only it knows: the one place for these. Each is
  // a conditional that a normal build does not have.
  fenced_ignored,                   // the engine carries on as if its bundle were committed
  unknown_is_committed,             // a lost reply is taken for a yes
  ack_before_commit,                // the client hears yes before the store does
  dispatch_before_commit,           // a worker begins before its request is durable
  response_under_new_id,            // a repeated run's pending reply is taken for a new one
  no_safety_net,                    // nobody looks for a start whose reply was lost
  late_renewal_trusted,             // answers dropped while the lease was over are not missed
  run_begun_twice,                  // a scan that meets a claim on its way begins the item too
  pending_reply_lost,               // a run counts on although one of its replies was lost
  at_most_once_twice,               // a lost run of an at-most-once activity is handed out again
  timer_early,                      // a job that is read takes its timers with it, due or not
  timer_forgotten,                  // what the store's list of times says is not believed
  cancel_not_told,                  // nobody tells a worker that its run is no longer wanted
  outbox_dropped_early,             // a row is dropped before its delivery is known
  outbox_left_behind,               // a new owner does not look at what its predecessor sent last
  mailbox_left_behind,              // a new owner does not look at what waits in a mailbox's inbox
  bytes_not_counted,                // jobs at rest stay in memory, however large they are
  attempt_clock_at_claim,           // the time of a run begins before the run
  attempt_clock_not_begun,          // and here it never does
  stop_counts_as_crash,             // what a stopping engine did not begin is not given back
  lane_cut_off,                     // a lane is given back while its workers work
  once_claimed_ahead,               // work that may act at most once is claimed though no thread can begin it
  answer_outlives_its_transaction,  // what the worker wrote may be undone, and its answer counts all the same

  // Around core::decide(): sim/seeded_decide.cc.
  semaphore_off_by_one,     // a fan-out counts one obligation too many
  lost_child,               // counted, but never sent
  snapshot_missing,         // nobody remembers who closed the job
  completion_refused,       // step 3 is refused since the job looks closed
  step3_skipped,            // without fusion the completion tasks are forgotten
  plane_from_redeliveries,  // a redelivery shifts the plane
  attempts_wrap,            // the tenth attempt reads as none
  sweep_forgets_work,       // a failed job's work stays in the queue
  consume_forgotten,        // served messages stay in the inbox
  try_not_counted,          // a failed try leaves no trace
  try_counted_twice,        // a failed try counts for two
  stale_try_counted,        // a retry does not ask whether the run that failed still holds the item
  held_work_handed_out,     // the work of a paused or parked job is not held back
  paused_answer_dropped,    // an answer that is given while the job is paused is not kept
  deadline_left_behind,     // a job that ends in time leaves the timer of its deadline
  replaced_runs_on,         // a run whose id was taken over is told, and goes on
  redrive_keeps_limits,     // a redriven job has no more tries than before
  registration_lost,        // a hook that registers before its signal is forgotten
  early_signal_lost,        // a signal that comes before its hook is forgotten
  mailbox_resumes_twice,    // a concluding signal leaves its taker registered
  withdraw_not_sent,        // a hook that waits no more stays registered
  withdraw_ignored,         // a mailbox does not heed it
  offer_forgotten,          // a mailbox does not remember a signal that is on its way to a hook
  signal_not_given_back,    // a signal that its hook did not take is dropped
  taken_not_told,           // a hook does not say that it took its signal
  taken_signal_given_back,  // a signal that its hook took goes to the next one
  timer_outlives_signal,    // the timer of a hook that its signal concluded stays
  child_end_not_told,       // the parent never hears of the end
  end_does_not_descend,     // the children of a job that is ended go on
  page_told_again,          // a signal to all begins its second page where the first began
  end_not_announced,        // a job that publishes ends in silence
  measured_twice,           // a job counts for two
  key_from_run_number,      // work is named by its run number, which a restored store gives away again
  never_pauses,             // a decision follows its own steps for as long as it has room

  // Around a store: sim/seeded_store.cc.
  marker_without_guard,     // the store does not compare the rev
  marker_outside_commit,    // a message is acknowledged although its bundle was refused
  epoch_unchecked,          // the store lets a fenced owner commit
  epoch_not_raised,         // a new owner gets its predecessor's epoch
  lease_by_own_clock,       // a lease is compared with a clock that runs ahead
  stale_worker_accepted,    // an answer counts whoever gives it
  tenant_filter_missing,    // job ids of all tenants share one name space
  removal_leaves_rows,      // a removed job can still be read
  paused_topic_handed_out,  // the store gives work of a paused topic to who asks
  progress_overwritten,     // a job's older view of its work wins over what the worker said last
  outbox_row_taken_twice,   // a row that was delivered before is accepted again
  outbox_row_lost,          // a row counts as delivered, and nobody has it
  outbox_numbers_shared,    // rows for all targets are counted together
  outbox_gap_taken,         // a row is accepted before those that were sent before it
  refusal_lost,             // a child whose id is taken is not made, and nobody says so
  lane_crossed,             // an operation of one lane writes into another one
  child_takes_id,           // a child whose id is taken replaces who has it
  signal_id_forgotten,      // a signal that is told again after its mailbox served it counts twice
  share_not_given_back,     // an engine does not hear of the others
  dead_share_left,          // an engine that is dead is said to live
  effect_before_guards,     // what a worker wrote is committed before the guards of its answer's bundle are looked at

  // Around a DuplexStore and the letters of its sequences: sim/seeded_duplex.cc.
  duplex_preset_after_enqueue,  // a child can be entered before it is set
  duplex_counter_not_set,       // open obligations are counted, not kept by address
  duplex_every_closer_closes,   // whoever thinks it closes an activity adds the closing number
  duplex_undo_forgotten,        // a refused entry stays counted
  duplex_plane_by_arrival,      // the plane is the entry count, not the index in the message
  duplex_remove_before_add,     // an activity leaves the open set before its children are in it
  duplex_cleanup_lost,          // a closer that comes back to a closed activity does not look at the job

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
