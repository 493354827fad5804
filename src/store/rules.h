// What an operation means to the row it is asked of: written once, for every store.
#pragma once

#include <string>

#include <cstddef>
#include <optional>

#include "base/format.h"
#include "base/limits.h"
#include "core/job_state.h"
#include "store/operation.h"

namespace pawl::store {

// Who holds an id, as far as a Submit cares.
struct KeyHolder {
  bool open = false;  // its job is there and not closed
  bool over = false;  // its job is gone, and so is the key's time
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

// A child begins as any job does. Its id is its parent's choice: one that is taken, by whomever, is refused.
inline Submit submit_of(const core::StartChild& start, const core::JobKey& key, core::LaneId lane, Instant now) {
  Submit submit{key.name_space, key.id, lane, start.graph, start.input, now};
  submit.priority = start.priority;
  submit.secret = start.secret;
  return submit;
}
// Whether the job that has the id was made by this very message, which came once more.
inline bool made_by(const core::StartChild& start, const std::optional<core::ParentLink>& parent) {
  return parent && parent->request == start.parent.request;
}
// Whether a send must name a lane: a key does not say where it belongs. Asked whether or not somebody has the key: a
// bundle must not be good or bad by what another one did meanwhile.
inline bool is_by_key(const core::Envelope& envelope) { return !std::holds_alternative<RunId>(envelope.to); }

// Whether the lane remembers that this was delivered.
inline bool is_remembered(const Deliver& deliver) {
  return deliver.remembered && !deliver.source && std::holds_alternative<core::MailboxKey>(deliver.envelope.to) &&
         std::holds_alternative<core::Signal>(deliver.envelope.message.body);
}
inline constexpr std::size_t signal_ids_per_drop = 2;  // with each new one: they go faster than they come

inline std::string no_row(const DropOutbox& drop) {
  return format("lane {} never sent a row {} to lane {}", drop.lane.raw(), drop.up_to, drop.target.raw());
}

// Of a mailbox's bundle: a mailbox goes when nothing is left in it, so that it is missing is a race.
inline std::string no_mailbox(RunId run) { return format("there is no mailbox {}", run.raw()); }

// Why a mailbox that holds so much takes no other signal of this size. None: it does.
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
// What was sent by a job and refused: nobody waits for the answer, and what comes behind it goes on.
inline void pass_over(Outcome& outcome) {
  if (outcome.kind == OutcomeKind::over_limit) outcome.kind = OutcomeKind::committed;
}

// An error was answered: the item is the job's, until it decides.
inline void await_decision(core::WorkItem& item) {
  item.epoch = core::Epoch(0);
  item.lease_until = Respond::until_decided;
}
inline bool awaits_decision(const core::WorkItem& item) { return item.lease_until == Respond::until_decided; }

inline void extend(core::WorkItem& item, const ExtendWork& by, Instant now) {
  const bool detaches = by.detach && item.epoch != core::Epoch(0);
  if (by.detach) item.epoch = core::Epoch(0);
  if (by.progress) item.life.progress = *by.progress;
  if (item.epoch != core::Epoch(0)) return;  // its process keeps its clocks
  item.lease_until = now + by.lease;
  if (item.life.heartbeat_timeout.count() != 0) item.life.heartbeat_by = now + item.life.heartbeat_timeout;
  if (detaches && item.life.attempt_timeout.count() != 0)
    item.life.attempt_by = now + by.attempt_left.value_or(item.life.attempt_timeout);
}

// Whether the item is the giver's to give back. A local claim's lane is guarded beside this.
inline bool may_release(const core::WorkItem& item, const ReleaseWork& release) {
  return (item.epoch == core::Epoch(0)) == (release.epoch == core::Epoch(0)) && !awaits_decision(item);
}

}  // namespace pawl::store
