// Engine: what jobs and mailboxes send each other. A store that can puts it into the target's inbox with the
// sender's commit; for the others it waits in the lane's outbox, and the lane's owner delivers it, in order.
#include <utility>

#include "base/format.h"
#include "core/kind_state.h"
#include "core/mailbox.h"
#include "runtime/engine.h"

namespace pawl::runtime {

using store::OutcomeKind;

// Where what does not exist yet is made.
void Engine::address(core::Bundle& bundle) {
  for (core::Write& write : bundle.writes)
    if (auto* send = std::get_if<core::Send>(&write)) send->lane = lanes_.lane_for(send->envelope.to);
}

// `kind`: what became of the bundle; after a lost reply what it sends may be there.
void Engine::sent(const core::Bundle& bundle, OutcomeKind kind) {
  for (const core::Write& write : bundle.writes) {
    const auto* send = std::get_if<core::Send>(&write);
    if (send == nullptr) continue;
    if (store_.sends_directly()) arrived(send->envelope.to, RunId(0), send->envelope.message, kind);
    else outboxes_.insert(core::lane_of(bundle.entity));
  }
}

// A message is in its target's inbox, or may be. `run`: who has it, if that is known; 0: only its name is.
void Engine::arrived(const core::Target& to, RunId run, const core::Message& message, OutcomeKind kind) {
  if (kind == OutcomeKind::fenced || kind == OutcomeKind::rejected || kind == OutcomeKind::over_limit) return;
  const core::LaneId lane = lanes_.lane_for(to);
  if (const auto* start = std::get_if<core::StartChild>(&message.body)) look_for_refusal(start->parent);
  if (!lanes_.owns(lane, clock_.monotonic())) return events_.ring(lane);
  if (const auto* known = std::get_if<RunId>(&to)) return hand_over(*known, message, kind);
  if (const auto* job = std::get_if<core::JobKey>(&to)) {
    const auto found = store_.find_run(job->name_space, job->id);
    if (!found) rescans_.insert(lane);
    else if (*found) look(**found);
    return;
  }
  if (run == RunId(0)) {
    const auto found = store_.find_mailbox(std::get<core::MailboxKey>(to));
    if (!found) rescans_.insert(lane);
    if (!found || !*found) return;
    run = **found;
  }
  serve_mailbox(run);
}

// A child whose id is taken is refused: then its parent, perhaps of another lane, has the word already. Its name is
// known, so that a parent of many need not be read whole for each of them.
void Engine::look_for_refusal(const core::ParentLink& parent) {
  if (!lanes_.owns(core::lane_of(parent.run), clock_.monotonic())) return;
  const auto word = store_.read_message(parent.run, core::last_word_of(parent.request));
  if (!word || *word) look(parent.run);
}

void Engine::deliver_outboxes() {
  for (const core::LaneId lane : std::exchange(outboxes_, {})) {
    if (!lanes_.owns(lane, clock_.monotonic())) continue;
    if (outboxes_out_.contains(lane)) {
      outboxes_.insert(lane);
      continue;
    }
    const auto page = store_.read_outbox(lane, limits::recovery_page_rows);
    if (!page) outboxes_.insert(lane);  // next_wake() brings us back
    if (!page || page->empty()) continue;
    for (const store::OutboxRow& row : *page) {
      store::Deliver deliver;
      deliver.envelope = row.envelope;
      deliver.lane = lanes_.lane_for(row.envelope.to);
      deliver.source = store::Deliver::Source{lane, row.seq};
      push(std::move(deliver));
    }
    outboxes_out_.insert(lane);
    push(store::DropOutbox{lane, lanes_.epoch(lane), page->back().seq});
  }
}

void Engine::settle_outbox(const store::DropOutbox& drop, const store::Outcome& outcome) {
  // The lane was lost meanwhile, and perhaps taken again.
  if (drop.epoch != lanes_.epoch(drop.lane) || outboxes_out_.erase(drop.lane) == 0) return;
  if (outcome.kind == OutcomeKind::fenced) return lane_taken(drop.lane);
  outboxes_.insert(drop.lane);  // there may be more, or it has to be tried again
}

void Engine::serve_mailbox(RunId run) {
  if (lanes_.owns(core::lane_of(run), clock_.monotonic())) mailboxes_.insert(run);
}

// A mailbox is read for every decision: most are used once. Of one that holds much only a page is read.
void Engine::decide_mailboxes() {
  for (const RunId run : std::exchange(mailboxes_, {})) {
    if (!lanes_.owns(core::lane_of(run), clock_.monotonic())) continue;
    if (mailboxes_out_.contains(run)) {
      mailboxes_.insert(run);
      continue;
    }
    const core::DecideOptions options = decide_options(run);
    auto page = store_.read_mailbox_page(run, options_.mailbox_page, options.now);
    if (!page && page.error().code != ErrorCode::corrupt) mailboxes_.insert(run);
    if (!page && page.error().code == ErrorCode::corrupt) damaged(run, page.error().detail);
    if (!page || !*page) continue;
    std::vector<core::Delivery> deliveries;
    for (core::InboxMessage& message : (*page)->inbox) deliveries.push_back({std::move(message.message)});
    core::Decision decision = core::decide((*page)->state, deliveries, options, (*page)->cut);
    if (!decision.bundle) continue;
    if ((*page)->more || decision.done.size() < deliveries.size()) mailboxes_.insert(run);  // once this is committed
    address(*decision.bundle);
    mailboxes_out_.insert(run);
    push(std::move(*decision.bundle));
  }
}

// Whether a hook's time must wait because its registration is not served yet: a signal may be there that came before
// the hook, while this engine was late or gone. It is put off a few times only: a mailbox that cannot be served must
// not stop the hook, and the signal is kept whoever is first.
bool Engine::signal_goes_first(const core::JobState& state, const core::Message& timer) {
  const auto* time = std::get_if<core::TimeUp>(&timer.body);
  const core::Activity* hook = time == nullptr ? nullptr : state.find(time->activity);
  if (hook == nullptr || hook->status != core::ActivityStatus::open || hook->state.empty()) return false;
  const auto kind = core::decode_kind_state(hook->state.view());
  if (!kind || !kind->mailbox) return false;
  const auto mailbox = store_.find_mailbox(*kind->mailbox);
  if (!mailbox || !*mailbox) return false;
  const auto registration = store_.read_message(**mailbox, kind->registration());
  const bool unserved = registration && *registration && lanes_.owns(core::lane_of(**mailbox), clock_.monotonic());
  if (unserved && ++timers_held_[timer.guid] <= limits::timer_holds_max) {
    serve_mailbox(**mailbox);
    return true;
  }
  timers_held_.erase(timer.guid);
  return false;
}

bool Engine::settle_mailbox(const core::Bundle& bundle, const store::Outcome& outcome) {
  if (!std::holds_alternative<core::MailboxHead>(bundle.head)) return false;
  const bool stale = bundle.epoch != lanes_.epoch(core::lane_of(bundle.entity));
  if (stale || mailboxes_out_.erase(bundle.entity) == 0) return true;  // its lane was lost meanwhile
  switch (outcome.kind) {
    case OutcomeKind::fenced: lane_taken(core::lane_of(bundle.entity)); return true;
    case OutcomeKind::over_limit:
    case OutcomeKind::rejected:
      events_.problem(format("mailbox {}: the store rejected its bundle: {}", bundle.entity.raw(), outcome.reason));
      return true;
    case OutcomeKind::committed:
    case OutcomeKind::already_done:
      for (const core::Write& write : bundle.writes)
        if (const auto* put = std::get_if<core::PutMessage>(&write))
          arm(store::Due{put->due, bundle.entity, store::Due::Kind::message, put->message.guid});
      sent(bundle, OutcomeKind::committed);
      return true;
    case OutcomeKind::exists:
    case OutcomeKind::conflict:
    case OutcomeKind::outcome_unknown: break;
  }
  // Only the store knows: what was not served is still there.
  sent(bundle, OutcomeKind::outcome_unknown);
  serve_mailbox(bundle.entity);
  return true;
}

}  // namespace pawl::runtime
