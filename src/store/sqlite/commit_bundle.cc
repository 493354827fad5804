// Bundles of jobs: the compound step first, then the writes in their order.
#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "core/codec.h"
#include "ledger/semaphore.h"
#include "store/rules.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

namespace {

Applied after_write(Applied applied) {
  applied.wrote = true;
  return applied;
}

// New instances are numbered without gaps from the stored next_activity on. The number of new ones,
// or none when they are out of turn.
std::optional<std::uint32_t> count_new(const core::Bundle& bundle, std::uint32_t next_after) {
  std::uint32_t count = 0;
  for (const core::Write& write : bundle.writes)
    if (const auto* put = std::get_if<core::PutActivity>(&write); put != nullptr && !put->before)
      ++count;
  if (count > next_after) return std::nullopt;
  std::uint32_t next = next_after - count;
  for (const core::Write& write : bundle.writes)
    if (const auto* put = std::get_if<core::PutActivity>(&write); put != nullptr && !put->before)
      if (put->after.seq.raw() != next++) return std::nullopt;
  return count;
}

enum class Of : std::uint8_t { job, mailbox, both };
constexpr Of write_of(const core::PutEntry&) { return Of::mailbox; }
constexpr Of write_of(const core::DropEntry&) { return Of::mailbox; }
constexpr Of write_of(const core::OfferEntry&) { return Of::mailbox; }
constexpr Of write_of(const core::PutMessage&) { return Of::both; }
constexpr Of write_of(const core::CountRedelivery&) { return Of::both; }
constexpr Of write_of(const core::Consume&) { return Of::both; }
constexpr Of write_of(const core::Send&) { return Of::both; }
template <class Write>
constexpr Of write_of(const Write&) {
  return Of::job;
}

// The activity whose row a write goes to, if it does.
std::optional<std::uint32_t> row_of(const core::Write& write) {
  if (const auto* put = std::get_if<core::PutActivity>(&write)) return put->after.seq.raw();
  if (const auto* put = std::get_if<core::PutRecord>(&write)) return put->after.activity.raw();
  if (const auto* put = std::get_if<core::PutWork>(&write)) return put->item.activity.raw();
  if (const auto* drop = std::get_if<core::DropWork>(&write)) return drop->activity.raw();
  if (const auto* change = std::get_if<core::ChangeWork>(&write)) return change->activity.raw();
  return std::nullopt;
}

// What concerns all items that stand before it and none that come after.
bool is_for_all(const core::Write& write) {
  return std::holds_alternative<core::Sweep>(write) || std::holds_alternative<core::HoldWork>(write);
}

}  // namespace

Applied Writer::apply(const core::Bundle& bundle) {
  Applied guarded = guard(core::lane_of(bundle.entity), bundle.epoch);
  if (!is_done(guarded)) return guarded;
  const auto* job = std::get_if<core::JobHead>(&bundle.head);
  Applied head = job != nullptr ? apply_head(bundle, *job)
                                : apply_head(bundle, std::get<core::MailboxHead>(bundle.head));
  if (head.code != SQLITE_OK || head.outcome.kind != OutcomeKind::committed) return head;
  const Of foreign = is_mailbox(bundle) ? Of::job : Of::mailbox;
  for (const core::Write& write : bundle.writes)
    if (std::visit([&](const auto& one) { return write_of(one) == foreign; }, write))
      return after_write(contradicts(foreign == Of::job ? "a job's write in a mailbox bundle"
                                                    : "a mailbox write in a job's bundle"));
  // Tokens are guards on what stood before the bundle: a sweep must not take an item from under them, and a
  // race comes before corruption. Mostly the statements' own guards do; only a group in doubt pays a read.
  const auto moves = [](const core::Write& write) {
    return is_for_all(write) || std::holds_alternative<core::ChangeWork>(write);
  };
  tokens_checked_ = in_doubt_ || std::any_of(bundle.writes.begin(), bundle.writes.end(), moves);
  if (tokens_checked_) {
    Applied stale = check_tokens(bundle);
    if (!is_done(stale)) return after_write(std::move(stale));
  }
  // The rows of activities first, each put together from what the bundle says of it; then the rest, in
  // its order, up to what concerns all items so far.
  for (std::size_t first = 0; first < bundle.writes.size();) {
    std::size_t end = first;
    while (end < bundle.writes.size() && !is_for_all(bundle.writes[end])) ++end;
    Applied rows = apply_rows(bundle, first, end);
    if (!is_done(rows)) return after_write(std::move(rows));
    for (; first < bundle.writes.size() && first <= end; ++first) {
      if (row_of(bundle.writes[first])) continue;
      Applied applied =
          std::visit([&](const auto& one) { return apply_write(bundle, one); }, bundle.writes[first]);
      if (!is_done(applied)) return after_write(std::move(applied));
      if (applied.outcome.run != RunId(0)) head.outcome.reached.push_back(applied.outcome.run);
      if (!applied.outcome.reason.empty()) head.outcome.reason = std::move(applied.outcome.reason);
    }
  }
  if (job == nullptr && sql_.drop_empty_mailbox.run(bundle.entity) == Statement::failed)
    return failed(sql_.drop_empty_mailbox);
  return head;
}

Applied Writer::apply_head(const core::Bundle& bundle, const core::JobHead& head) {
  const auto fresh = count_new(bundle, head.next_activity);
  if (!fresh) return refused_head(bundle, head);
  std::optional<std::int64_t> before;
  core::SemaphoreStep step;
  if (head.semaphore) {
    step = *head.semaphore;
    before = step.before;
  }
  const std::uint32_t next_before = head.next_activity - *fresh;
  const bool runs_on = head.status == core::JobStatus::running && head.closed_at == Instant() &&
                       head.remove_at == Instant() && !head.result && !head.reason;
  int changed = 0;
  if (runs_on && head.data) {
    changed = sql_.share_data.run(bundle.entity, bundle.rev_before, bundle.id,
                                  head.completions_before, before, step.delta, step.hit,
                                  head.completions, head.next_activity, step.threshold, next_before,
                                  head.redrives, head.code, *head.data);
    if (changed == Statement::failed) return failed(sql_.share_data);
  } else if (runs_on) {
    changed = sql_.step_job.run(bundle.entity, bundle.rev_before, bundle.id,
                                head.completions_before, before, step.delta, step.hit,
                                head.completions, head.next_activity, step.threshold, next_before,
                                head.redrives, head.code);
    if (changed == Statement::failed) return failed(sql_.step_job);
  }
  if (changed == 0) {
    changed = sql_.put_job.run(
        bundle.entity, bundle.rev_before, bundle.id, head.completions_before, before, step.delta,
        step.hit, head.completions, head.next_activity, step.threshold, next_before, head.status,
        head.closed_at, head.result.has_value(), head.result.value_or(Payload()), head.reason,
        head.remove_at, head.redrives, head.code, head.data.has_value(), head.data.value_or(Payload()));
    if (changed == Statement::failed) return failed(sql_.put_job);
  }
  if (changed == 0) return refused_head(bundle, head);
  return Applied{SQLITE_OK, true, {}};
}

// Nothing was written: reads the row and says which guard did not hold, in the order of their
// meaning.
Applied Writer::refused_head(const core::Bundle& bundle, const core::JobHead& head) {
  core::Rev rev(0);
  {
    Rows rows = sql_.read_guard.query(bundle.entity);
    if (!rows.next()) {
      if (rows.failed()) return Applied{rows.rc(), false, {}};
      return refused_entity(bundle);
    }
    rev = core::Rev(rows.word(0));
    if (rev == core::next(bundle.rev_before) && core::BundleId(rows.word(1)) == bundle.id)
      return refused(OutcomeKind::already_done, "");
    if (rev != bundle.rev_before)
      return refused(OutcomeKind::conflict,
                     format("rev is {}, expected {}", rev.raw(), bundle.rev_before.raw()));
  }
  Applied stale = check_tokens(bundle);
  if (!is_done(stale)) return stale;
  Rows rows = sql_.read_guard.query(bundle.entity);
  if (!rows.next()) return Applied{rows.rc(), false, {}};
  const std::int64_t semaphore = rows.number(2);
  const std::int64_t threshold = rows.number(3);
  const auto status = rows.number(5);
  if (status >= 1 && status <= 3 && status != static_cast<std::int64_t>(head.status))
    return contradicts(format("a {} job would become {}",
                          core::name_of(static_cast<core::JobStatus>(status)),
                          core::name_of(head.status)));
  if (head.semaphore) {
    const core::SemaphoreStep& step = *head.semaphore;
    if (threshold != step.threshold)
      return contradicts(format("threshold is {}, expected {}", threshold, step.threshold));
    if (semaphore != step.before)
      return contradicts(format("semaphore is {}, expected {}", semaphore, step.before));
    const auto stored = ledger::Semaphore::decode(semaphore);
    if (!stored) return contradicts(stored.error().detail);
    const auto stepped = stored->step(step.delta, threshold);
    if (!stepped) return contradicts(stepped.error().detail);
    if (stepped->threshold_hit != step.hit)
      return contradicts(format("semaphore {} + {} {} the threshold {}, the bundle says otherwise",
                            semaphore, step.delta, stepped->threshold_hit ? "hits" : "misses",
                            threshold));
  }
  if (rows.number(4) != head.completions_before)
    return contradicts("completion tasks ran without this bundle's knowledge");
  return contradicts(
      format("the next activity is {}; the bundle's new ones are out of turn", rows.number(6)));
}

// The items that a bundle drops or changes must be held by the tokens it knows.
Applied Writer::check_tokens(const core::Bundle& bundle) {
  const auto check = [&](core::ActivitySeq activity, core::WorkToken token) -> Applied {
    Rows rows = sql_.read_work_item.query(bundle.entity, activity);
    const bool held = rows.next() && core::WorkToken(rows.word(2)) == token;
    if (rows.failed()) return Applied{rows.rc(), false, {}};
    return held ? Applied{} : stale_item(activity);
  };
  for (const core::Write& write : bundle.writes) {
    Applied checked;
    if (const auto* drop = std::get_if<core::DropWork>(&write)) checked = check(drop->activity, drop->token);
    if (const auto* change = std::get_if<core::ChangeWork>(&write)) checked = check(change->activity, change->token);
    if (!is_done(checked)) return checked;
  }
  return {};
}

Applied Writer::apply_write(const core::Bundle& bundle, const core::PutMessage& write) {
  Applied put = put_timed(bundle.entity, write.message, write.due);
  if (put.code != SQLITE_OK) return put;
  return {};  // one that waits already stays as it is
}

Applied Writer::apply_write(const core::Bundle& bundle, const core::CountRedelivery& write) {
  const GuidBytes guid(write.guid);
  const int changed = sql_.count_redelivery.run(bundle.entity, guid, write.before);
  if (changed == Statement::failed) return failed(sql_.count_redelivery);
  if (changed == 1) return {};
  const int timer = sql_.count_timer.run(bundle.entity, guid, write.before);
  if (timer == Statement::failed) return failed(sql_.count_timer);
  if (timer == 1) return {};
  Rows rows = sql_.read_redeliveries.query(bundle.entity, guid);
  // A message that is gone counts nothing: a sweep may have taken it from under an engine.
  if (!rows.next()) return Applied{rows.failed() ? rows.rc() : SQLITE_OK, false, {}};
  return contradicts(format("message {} has {} redeliveries, expected {}", write.guid.text(),
                        rows.number(0), write.before));
}

Applied Writer::apply_write(const core::Bundle& bundle, const core::Consume& write) {
  const GuidBytes guid(write.guid);
  const int dropped = sql_.consume.run(bundle.entity, guid);
  if (dropped == Statement::failed) return failed(sql_.consume);
  if (dropped == 0 && sql_.consume_timer.run(bundle.entity, guid) == Statement::failed)
    return failed(sql_.consume_timer);
  return {};
}

Applied Writer::apply_write(const core::Bundle& bundle, const core::Sweep& write) {
  std::optional<GuidBytes> keep;
  if (write.keep) keep.emplace(*write.keep);
  if (sql_.sweep_inbox.run(bundle.entity, keep) == Statement::failed)
    return failed(sql_.sweep_inbox);
  if (sql_.sweep_timers.run(bundle.entity, keep) == Statement::failed) return failed(sql_.sweep_timers);
  if (sql_.sweep_work.run(bundle.entity) == Statement::failed) return failed(sql_.sweep_work);
  return {};
}

Applied Writer::apply_write(const core::Bundle&, const core::Send& write) {
  if (may_make(write.envelope) && find_lane(write.lane) == nullptr)
    return lane_code_ != SQLITE_OK ? Applied{lane_code_, false, {}} : no_lane(write.lane);
  Applied sent = send(write.envelope, write.lane);
  pass_over(sent.outcome);
  return sent;
}

}  // namespace pawl::store::sqlite
