#include "store/postgres/writer.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "store/check_limits.h"
#include "store/postgres/alone.h"
#include "store/postgres/answers.h"
#include "store/postgres/expected.h"
#include "store/postgres/limits.h"
#include "store/postgres/operations.h"
#include "store/postgres/stuck.h"
#include "store/postgres/wants.h"

namespace pawl::store::postgres {

namespace {

const Statement save{"save", "SAVEPOINT one"};
const Statement release_saved{"release_saved", "RELEASE SAVEPOINT one"};
const Statement return_to_saved{"return_to_saved", "ROLLBACK TO SAVEPOINT one"};

}  // namespace

Writer::Writer(Connection& connection, const Parts& parts) : connection_(connection), parts_(parts) {
  desk_.sends_directly = parts.sends_directly;
  desk_.connection = &connection;
}

KnownNumbers::Lanes Writer::own_lanes_of_submits(std::span<const Operation> group) const {
  KnownNumbers::Lanes lanes;
  for (const Operation& operation : group) {
    const auto* submit = std::get_if<Submit>(&operation);
    if (submit == nullptr) continue;
    if (!parts_.own.epoch_of(submit->lane)) return {};
    lanes.insert(submit->lane);
  }
  return lanes;
}

void Writer::trust_numbers(const std::map<core::LaneId, LaneNumbers>& known) {
  for (const auto& [lane, numbers] : known)
    if (const auto epoch = parts_.own.epoch_of(lane)) desk_.known_lanes.emplace(lane, Desk::KnownLane{*epoch, numbers});
}

Result<std::vector<Outcome>> Writer::commit(std::span<const Operation> group) {
  if (group.empty()) return std::vector<Outcome>();
  bool trusts = std::all_of(group.begin(), group.end(), is_plain);
  const KnownNumbers::Lanes lanes = trusts ? own_lanes_of_submits(group) : KnownNumbers::Lanes{};
  const auto known = parts_.numbers.enter(lanes);
  if (known) trust_numbers(*known);
  auto outcomes = try_to_commit(group, trusts);
  using Were = KnownNumbers::Were;
  parts_.numbers.leave(lanes, !known ? Were::read : outcomes && tries_ == 1 ? Were::right : Were::wrong);
  if (outcomes) parts_.numbers.learn(numbers_);
  return outcomes;
}

Result<std::vector<Outcome>> Writer::try_to_commit(std::span<const Operation> group, bool trusts) {
  Care care = Care::together;
  Stopped last;
  for (tries_ = 1; tries_ <= limits::stale_tries; ++tries_) {
    last = apply_group(group, care, std::exchange(trusts, false));
    desk_.known_lanes.clear();
    if (!last) {
      parts_.own.learn(group, outcomes_);
      return std::move(outcomes_);
    }
    undo();
    if (last->locked_out) end_stuck_sessions(connection_, parts_.transaction_idle_max);
    if (last->poison && care == Care::together)
      care = Care::one_by_one;
    else if (!last->stale)
      return last->error;
  }
  return Error{ErrorCode::retry_later,
               format("others moved the same rows {} times: {}", limits::stale_tries, last->error.detail)};
}

Writer::Stop Writer::stop_of(const Failure& failure) const {
  const bool stale = failure.state == stale_state;
  return {error_of(failure), stale, !stale && is_poison(failure), is_lock_timeout(failure)};
}

void Writer::undo() {
  pending_ = Script();
  desk_.forget();
  desk_.failure.reset();
  if (is_open_ && !connection_.is_lost()) connection_.run(rollback_statement);
  is_open_ = false;
}

Writer::Stopped Writer::apply_group(std::span<const Operation> group, Care care, bool trusts) {
  desk_.trusts = trusts;
  outcomes_.assign(group.size(), Outcome{});
  desk_.forget();
  pending_ = Script();
  pending_.add(begin_statement);
  is_open_ = true;
  mark_.reset();
  numbers_.clear();
  first_steps_ = {};
  if (auto stopped = care == Care::together ? apply_together(group) : apply_one_by_one(group)) return stopped;
  return finish(group);
}

// Checks sizes that no store accepts, before any query.
bool Writer::is_refused_at_once(std::span<const Operation> group, std::size_t at) {
  const auto fits = check_limits(group[at]);
  if (!fits) outcomes_[at] = rejected(fits.error().detail);
  return !fits;
}

Writer::Stopped Writer::apply_together(std::span<const Operation> group) {
  std::size_t first = 0;
  while (first < group.size()) {
    if (auto stopped = load(group.subspan(first))) return stopped;
    if (auto stopped = apply_on_desk(group, first)) return stopped;
    if (first == group.size()) return std::nullopt;  // finish() writes the rest
    if (auto stopped = flush()) return stopped;
    for (; first < group.size() && !is_for_desk(group[first]); ++first)
      if (auto stopped = apply_alone_at(group, first)) return stopped;
  }
  return std::nullopt;
}

Writer::Stopped Writer::apply_on_desk(std::span<const Operation> group, std::size_t& first) {
  for (; first < group.size(); ++first) {
    if (is_refused_at_once(group, first)) continue;
    if (!is_for_desk(group[first]) || must_wait(desk_, group[first])) return std::nullopt;
    const auto refusal = first_steps_.refusal_of(group[first]);
    outcomes_[first] = refusal ? conflict(*refusal) : apply(desk_, group[first]);
    first_steps_.applied(group[first], outcomes_[first]);
    if (desk_.failure) return stop_of(*desk_.failure);
    if (desk_.is_betrayed) return Stop{{ErrorCode::retry_later, "a bundle is not plain"}, true, false};
  }
  return std::nullopt;
}

Writer::Stopped Writer::apply_alone_at(std::span<const Operation> group, std::size_t at) {
  if (is_refused_at_once(group, at)) return std::nullopt;
  Alone done = apply_alone(connection_, group[at], desk_.now);
  if (done.failure) return stop_of(*done.failure);
  outcomes_[at] = std::move(done.outcome);
  return std::nullopt;
}

// Applies the operations one after the other, each as if it were alone. Rows are locked in the order of the operations.
// If two such groups wait for each other, the server ends one of them, and it is retried later.
Writer::Stopped Writer::apply_one_by_one(std::span<const Operation> group) {
  for (std::size_t at = 0; at < group.size(); ++at) {
    if (is_refused_at_once(group, at)) continue;
    desk_.forget();
    pending_.add(save);
    Stopped stopped = load(group.subspan(at, 1));
    std::size_t next = at;
    if (!stopped && is_for_desk(group[at]))
      stopped = apply_on_desk(group.first(at + 1), next);
    else if (!stopped)
      stopped = apply_alone_at(group, at);
    if (!stopped) stopped = flush();
    if (!stopped) {
      pending_.add(release_saved);
      continue;
    }
    if (!stopped->poison) return stopped;
    outcomes_[at] = rejected(stopped->error.detail);
    pending_ = Script();
    pending_.add(return_to_saved);
    pending_.add(release_saved);
  }
  desk_.forget();
  return std::nullopt;
}

Writer::Stopped Writer::load(std::span<const Operation> operations) {
  for (const Operation& operation : operations)
    if (check_limits(operation)) want(desk_, operation);
  const auto failed = [&](const Status& taken) { return Stop{taken.error()}; };
  if (desk_.keys_first) {
    Script script = std::move(pending_);
    pending_ = Script();
    desk_.mailboxes.ask_keys(script);
    desk_.keys.ask(script);
    Done done = connection_.run(script);
    if (!done) return stop_of(done.failure());
    if (const auto taken = desk_.mailboxes.take_keys(done); !taken) return failed(taken);
    if (const auto taken = desk_.keys.take(done); !taken) return failed(taken);
    for (const Operation& operation : operations)
      if (check_limits(operation)) want_holders(desk_, operation);
  }
  Script script = std::move(pending_);
  pending_ = Script();
  const std::size_t before = script.size();
  desk_.lanes.ask(script);
  desk_.lanes.ask_numbers(script);
  desk_.jobs.ask(script);
  desk_.mailboxes.ask(script);
  desk_.outbox.ask(script);
  desk_.keys.ask(script);
  desk_.activities.ask(script);
  desk_.work.ask(script);
  desk_.inbox.ask(script);
  desk_.signal_ids.ask(script);
  if (desk_.trusts && script.size() == before) {  // nothing is read: these statements are sent with the writes
    pending_ = std::move(script);
    desk_.now = parts_.clock.now();
    return std::nullopt;
  }
  const auto clock_at = parts_.clock.ask(script);
  Done done = connection_.run(script);
  if (!done) return stop_of(done.failure());
  desk_.now = parts_.clock.take(done, clock_at);
  if (!mark_) mark_ = mark_in(done[clock_at], ServerClock::mark_column, connection_);
  for (const Status& taken : {desk_.lanes.take(done), desk_.jobs.take(done), desk_.mailboxes.take(done),
                              desk_.outbox.take(done), desk_.keys.take(done), desk_.activities.take(done),
                              desk_.work.take(done), desk_.inbox.take(done), desk_.signal_ids.take(done)})
    if (!taken) return failed(taken);
  return std::nullopt;
}

// Writes inside of the transaction, so that later operations read the new rows.
Writer::Stopped Writer::flush() {
  Script script = std::move(pending_);
  pending_ = Script();
  desk_.write(script);
  for (const auto& [lane, numbers] : desk_.lanes.numbers()) numbers_.insert_or_assign(lane, numbers);
  const Instant now = desk_.now;
  desk_.forget();
  desk_.now = now;
  if (script.empty()) return std::nullopt;
  Done done = connection_.run(script);
  if (!done) return stop_of(done.failure());
  return std::nullopt;
}

Writer::Stopped Writer::finish(std::span<const Operation> group) {
  Script script = std::move(pending_);
  pending_ = Script();
  desk_.write(script);
  const Change told = parts_.own.told_to_others(
      group, outcomes_, [this](core::LaneId lane, core::Epoch epoch) { return desk_.lanes.guards(lane, epoch); });
  for (const auto& [lane, numbers] : desk_.lanes.numbers()) numbers_.insert_or_assign(lane, numbers);
  desk_.forget();
  if (!told.empty()) parts_.bell.ring(script, told);
  const auto mark_at = mark_ ? std::nullopt : std::optional(script.add(read_commit_mark));
  const std::size_t commit_at = script.add(commit_statement);
  Done done = connection_.run(script);
  if (done) {
    is_open_ = false;
    // The server stopped waiting for its standby: the commit is done here and may be on no other server.
    if (!connection_.warning().empty())
      return Stop{{ErrorCode::outcome_unknown, "PostgreSQL warned: " + connection_.warning()}};
    if (mark_at && done[*mark_at].next()) mark_ = mark_in(done[*mark_at], 0, connection_);
    if (mark_) parts_.tail.acknowledged(*mark_);
    return std::nullopt;
  }
  const Failure& failure = done.failure();
  if (failure.kind == Failure::Kind::lost)
    return Stop{{ErrorCode::outcome_unknown, error_of(failure).detail + " while it committed"}};
  // The session ended in the middle of COMMIT.
  if (failure.at == commit_at && connection_.is_lost())
    return Stop{{ErrorCode::outcome_unknown, error_of(failure).detail}};
  return stop_of(failure);
}

}  // namespace pawl::store::postgres
