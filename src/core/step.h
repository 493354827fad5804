// What the step functions of a job share: the draft they write to and the delivery they serve.
#pragma once

#include <optional>
#include <string>

#include "core/decide.h"
#include "core/draft.h"

namespace pawl::core {

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
  bool entered = false;  // out: this bundle holds the delivery's entry

  bool alone() const { return options.fusion == Fusion::off; }
  bool stored() const { return delivery.origin != Origin::unstored; }
};

// A worker's or the caller's answer, as leg 2 sees it.
struct Answer {
  ActivitySeq activity;
  ReplyStatus status;
  std::int32_t code;
  const Payload& data;
};

Progress leg1(Context& context, const Transition& transition);      // leg1.cc
Progress leg2(Context& context, const Answer& answer);              // leg2.cc
Progress start(Context& context, const Start& start);               // start.cc
Progress respond(Context& context, const Response& response);       // respond.cc
Progress no_answer(Context& context, const NoAnswer& message);      // no_answer.cc
Progress settle(Context& context, const Verdict& verdict);          // no_answer.cc
Progress interrupt(Context& context, const Interrupt& message);     // control.cc, as the next three
Progress pause(Context& context, const Pause& message);
Progress proceed(Context& context);
Progress redrive(Context& context);

// Failed work: given back for another try, or the job parked because its tries ran out. None: the error is the
// answer.
std::optional<Progress> try_again(Context& context, const WorkItem& item, const Answer& answer);
// An answer that has no row yet: leg 2 at once, or stored for it when every step commits alone.
Progress conclude_unstored(Context& context, const WorkItem& item, const Answer& answer, bool final);
// For a paused or parked job: an answer is stored, so that it need not be given twice; all else waits.
Progress keep_answer(Context& context);

// Opens an instance with leg 1 complete and its work request enqueued: 001100000000000.
Status open_with_work(Context& context, const Transition& transition, const Guid& guid);

// Marks a loaded delivery's entry in a commit of its own; parks the job when it was tried too often.
Progress count_reentry(Context& context);

Progress acknowledge(Context& context);
Progress park(Context& context, const Error& error);

}  // namespace pawl::core
