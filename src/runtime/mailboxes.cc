#include "runtime/mailboxes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.h"
#include "core/kind_state.h"
#include "core/mailbox.h"
#include "runtime/parts.h"

namespace pawl::runtime {

void Mailboxes::read_waiting() {
  for (OwnedLane* lane : parts_.lanes.all_mine()) {
    for (const RunId run : std::exchange(lane->mailboxes, {})) {
      if (lane->mailboxes_out.contains(run))
        lane->mailboxes.insert(run);
      else
        parts_.loader.load_mailbox(*lane, run);
    }
  }
}

void Mailboxes::decide(OwnedLane& lane, store::MailboxPage page) {
  const RunId run = page.state.run;
  std::vector<core::Delivery> deliveries;
  for (core::InboxMessage& message : page.inbox) deliveries.push_back({std::move(message.message)});
  core::Decision decision = core::decide(page.state, deliveries, parts_.decide_options(lane), page.cut);
  if (!decision.bundle) return;
  if (page.more || decision.done.size() < deliveries.size()) serve(lane, run);  // after this is committed
  lane.mailboxes_out.insert(run);
  parts_.bundles.launch(std::move(*decision.bundle));
}

bool Mailboxes::must_try_again() const {
  const auto mine = parts_.lanes.all_mine();
  return std::any_of(mine.begin(), mine.end(), [](const OwnedLane* lane) {
    const auto waits = [lane](RunId run) { return !lane->mailboxes_out.contains(run); };
    return std::any_of(lane->mailboxes.begin(), lane->mailboxes.end(), waits);
  });
}

bool Mailboxes::came_back(const core::Bundle& bundle) {
  OwnedLane* lane = parts_.lanes.memory_of(core::lane_of(bundle.entity));
  // Else its lane was lost meanwhile, and perhaps taken again.
  return lane != nullptr && bundle.epoch == lane->epoch && lane->mailboxes_out.erase(bundle.entity) > 0;
}

void Mailboxes::absorb(const core::Bundle& bundle) {
  OwnedLane& lane = *parts_.lanes.memory_of(core::lane_of(bundle.entity));
  for (const core::Write& write : bundle.writes)
    if (const auto* put = std::get_if<core::PutMessage>(&write))
      parts_.alarms.arm(lane, store::Due{put->due, bundle.entity, store::Due::Kind::message, put->message.guid});
  parts_.post.sent(bundle, store::OutcomeKind::committed);
}

// What was not served is still stored.
void Mailboxes::read_again(core::Bundle bundle) {
  serve(*parts_.lanes.memory_of(core::lane_of(bundle.entity)), bundle.entity);
}

void Mailboxes::refused(const core::Bundle& bundle, const std::string& reason) {
  parts_.events.problem(format("mailbox {}: the store rejected its bundle: {}", bundle.entity.raw(), reason));
}

namespace {

// The state of the timer's hook, if the hook also waits for a signal.
std::optional<core::HookState> hook_of(const core::JobState& state, const core::Message& timer) {
  const auto* time = std::get_if<core::TimeUp>(&timer.body);
  const core::Activity* hook = time == nullptr ? nullptr : state.find(time->activity);
  if (hook == nullptr || hook->status != core::ActivityStatus::open || hook->state.empty()) return std::nullopt;
  const auto kind = core::decode_kind_state(hook->state.view());
  const auto* waits = kind ? std::get_if<core::HookState>(&*kind) : nullptr;
  if (waits == nullptr || !waits->mailbox) return std::nullopt;
  return *waits;
}

}  // namespace

bool Mailboxes::may_have_signal(const core::JobState& state, const core::Message& timer) const {
  return hook_of(state, timer).has_value();
}

void Mailboxes::look_for_signal(OwnedLane& lane, const core::JobState& state, const core::Message& timer,
                                std::function<void(OwnedLane&, bool goes_first)> then) {
  const auto hook = hook_of(state, timer);
  if (!hook) return then(lane, false);
  parts_.reads.ask(lane, store::FindMailbox{*hook->mailbox},
                   [this, registration = hook->registration(), guid = timer.guid, then = std::move(then)](
                       OwnedLane& its_lane, const store::AnswerTo<store::FindMailbox>& mailbox) {
                     if (!mailbox || !*mailbox) return then(its_lane, false);
                     parts_.reads.ask(its_lane, store::ReadMessage{**mailbox, registration},
                                      [this, run = **mailbox, guid, then](
                                          OwnedLane& last_lane, const store::AnswerTo<store::ReadMessage>& found) {
                                        then(last_lane, goes_first(run, guid, found && *found));
                                      });
                   });
}

bool Mailboxes::goes_first(RunId mailbox, const core::Guid& timer, bool registered) {
  OwnedLane* lane = registered ? parts_.lanes.mine(mailbox) : nullptr;
  if (lane != nullptr && ++timers_held_[timer] <= limits::timer_holds_max) {
    serve(*lane, mailbox);
    return true;
  }
  timers_held_.erase(timer);
  return false;
}

bool Mailboxes::may_be_damaged(const store::Operation& operation) const {
  const auto* deliver = std::get_if<store::Deliver>(&operation);
  return !damaged_.empty() && deliver != nullptr && std::holds_alternative<core::MailboxKey>(deliver->envelope.to);
}

void Mailboxes::push_if_readable(store::Operation operation, Ticket ticket) {
  const core::MailboxKey key = std::get<core::MailboxKey>(std::get<store::Deliver>(operation).envelope.to);
  parts_.reads.ask(store::FindMailbox{key}, [this, operation = std::move(operation),
                                             ticket](const store::AnswerTo<store::FindMailbox>& found) mutable {
    if (!found || !*found || !damaged_.contains(**found)) return parts_.outgoing.push(std::move(operation), ticket);
    parts_.reads.ask(
        store::ReadMailboxPage{**found, parts_.options.mailbox_page, parts_.clock.now()},
        [this, run = **found, operation = std::move(operation),
         ticket](const store::AnswerTo<store::ReadMailboxPage>& page) mutable {
          if (page) damaged_.mended(run);
          if (page || page.error().code != ErrorCode::corrupt)
            return parts_.outgoing.push(std::move(operation), ticket);
          parts_.events.answered(
              ticket, Error{ErrorCode::corrupt, format("nobody would read this signal: {}; mend that row, or remove it",
                                                       page.error().detail)});
        });
  });
}

}  // namespace pawl::runtime
