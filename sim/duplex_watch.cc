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

void DuplexWatch::note(const store::Operation& operation, const store::Outcome& outcome) {
  using store::OutcomeKind;
  if (const auto* start = std::get_if<store::StartDuplex>(&operation)) {
    if (ids_.emplace(start->id.raw(), outcome.run).first->second != outcome.run)
      verdict_.fail("identity", format("{} was accepted twice", start->id.raw()));
  }
  if (const auto* dequeue = std::get_if<store::Dequeue>(&operation); dequeue != nullptr && outcome.kind == OutcomeKind::committed) {
    for (const store::ClaimedMessage& claimed : outcome.messages)
      if (claimed.message.kind == store::StreamMessage::Kind::response)
        ++jobs_[claimed.message.run].deliveries[claimed.message.place];
  }
  if (const auto* close = std::get_if<store::CloseAddress>(&operation); close != nullptr && outcome.done() && outcome.empty) {
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
    note_add(*add, outcome);
  } else if (const auto* put = std::get_if<store::Enqueue>(&operation)) {
    const store::StreamMessage& message = put->message;
    if (message.kind == store::StreamMessage::Kind::transition && !jobs_[message.run].cells.contains(message.place))
      verdict_.fail("preset", format("{} was enqueued before it was set", at(message.run, message.place)));
  }
}

void DuplexWatch::note_add(const store::AddToCell& add, const store::Outcome& outcome) {
  Job& job = jobs_[add.run];
  const auto cell = job.cells.find(add.place);
  const auto step = step_of(add.delta);
  if (cell == job.cells.end() || !step)
    return verdict_.fail("digits", format("{}: an add of {} to nothing", at(add.run, add.place), add.delta));
  const auto before = DuplexState::decode(cell->second);
  if (!before) return verdict_.fail("digits", before.error().detail);
  const auto after = before->after(*step);
  if (!after) return verdict_.fail("digits", format("{}: {}", at(add.run, add.place), after.error().detail));
  if (after->encode() != outcome.value)
    return verdict_.fail("digits", format("{}: {} was answered, not {}", at(add.run, add.place), outcome.value, after->digits()));
  cell->second = outcome.value;
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
