#include "testing/words.h"

#include "base/format.h"
#include "base/invariant.h"

namespace pawl::testing {

std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::crash_before:
      return "crash before";
    case Fault::crash_after:
      return "crash after";
    case Fault::reply_lost:
      return "reply lost of";
  }
  return "unknown";
}

std::string_view name_of(Attempt::Outcome outcome) {
  switch (outcome) {
    case Attempt::Outcome::success:
      return "success";
    case Attempt::Outcome::error:
      return "error";
    case Attempt::Outcome::fatal:
      return "fatal";
    case Attempt::Outcome::later:
      return "later";
    case Attempt::Outcome::silent:
      return "silent";
  }
  return "unknown";
}

namespace {

std::string_view verb_of(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::job_started:
      return "started";
    case Event::Kind::activity_opened:
      return "opened";
    case Event::Kind::activity_pending:
      return "gave a pending answer";
    case Event::Kind::activity_closed:
      return "closed";
    case Event::Kind::job_closed:
      return "ended";
    case Event::Kind::job_parked:
      return "was parked";
    case Event::Kind::activity_retried:
      return "failed and is tried again";
    case Event::Kind::activity_unknown:
      return "is unknown";
    case Event::Kind::job_paused:
      return "was paused";
    case Event::Kind::job_resumed:
      return "was resumed";
    case Event::Kind::job_announced:
      return "announced";
  }
  return "changed";
}

}  // namespace

std::string words_of(const Event& event) {
  if (event.activity.raw().empty()) return format("job {} {}", event.job.raw(), verb_of(event.kind));
  return format("{} of {} {}", event.activity.raw(), event.job.raw(), verb_of(event.kind));
}

std::string words_of(const store::Operation& operation) {
  return std::visit(Overloaded{
                        [](const store::Submit& submit) { return format("job {} is submitted", submit.id.raw()); },
                        [](const store::Deliver&) { return std::string("a message is delivered"); },
                        [](const store::DeliverReply&) { return std::string("an answer is given with a token"); },
                        [](const store::ClaimItem&) { return std::string("work is claimed"); },
                        [](const store::ReleaseWork&) { return std::string("work is given back"); },
                        [](const store::ExtendWork&) { return std::string("a heartbeat is kept"); },
                        [](const store::AcquireLane&) { return std::string("the process takes over"); },
                        [](const store::RemoveJob&) { return std::string("a job is removed"); },
                        [](const store::PauseTopic&) { return std::string("a topic is paused or resumed"); },
                        each_of<core::Bundle, store::ClaimWork, store::DropOutbox, store::OpenPool, store::RenewLane,
                                store::ReleaseLane, store::BeatEngine, store::LeaveEngine, store::DropKeys,
                                store::PutApp, store::ActivateApp>([] { return std::string(); }),
                    },
                    operation);
}

}  // namespace pawl::testing
