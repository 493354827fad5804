// The kinds of activities: what each does in its leg 1, and the messages that only it understands. A file each.
#pragma once

#include <optional>

#include "core/step.h"

namespace pawl::core::kinds {

// Leg 1: makes the kind's request. `activity` is entered and not complete; its state may be set.
struct Begun {
  enum class Then : std::uint8_t {
    waits,    // for an answer
    answers,  // no wait: `data` is the answer
    ends,     // nothing follows: another activity has the obligation, or the job is closed
  };
  Then then = Then::waits;
  Payload data;
  ReplyStatus status = ReplyStatus::success;
  std::int32_t code = 200;
  Speaker speaker = Speaker::answer;
};
Result<Begun> begin(Context& context, Activity& activity, const Transition& transition);  // begin.cc
// The answer that the run brought along for this instance. None: it must be asked for.
std::optional<Begun> carried_answer(const Context& context, const Activity& activity);  // begin.cc
// The answer of a kind that does not wait, for a message that comes back after its leg 1.
Result<Begun> begin_again(Context& context, const Activity& activity);  // begin.cc

// The work item that a worker's activity asks for.
Result<WorkItem> work_of(Context& context, const Activity& activity, const Guid& request, const Payload& given);
Result<Begun> begin_worker(Context& context, Activity& activity, const Transition& transition);
Result<Begun> begin_await(Context& context, Activity& activity, const Transition& transition);
Result<Begun> begin_hook(Context& context, Activity& activity, const Transition& transition);
Result<Begun> begin_signal(Context& context, Activity& activity);
Result<Begun> begin_cycle(Context& context, Activity& activity);
Result<Begun> begin_interrupt(Context& context, Activity& activity);
Result<Begun> begin_join(Context& context, Activity& activity);
Result<Begun> begin_map(Context& context, Activity& activity);

// The answer of an await that does not wait for its child.
Payload unawaited(const AwaitState& state);  // await.cc

// Messages.
Progress child_done(Context& context, const ChildDone& message);  // await.cc
Progress start_again(Context& context, ActivitySeq await);        // await.cc
Progress resume(Context& context, const Resume& message);         // hook.cc
Progress time_up(Context& context, const TimeUp& message);        // hook.cc
// The current signal was used by this hook: its mailbox need not keep it any longer.
void tell_taken(Context& context, const Activity& hook);     // hook.cc
Progress reenter(Context& context, const Reenter& message);  // cycle.cc
Progress arrive(Context& context, const Arrive& message);    // join.cc
Progress expand(Context& context, const Expand& message);    // signal.cc
Progress unlabel(Context& context, const Unlabel& message);  // signal.cc
Progress take_item(Context& context, const Item& message);   // map.cc

// Cancels what a concluded or abandoned activity still waits for. `registered`: its mailbox may still have something
// for it; false when its last signal concluded it.
void call_off(Context& context, const Activity& activity, bool cancel_child, bool registered = true);  // begin.cc
// race.cc. Ends an open activity whose answer is no longer needed; returns the number of its obligations.
std::int64_t abandon(Context& context, const Activity& activity);
// A satisfied join ends what still runs in the branches that lead to it, if its graph asks for it; returns as
// abandon().
std::int64_t end_branches(Context& context, const Activity& join);
// Whether such a join has ended the branch that this address belongs to.
bool is_called_off(const Context& context, std::uint32_t node, const ledger::Dimensions& at);
// The part of an activity's state that stays when it is over: what is needed to find an await's child, and a worker's
// failed attempts.
Payload what_stays(const Payload& state);  // await.cc

// The edges of `activity` that did not fire in this plane: joins below do not wait for them.
void skip_edges(Context& context, const Activity& activity, std::uint32_t plane,
                const std::vector<std::uint32_t>& fired, std::uint64_t first_number = 0);  // join.cc
// The address of the join's instance that is reached from `from`, an address with its plane.
ledger::Dimensions place_of_join(const Graph::Node& join, const ledger::Dimensions& from);  // join.cc

}  // namespace pawl::core::kinds
