// The kinds of activities: what each does in its leg 1, and the messages that only it understands. A file each.
#pragma once

#include <optional>

#include "core/step.h"

namespace pawl::core::kinds {

// Leg 1: makes the kind's request. `activity` is entered and not complete; its state may be set.
struct Begun {
  enum class Then : std::uint8_t {
    waits,    // for an answer
    answers,  // it is its own answer, with `data`
    ends,     // nothing follows: the obligation went elsewhere, or the job is closed
  };
  Then then = Then::waits;
  Payload data;
};
Result<Begun> begin(Context& context, Activity& activity, const Transition& transition);  // begin.cc
// What a kind that is its own answer says, for a message that comes back after its leg 1.
Result<Payload> begin_again(Context& context, const Activity& activity);  // begin.cc

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

// What an await says that does not wait for its child.
Payload unawaited(const AwaitState& state);  // await.cc

// Messages.
Progress child_done(Context& context, const ChildDone& message);  // await.cc
Progress start_again(Context& context, ActivitySeq await);        // await.cc
Progress resume(Context& context, const Resume& message);         // hook.cc
Progress time_up(Context& context, const TimeUp& message);        // hook.cc
// The signal at hand did its work in this hook: its mailbox keeps it no longer.
void tell_taken(Context& context, const Activity& hook);     // hook.cc
Progress reenter(Context& context, const Reenter& message);  // cycle.cc
Progress arrive(Context& context, const Arrive& message);    // join.cc
Progress expand(Context& context, const Expand& message);    // signal.cc
Progress unlabel(Context& context, const Unlabel& message);  // signal.cc
Progress take_item(Context& context, const Item& message);   // map.cc

// Calls off what a concluded or abandoned activity still waits for. `registered`: its mailbox may still have something
// for it; not when its last signal concluded it.
void call_off(Context& context, const Activity& activity, bool cancel_child, bool registered = true);  // begin.cc
// race.cc. Ends an open activity whose answer nobody wants any more; how many obligations it had.
std::int64_t abandon(Context& context, const Activity& activity);
// A join that is satisfied ends what still runs of the branches that lead to it, if it is told to; as abandon().
std::int64_t end_branches(Context& context, const Activity& join);
// Whether such a join has ended the branch that this place belongs to.
bool is_called_off(const Context& context, std::uint32_t node, const ledger::Dimensions& at);
// A child is still to be found when its await is over; nothing else is remembered.
Payload what_stays(const Payload& state);  // await.cc

// The edges of `activity` that did not fire in this plane: joins below need not wait for them.
void skip_edges(Context& context, const Activity& activity, std::uint32_t plane,
                const std::vector<std::uint32_t>& fired, std::uint64_t first_number = 0);  // join.cc
// Where the instance of a join stands that is reached from `from`, an address with its plane.
ledger::Dimensions place_of_join(const Graph::Node& join, const ledger::Dimensions& from);  // join.cc

}  // namespace pawl::core::kinds
