#include "sim/duplex_watch.h"

#include "base/format.h"

namespace pawl::sim {

namespace {

using ledger::DuplexState;
using Step = DuplexState::Operation;

constexpr Step all_steps[] = {Step::leg1_entry, Step::leg1_exit, Step::leg2_entry,     Step::leg2_exit,
                              Step::conclude,   Step::fail,      Step::undo_leg2_entry};

std::optional<Step> step_of(std::int64_t delta) {
  for (const Step step : all_steps)
    if (DuplexState::delta(step) == delta) return step;
  return std::nullopt;
}

std::string at(RunId run, const store::Place& place) {
  return format("run {}, activity {} at {}", run.raw(), place.node, place.at.text());
}

}  // namespace

void DuplexWatch::note(const store::DuplexOperation& operation, const store::DuplexOutcome& outcome) {
  using store::OutcomeKind;
  if (const auto* start = std::get_if<store::StartDuplex>(&operation)) {
    if (ids_.emplace(start->id.raw(), outcome.run()).first->second != outcome.run())
      verdict_.fail("identity", format("{} was accepted twice", start->id.raw()));
  }
  if (const auto* dequeue = std::get_if<store::Dequeue>(&operation);
      dequeue != nullptr && outcome.kind == OutcomeKind::committed) {
    for (const store::ClaimedMessage& claimed : outcome.handed().messages)
      if (const auto* reply = std::get_if<store::stream::Reply>(&claimed.message.body))
        ++jobs_[claimed.message.run].deliveries[reply->place];
  }
  if (const auto* close = std::get_if<store::CloseAddress>(&operation);
      close != nullptr && outcome.done() && outcome.none_left()) {
    for (const auto& [place, value] : jobs_[close->run].cells) {
      const auto state = DuplexState::decode(value);
      if (state && state->open())
        verdict_.fail("empty", format("the set is empty while {} is open: {}", at(close->run, place), state->digits()));
    }
  }
  if (outcome.kind != OutcomeKind::committed) return;
  if (const auto* set = std::get_if<store::SetCell>(&operation)) {
    jobs_[set->run].cells.emplace(set->place, set->value);
  } else if (const auto* add = std::get_if<store::AddToCell>(&operation)) {
    note_add(*add, outcome.value());
  } else if (const auto* put = std::get_if<store::Enqueue>(&operation)) {
    const auto* transition = std::get_if<store::stream::Transition>(&put->message.body);
    const RunId run = put->message.run;
    if (transition != nullptr && !jobs_[run].cells.contains(transition->place))
      verdict_.fail("preset", format("{} was enqueued before it was set", at(run, transition->place)));
  }
}

void DuplexWatch::note_add(const store::AddToCell& add, std::int64_t answered) {
  Job& job = jobs_[add.run];
  const auto cell = job.cells.find(add.place);
  const auto step = step_of(add.delta);
  if (cell == job.cells.end() || !step)
    return verdict_.fail("digits", format("{}: an add of {} to nothing", at(add.run, add.place), add.delta));
  const auto before = DuplexState::decode(cell->second);
  if (!before) return verdict_.fail("digits", before.error().detail);
  const auto after = before->after(*step);
  if (!after) return verdict_.fail("digits", format("{}: {}", at(add.run, add.place), after.error().detail));
  if (after->encode() != answered)
    return verdict_.fail("digits",
                         format("{}: {} was answered, not {}", at(add.run, add.place), answered, after->digits()));
  cell->second = answered;
  if ((*step == Step::conclude || *step == Step::fail) && ++job.closings[add.place] > 1)
    verdict_.fail("closing", format("{} was closed twice", at(add.run, add.place)));
  if (*step == Step::undo_leg2_entry) ++figures_.undone;
  if (*step != Step::leg1_entry) return;
  if (after->leg1_verdict() == DuplexState::Leg1Verdict::rerun_after_cleanup) ++figures_.reruns;
  if (after->leg1_verdict() == DuplexState::Leg1Verdict::verify_children_and_ack) ++figures_.verified;
}

std::uint64_t DuplexWatch::deliveries(RunId run, const store::Place& place) const {
  const auto job = jobs_.find(run);
  if (job == jobs_.end()) return 0;
  const auto found = job->second.deliveries.find(place);
  return found == job->second.deliveries.end() ? 0 : found->second;
}

}  // namespace pawl::sim
