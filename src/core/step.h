// What the step functions of a job share: the draft they write to and the delivery they serve.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "core/decide.h"
#include "core/draft.h"
#include "core/kind_state.h"
#include "core/program.h"

namespace pawl::core {

inline constexpr std::int32_t code_mismatch = 422;  // the job's data is not what its graph promises

enum class Progress : std::uint8_t {
  finished,      // the delivery needs nothing more
  commit_first,  // commit what is in the draft, then call again
  parked,        // the job stopped: the delivery stays where it is
  stays,         // it waits until the job continues; other deliveries may have their turn
};

struct Context {
  Draft& draft;
  const Graph& graph;
  const Delivery& delivery;
  const DecideOptions& options;
  std::deque<Message>& passed_on;  // served next, in the same bundle
  bool entered = false;            // out: this bundle holds the delivery's entry
  bool in_vain = false;            // out: it is a stale reply, and changes nothing
  std::optional<Error> failure{};  // out: why the job must stop here

  bool alone() const { return options.fusion == Fusion::off; }
  bool stored() const { return delivery.origin != Origin::unstored; }
  bool must_count() const { return delivery.origin == Origin::loaded && !delivery.entered; }
  const Guid& guid() const { return delivery.message.guid; }
  const Graph::Node& node(std::uint32_t index) const { return graph.nodes()[index]; }
  const Graph::Node& node(const Activity& activity) const { return graph.nodes()[activity.node]; }

  // A message of this job to itself: stored when every step is a separate commit.
  void pass_on(Message message) {
    if (alone())
      draft.put_message(std::move(message));
    else
      passed_on.push_back(std::move(message));
  }
};

// What leg 2 is entered with.
struct Answer {
  enum class Role : std::uint8_t {
    answer,  // it answers the activity's request: the concluding one closes the activity
    round,   // a cycle returned to its pivot: concludes its own plane, marks nothing again
    item,    // a map begins with an item: the map stays open
  };
  ActivitySeq activity;
  ReplyStatus status;
  std::int32_t code;
  const Payload& data;
  Role role = Role::answer;
  Speaker speaker = Speaker::answer;

  bool concludes() const { return role == Role::answer && status != ReplyStatus::pending; }
};

Progress leg1(Context& context, const Transition& transition);   // leg1.cc
Progress leg2(Context& context, const Answer& answer);           // leg2.cc
Progress start(Context& context, const Start& start);            // start.cc
Progress take_reply(Context& context, const Reply& reply);       // reply.cc
Progress no_reply(Context& context, const NoReply& message);     // no_reply.cc
Progress settle(Context& context, const Verdict& verdict);       // no_reply.cc
Progress interrupt(Context& context, const Interrupt& message);  // control.cc, as the next five
Progress end_job(Context& context, const EndJob& message);
Progress pause(Context& context, const Pause& message);
Progress proceed(Context& context);
Progress redrive(Context& context);
Progress cancel(Context& context, const Cancel& message);
Progress give_answer(Context& context, const GiveAnswer& message);

// The rule that came with the request (Program::retry).
std::optional<Retry> own_retry(const Context& context, const WorkItem& item);

// Failed work: given back for another attempt, or the job is parked because its attempts are used up. None: the error
// is the answer.
std::optional<Progress> try_again(Context& context, const WorkItem& item, const Answer& answer);
// An answer that is not stored yet: leg 2 at once, or stored first when every step is a separate commit.
Progress conclude_unstored(Context& context, const WorkItem& item, const Answer& answer, bool final);
// A reply that the job cannot take. It is kept for people to see, and its work is put back, to be asked for again when
// the job continues. False: its effect counts already, or the work cannot be asked for again; then the reply itself
// waits.
bool refuse(Context& context, const Reply& reply);
// For a paused or parked job: a worker's reply is stored, so that it need not be sent twice; all else waits.
Progress keep_answer(Context& context);

// A new instance, entered once.
Result<Activity> open_instance(const Context& context, std::uint32_t node, const ledger::Dimensions& at,
                               std::optional<ActivitySeq> parent);

// The job's data so far: a job that shares nothing has an empty object.
inline Payload shared_data(const Draft& draft) { return draft.data().empty() ? Payload("{}") : draft.data(); }

// What an expression of the activity sees, in this plane.
inline Sight sight_of(const Context& context, const Activity& activity, std::uint32_t plane = 0) {
  return Sight{context.draft, activity.node, activity.at.in_plane(plane), context.options.now};
}

// Marks a loaded delivery's entry in a separate commit; parks the job when it was entered too often.
Progress count_reentry(Context& context);

Progress acknowledge(Context& context);
// The job stops at this message. Nothing that the message wrote is kept: decide() begins again and stops before it.
Progress park(Context& context, const Error& error);

// undo.cc: what a failed job undoes before it ends, the newest first.
// The next one. None: there is nothing left to undo, or nothing that can be undone.
std::optional<Body> next_undo(const Context& context);
// For a job whose last obligation is about to go: if it fails, the first activity to undo. It may fail only now,
// because its data is not what its graph promises.
std::optional<Body> undo_before_end(Context& context);
// The job failed: ends all that is open, and leaves one obligation, for the undo.
Status begin_undo(Context& context, Body first);
// A message that a job no longer needs while it is being undone.
bool is_undone(const Context& context, const Body& body);

// closing.cc: the ends of a job.
// How long the job is kept after its end, by its graph.
Status set_keep(Context& context);
// Sends the end to the parent that awaits the job, and to the topic that the job publishes.
void announce_end(Context& context, const Payload& data);
// Sets the status, sweeps what is open, and cancels what the job waits for elsewhere.
Status close_job(Context& context, JobStatus status, bool descend);
// The completion tasks: the result, and the message to the parent that awaits the job.
void finish_job(Context& context, std::optional<Payload> result);
// Why a job that completes now would fail: its data is not what its graph promises.
std::optional<std::string> mismatch_at_end(const Context& context);
// Gives back an obligation that no answer will settle; it may be the last one.
Status give_back(Context& context, ActivitySeq of);
// Closes the job through its trigger, for a message that belongs to no activity.
Status close_through_trigger(Context& context, JobStatus status, bool descend);

}  // namespace pawl::core
