// What an operation means for its row, written once for every store.
#pragma once

#include <string>

#include <cstddef>
#include <optional>

#include "base/format.h"
#include "base/limits.h"
#include "core/job_state.h"
#include "store/operation.h"

namespace pawl::store {

// The holder of an id, as far as a Submit needs it.
struct KeyHolder {
  bool open = false;  // its job exists and is not closed
  bool over = false;  // its job is gone, and the key's time is over
};
inline bool is_taken(Reuse reuse, const KeyHolder& holder) {
  switch (reuse) {
    case Reuse::never:
      return !holder.over;
    case Reuse::after_close:
      return holder.open;
    case Reuse::replace:
      return false;
  }
  return true;
}

// A submit that follows a run is that run's one successor, however often it is asked for.
inline bool is_outrun(const Submit& submit, RunId holder) {
  return submit.follows != RunId(0) && submit.follows != holder;
}
inline std::string outrun() {
  return "the run that it follows no longer has the id: it was removed, or another run goes on for it";
}

// A child starts like any job. Its parent chooses the id: an id that is taken is refused.
inline Submit submit_of(const core::StartChild& start, const core::JobKey& key, core::LaneId lane, Instant now) {
  Submit submit{key.name_space, key.id, lane, start.graph, start.input, now};
  submit.priority = start.priority;
  submit.secret = start.secret;
  return submit;
}
// Whether this same message, delivered again, created the job that has the id.
inline bool made_by(const core::StartChild& start, const std::optional<core::ParentLink>& parent) {
  return parent && parent->request == start.parent.request;
}
inline std::string not_behind(RunId run) {
  return format("job {} was not submitted right before its first step", run.raw());
}
// A bundle with `with_submit` is decided for the submit right before it. Another job may have got its number.
class FirstSteps {
 public:
  // REQUIRES: the operation is where it was in its group, as for applied(). None: it may be applied.
  std::optional<std::string> refusal_of(const Operation& operation) {
    // A group may be applied again: what its submits made the last time does not count.
    if (std::holds_alternative<Submit>(operation)) behind_ = nullptr;
    const auto* bundle = std::get_if<core::Bundle>(&operation);
    if (bundle == nullptr || !bundle->with_submit) return std::nullopt;
    if (&operation == behind_ && bundle->entity == run_) return std::nullopt;
    return not_behind(bundle->entity);
  }
  void applied(const Operation& operation, const Outcome& outcome) {
    if (!std::holds_alternative<Submit>(operation) || outcome.kind != OutcomeKind::committed) return;
    behind_ = &operation + 1;
    run_ = outcome.run();
  }

 private:
  const Operation* behind_ = nullptr;  // the place behind the last submit that made a job,
  RunId run_{0};                       // and the run of that job
};

// Whether a send must name a lane: a key does not contain its lane. It does not matter whether the key is in use:
// whether a bundle is valid must not depend on what another bundle did meanwhile.
inline bool is_by_key(const core::Envelope& envelope) { return !std::holds_alternative<RunId>(envelope.to); }

// Whether the lane remembers this delivery.
inline bool is_remembered(const Deliver& deliver) {
  return deliver.remembered && !deliver.source && std::holds_alternative<core::MailboxKey>(deliver.envelope.to) &&
         std::holds_alternative<core::Signal>(deliver.envelope.message.body);
}
inline constexpr std::size_t signal_ids_per_drop = 2;  // for each new one: they are deleted faster than they come

inline std::string no_row(const DropOutbox& drop) {
  return format("lane {} never sent a row {} to lane {}", drop.lane.raw(), drop.up_to, drop.target.raw());
}

// For a mailbox's bundle. A mailbox is deleted when nothing is left in it, so a missing one is a race.
inline std::string no_mailbox(RunId run) { return format("there is no mailbox {}", run.raw()); }

// Why a mailbox with this content refuses another signal of this size. None: it takes it.
inline std::optional<std::string> mailbox_full(const core::MailboxKey& key, std::size_t signals, std::size_t bytes,
                                               std::size_t added) {
  const bool many = signals >= limits::early_signals_per_mailbox_max;
  if (!many && bytes + added <= limits::early_signal_bytes_per_mailbox_max) return std::nullopt;
  const std::string limit =
      many ? format("{} signals (early_signals_per_mailbox_max)", limits::early_signals_per_mailbox_max)
           : format("{} bytes (early_signal_bytes_per_mailbox_max)", limits::early_signal_bytes_per_mailbox_max);
  return format(
      "the signal was refused: of topic {} with the key {} there are {} that no hook has taken; signal again "
      "when hooks have taken some, or after {} hours, when the oldest go",
      key.topic.raw(), key.key, limit, limits::early_signal_keep.count());
}
// A job's send was refused: no caller waits for the answer, and the messages behind it go on.
inline void pass_over(Outcome& outcome) {
  if (outcome.kind == OutcomeKind::over_limit) outcome.kind = OutcomeKind::committed;
}

// The reply was an error: the item belongs to the job until the job decides.
inline void await_decision(core::WorkItem& item) {
  item.epoch = core::Epoch(0);
  item.lease_until = DeliverReply::until_decided;
}
inline bool awaits_decision(const core::WorkItem& item) { return item.lease_until == DeliverReply::until_decided; }

inline void extend(core::WorkItem& item, const ExtendWork& by, Instant now) {
  const bool detaches = by.detach && item.epoch != core::Epoch(0);
  if (by.detach) item.epoch = core::Epoch(0);
  if (by.progress) item.life.progress = *by.progress;
  if (item.epoch != core::Epoch(0)) return;  // the owner's process keeps the times of a local claim
  item.lease_until = now + by.lease;
  if (item.life.heartbeat_timeout.count() != 0) item.life.heartbeat_by = now + item.life.heartbeat_timeout;
  if (detaches && item.life.attempt_timeout.count() != 0)
    item.life.attempt_by = now + by.attempt_left.value_or(item.life.attempt_timeout);
}

// Whether this caller may give the item back. For a local claim the caller also guards the lane.
inline bool may_release(const core::WorkItem& item, const ReleaseWork& release) {
  return (item.epoch == core::Epoch(0)) == (release.epoch == core::Epoch(0)) && !awaits_decision(item);
}

}  // namespace pawl::store
