#include "sim/describe.h"

#include "base/format.h"
#include "base/invariant.h"

namespace pawl::sim {

namespace {

const char* name_of(const core::Body& body) {
  static constexpr const char* names[] = {
      "start",     "transition", "response",    "register",   "signal",      "resume",      "no answer",
      "interrupt", "pause",      "proceed",     "redrive",    "verdict",     "time up",     "reenter",
      "arrive",    "item",       "start child", "child done", "end job",     "withdraw",    "expire",
      "expand",    "unlabel",    "taken",       "refused",    "give answer", "drop signal", "cancel"};
  static_assert(std::size(names) == std::variant_size_v<core::Body>);
  return names[body.index()];
}

std::string describe(const core::Write& write) {
  return std::visit(
      Overloaded{
          [](const core::PutActivity& w) {
            return format("activity {}={}", w.after.seq.raw(), w.after.ledger.digits());
          },
          [](const core::PutRecord& w) {
            return format("record {:x}={}", w.after.guid.low >> 48, w.after.ledger.digits());
          },
          [](const core::PutMessage& w) { return format("put {}", name_of(w.message.body)); },
          [](const core::CountRedelivery& w) { return format("count {:x}", w.guid.low >> 48); },
          [](const core::Consume& w) { return format("consume {:x}", w.guid.low >> 48); },
          [](const core::PutWork& w) { return format("work {} run {}", w.item.activity.raw(), w.item.runs); },
          [](const core::DropWork& w) { return format("drop work {}", w.activity.raw()); },
          [](const core::Sweep&) { return std::string("sweep"); },
          [](const core::ChangeWork& w) {
            return format("{} work {} failures {}{}", w.release ? "release" : "change", w.activity.raw(),
                          w.life.failures, w.life.unknown ? " unknown" : "");
          },
          [](const core::HoldWork& w) { return std::string(w.held ? "hold" : "unhold"); },
          [](const core::PutLabel& w) { return format("label {}={}", w.label.name, w.label.value); },
          [](const core::DropLabel& w) { return format("drop label {}={}", w.label.name, w.label.value); },
          [](const core::AddMeasure& w) { return format("measure {}", w.measure.target); },
          [](const core::Announce& w) { return format("announce {}", w.code); },
          [](const core::Send& w) { return format("send {}", name_of(w.envelope.message.body)); },
          [](const core::PutEntry& w) {
            return format("entry {} {}", w.entry.seq, w.entry.what.index() == 0 ? "register" : "signal");
          },
          [](const core::DropEntry& w) { return format("drop entry {}", w.seq); },
          [](const core::OfferEntry& w) { return format("{} entry {}", w.to ? "offer" : "give back", w.seq); },
      },
      write);
}

std::string describe(const core::Bundle& bundle) {
  std::string text = format("bundle {} rev {}", bundle.entity.raw() & 0xffff, bundle.rev_before.raw());
  if (const auto* head = std::get_if<core::JobHead>(&bundle.head)) text += format(" {}:", core::name_of(head->status));
  for (const core::Write& write : bundle.writes) text += " [" + describe(write) + "]";
  return text;
}

}  // namespace

std::string describe(const store::Operation& operation, const store::Outcome& outcome) {
  const auto of = [](const char* what, RunId run, core::ActivitySeq activity) {
    return format("{} {}.{}", what, run.raw() & 0xffff, activity.raw());
  };
  std::string text = std::visit(
      Overloaded{
          [](const core::Bundle& o) { return describe(o); },
          [](const store::Submit& o) { return format("submit {}", o.id.raw()); },
          [](const store::Deliver& o) {
            return format("deliver {} row {}", name_of(o.envelope.message.body), o.source ? o.source->seq : 0);
          },
          [&](const store::DeliverReply& o) { return of("respond", o.run, o.activity); },
          [](const store::ClaimWork& o) { return format("claim work for {}", o.worker); },
          [&](const store::ClaimItem& o) { return of("claim", o.run, o.activity); },
          [&](const store::ExtendWork& o) { return of(o.detach ? "detach" : "heartbeat", o.run, o.activity); },
          [&](const store::ReleaseWork& o) { return of("release", o.run, o.activity); },
          [](const store::AcquireLane& o) { return format("acquire {} by {}", o.lane.raw(), o.owner); },
          [](const store::RenewLane& o) { return format("renew {}", o.lane.raw()); },
          [](const store::ReleaseLane& o) { return format("give back {}", o.lane.raw()); },
          [](const store::BeatEngine& o) {
            std::string held = format("beat of {}{}, holds", o.name, o.leaving ? " leaving" : "");
            if (!o.holds)
              held += " as before";
            else
              for (const core::LaneId lane : *o.holds) held += format(" {}", lane.raw());
            return held;
          },
          [](const store::LeaveEngine& o) { return format("{} leaves", o.name); },
          [](const store::RemoveJob& o) { return format("remove {}", o.run.raw() & 0xffff); },
          [](const store::PauseTopic& o) { return format("{} {}", o.paused ? "pause" : "resume", o.topic.raw()); },
          [](const store::PutApp& o) { return format("put app {} {}", o.app, o.version); },
          [](const store::ActivateApp& o) { return format("activate app {} {}", o.app, o.version); },
          [](const store::DropKeys&) { return std::string("drop keys"); },
          [](const store::DropOutbox& o) {
            return format("drop outbox of {} for {} up to {}", o.lane.raw(), o.target.raw(), o.up_to);
          },
          [](const store::OpenPool& o) { return format("open pool {}", o.pool.raw()); },
      },
      operation);
  text += format(" -> {}", store::name_of(outcome.kind));
  if (!outcome.reason.empty()) text += ": " + outcome.reason;
  for (const core::WorkItem& item : outcome.items())
    text += format(" ({} run {} failures {})", item.topic.raw(), item.runs, item.life.failures);
  return text;
}

}  // namespace pawl::sim
