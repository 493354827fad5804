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

inline constexpr std::int32_t code_misfit = 422;  // what the job made is not what its graph promises

enum class Progress : std::uint8_t {
  finished,      // the delivery needs nothing more
  commit_first,  // commit what is in the draft, then call again
  parked,        // the job stopped: the delivery stays where it is
  stays,         // it waits until the job goes on; others may have their turn
};

struct Context {
  Draft& draft;
  const Graph& graph;
  const Delivery& delivery;
  const DecideOptions& options;
  std::deque<Message>& passed_on;  // served next, in the same bundle
  bool entered = false;            // out: this bundle holds the delivery's entry
  std::optional<Error> failure{};  // out: why the job must stop here

  bool alone() const { return options.fusion == Fusion::off; }
  bool stored() const { return delivery.origin != Origin::unstored; }
  bool must_count() const { return delivery.origin == Origin::loaded && !delivery.entered; }
  const Guid& guid() const { return delivery.message.guid; }
  const Graph::Node& node(std::uint32_t index) const { return graph.nodes()[index]; }
  const Graph::Node& node(const Activity& activity) const { return graph.nodes()[activity.node]; }

  // A message of this job for itself: stored when every step commits alone.
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
Progress respond(Context& context, const Response& response);    // respond.cc
Progress no_answer(Context& context, const NoAnswer& message);   // no_answer.cc
Progress settle(Context& context, const Verdict& verdict);       // no_answer.cc
Progress interrupt(Context& context, const Interrupt& message);  // control.cc, as the next four
Progress end_job(Context& context, const EndJob& message);
Progress pause(Context& context, const Pause& message);
Progress proceed(Context& context);
Progress redrive(Context& context);

// The rule that came with the request (Program::retry).
std::optional<Retry> own_retry(const Context& context, const WorkItem& item);

// Failed work: given back for another try, or the job parked because its tries ran out. None: the error is the
// answer.
std::optional<Progress> try_again(Context& context, const WorkItem& item, const Answer& answer);
// An answer that has no row yet: leg 2 at once, or stored for it when every step commits alone.
Progress conclude_unstored(Context& context, const WorkItem& item, const Answer& answer, bool final);
// An answer that the job stops at. It is kept to be seen, and its work is put back, to be asked for again when the job
// goes on. False: its effect counts already, or there is no way to ask again; then the answer itself waits.
bool refuse(Context& context, const Response& response);
// For a paused or parked job: an answer is stored, so that it need not be given twice; all else waits.
Progress keep_answer(Context& context);

// A new instance, entered once.
Result<Activity> open_instance(const Context& context, std::uint32_t node, const ledger::Dimensions& at,
                               std::optional<ActivitySeq> parent);

// What the job has to show so far: a job that shares nothing has an empty object.
inline Payload shared_data(const Draft& draft) { return draft.data().empty() ? Payload("{}") : draft.data(); }

// What an expression of the activity sees, in this plane.
inline Sight sight_of(const Context& context, const Activity& activity, std::uint32_t plane = 0) {
  return Sight{context.draft, activity.node, activity.at.in_plane(plane), context.options.now};
}

// Marks a loaded delivery's entry in a commit of its own; parks the job when it was tried too often.
Progress count_reentry(Context& context);

Progress acknowledge(Context& context);
// The job stops at this message. Nothing that the message wrote is kept: decide() begins again and stops before it.
Progress park(Context& context, const Error& error);

// undo.cc: what a failed job undoes before it ends, the newest first.
// The next one. None: there is nothing left to undo, or nothing that can be undone.
std::optional<Body> next_undo(const Context& context);
// For a job whose last obligation is about to go: if it fails, the first to undo. It may fail only now, because what it
// made is not what its graph promises.
std::optional<Body> undo_before_end(Context& context);
// The job failed: ends all that is open, and leaves one obligation, for what undoes.
Status begin_undo(Context& context, Body first);
// A message that a job which is being undone has no use for any more.
bool is_undone(const Context& context, const Body& body);

// closing.cc: the ends of a job.
// How long the job stays once it is over, as its graph says.
Status set_keep(Context& context);
// The end as whoever follows the job hears it: a parent that awaits it, and the topic that it publishes.
void announce_end(Context& context, const Payload& data);
// Sets the state; what is open is swept, what it waits for elsewhere is called off.
Status close_job(Context& context, JobStatus status, bool descend);
// The completion tasks: the result, and the word to whoever awaits the job.
void finish_job(Context& context, std::optional<Payload> result);
// Why a job that completes now would fail: what it made is not what its graph promises.
std::optional<std::string> misfit_at_end(const Context& context);
// Takes an obligation back that nobody will answer for; it may have been the last one.
Status give_back(Context& context, ActivitySeq of);
// Closes the job through its trigger, for a message that belongs to no activity.
Status close_through_trigger(Context& context, JobStatus status, bool descend);

}  // namespace pawl::core
