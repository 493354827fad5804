#include <algorithm>

#include "store/domain.h"
#include "store/redis/spanning_test.h"

namespace pawl::store::redis {

namespace {

bool is_claimable(const core::WorkItem& item, Instant now) {
  if (item.held) return false;
  if (item.token == core::WorkToken(0)) return item.visible_at <= now;
  return item.epoch == core::Epoch(0) && !item.life.at_most_once && std::max(item.lease_until, item.visible_at) <= now;
}

}  // namespace

std::vector<core::LaneId> SpanningStore::lanes() {
  std::vector<core::LaneId> all;
  if (const auto ends = islands_->read_lane_ends())
    for (const LaneEnd& end : *ends) all.push_back(end.lane);
  return all;
}

Result<std::vector<Outcome>> SpanningStore::commit(std::span<const Operation> group) {
  std::vector<Outcome> outcomes;
  std::size_t next = 0;
  while (next < group.size()) {
    std::size_t end = next;
    while (end < group.size() && domain_of(group[end]).kind != Domain::Kind::all_lanes) ++end;
    if (end > next) {
      std::vector<Operation> some_operations;
      for (std::size_t i = next; i < end; ++i) some_operations.push_back(at_home(group[i]));
      auto some = islands_->commit(some_operations);
      if (!some) return some.error();
      for (std::size_t i = next; i < end; ++i) note(group[i], (*some)[i - next]);
      std::move(some->begin(), some->end(), std::back_inserter(outcomes));
      next = end;
      continue;
    }
    const Operation& spanning = group[next++];
    auto outcome = std::holds_alternative<ClaimWork>(spanning)    ? run(std::get<ClaimWork>(spanning))
                   : std::holds_alternative<PauseTopic>(spanning) ? run(std::get<PauseTopic>(spanning))
                                                                  : run(std::get<DropKeys>(spanning));
    if (!outcome) return outcome.error();
    outcomes.push_back(std::move(*outcome));
  }
  return outcomes;
}

template <class Key>
core::LaneId SpanningStore::home_of(const Key& key, core::LaneId said) {
  constexpr bool is_job = std::is_same_v<Key, core::JobKey>;
  auto& homes = [this]() -> auto& {
    if constexpr (is_job)
      return job_homes_;
    else
      return mailbox_homes_;
  }
  ();
  const auto [home, is_new] = homes.try_emplace(key, said);
  if (is_new || home->second == said || !islands_->read_lane(said)) return said;
  std::optional<RunId> holder;
  if constexpr (is_job)
    holder = *islands_->find_run(key.name_space, key.id);
  else
    holder = *islands_->find_mailbox(key);
  home->second = holder ? core::lane_of(*holder) : said;
  return home->second;
}

Operation SpanningStore::at_home(Operation operation) {
  if (auto* submit = std::get_if<Submit>(&operation))
    submit->lane = home_of(core::JobKey{submit->name_space, submit->id}, submit->lane);
  if (auto* deliver = std::get_if<Deliver>(&operation)) {
    if (const auto* key = std::get_if<core::JobKey>(&deliver->envelope.to))
      deliver->lane = home_of(*key, deliver->lane);
    if (const auto* key = std::get_if<core::MailboxKey>(&deliver->envelope.to))
      deliver->lane = home_of(*key, deliver->lane);
  }
  return operation;
}

Result<Outcome> SpanningStore::commit_one(Operation operation) {
  auto outcomes = islands_->commit({&operation, 1});
  if (!outcomes) return outcomes.error();
  return std::move(outcomes->front());
}

void SpanningStore::forget(RunId run) {
  std::erase_if(numbers_, [&](const auto& row) { return row.first.first == run; });
}

void SpanningStore::note(const Operation& operation, const Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  if (const auto* remove = std::get_if<RemoveJob>(&operation)) forget(remove->run);
  if (const auto* delivery = std::get_if<DeliverReply>(&operation)) {
    const auto* reply = std::get_if<core::Reply>(&delivery->message.body);
    if (reply != nullptr && reply->status == core::ReplyStatus::success)
      numbers_.erase({delivery->run, delivery->activity});
  }
  const auto* bundle = std::get_if<core::Bundle>(&operation);
  if (bundle == nullptr) return;
  for (const core::Write& write : bundle->writes) {
    if (const auto* put = std::get_if<core::PutWork>(&write)) {
      if (numbers_.try_emplace({bundle->entity, put->item.activity}, next_).second) ++next_;
    } else if (const auto* drop = std::get_if<core::DropWork>(&write)) {
      numbers_.erase({bundle->entity, drop->activity});
    } else if (std::holds_alternative<core::Sweep>(write)) {
      forget(bundle->entity);
    } else if (const auto* activity = std::get_if<core::PutActivity>(&write)) {
      if (activity->after.ledger.has(ledger::ActivityLedger::Mark::work_done))
        numbers_.erase({bundle->entity, activity->after.seq});
    }
  }
}

// How many of the first items are in each lane: this many are claimed there, and they must be those items.
Result<Outcome> SpanningStore::run(const ClaimWork& claim) {
  struct Place {
    std::int64_t before;
    std::uint64_t number;
    RunId run{0};
    core::ActivitySeq activity{0};
    auto operator<=>(const Place&) const = default;
  };
  std::vector<core::LaneId> busy;
  for (const core::LaneId lane : lanes()) {
    const auto first = islands_->read_work_places(lane, {}, 1);
    if (!first) return first.error();
    if (!first->empty()) busy.push_back(lane);
  }
  if (busy.size() == 1) {  // then the order of that lane is the whole order
    ClaimWork one = claim;
    one.lane = busy.front();
    return commit_one(one);
  }
  std::vector<Place> line;
  const Instant now = islands_->now();
  const std::set<Topic> topics(claim.topics.begin(), claim.topics.end());
  const auto paused = islands_->read_paused_topics();
  if (!paused) return paused.error();
  for (const core::LaneId lane : busy) {
    WorkCursor after;
    for (;;) {
      const auto page = islands_->read_work(lane, after, 1000);
      if (!page) return page.error();
      if (page->empty()) break;
      for (const core::WorkItem& item : *page) {
        after = {item.run, item.activity};
        const bool is_paused = std::find(paused->begin(), paused->end(), item.topic) != paused->end();
        if (topics.contains(item.topic) && !is_paused && is_claimable(item, now))
          line.push_back({-std::int64_t{item.priority}, numbers_[{item.run, item.activity}], item.run, item.activity});
      }
    }
  }
  std::sort(line.begin(), line.end());
  if (line.size() > claim.items_max)
    line.erase(line.begin() + static_cast<std::ptrdiff_t>(claim.items_max), line.end());
  std::map<core::LaneId, std::size_t> counts;
  for (const Place& place : line) ++counts[core::lane_of(place.run)];
  std::map<WorkKey, core::WorkItem> claimed;
  for (const auto& [lane, count] : counts) {
    ClaimWork one = claim;
    one.lane = lane;
    one.items_max = count;
    auto outcome = commit_one(one);
    if (!outcome) return outcome.error();
    for (const core::WorkItem& item : outcome->items()) claimed.emplace(WorkKey(item.run, item.activity), item);
  }
  answer::Items items;
  for (const Place& place : line) {
    const auto found = claimed.find({place.run, place.activity});
    if (found == claimed.end()) return Error{ErrorCode::corrupt, "a lane handed out another item than its first"};
    items.items.push_back(found->second);
  }
  Outcome outcome;
  outcome.answer = std::move(items);
  return outcome;
}

Result<Outcome> SpanningStore::run(const PauseTopic& pause) {
  Outcome all;
  all.kind = OutcomeKind::already_done;
  for (const core::LaneId lane : lanes()) {
    PauseTopic one = pause;
    one.lane = lane;
    auto outcome = commit_one(one);
    if (!outcome) return outcome.error();
    if (!outcome->done()) return std::move(*outcome);
    if (outcome->kind == OutcomeKind::committed) all.kind = OutcomeKind::committed;
  }
  return all;
}

// The oldest keys over all lanes: how many of them each lane has.
Result<Outcome> SpanningStore::run(const DropKeys& drop) {
  std::vector<std::pair<Instant, RunId>> keys;
  for (const core::LaneId lane : lanes()) {
    std::optional<Due> after;
    for (;;) {
      const auto page = islands_->read_due(lane, after, 1000);
      if (!page) return page.error();
      if (page->empty()) break;
      for (const Due& due : *page)
        if (due.kind == Due::Kind::key && due.at <= drop.up_to) keys.emplace_back(due.at, due.run);
      after = page->back();
    }
  }
  std::sort(keys.begin(), keys.end());
  if (keys.size() > drop.rows_max) keys.erase(keys.begin() + static_cast<std::ptrdiff_t>(drop.rows_max), keys.end());
  std::map<core::LaneId, std::size_t> counts;
  for (const auto& [at, run] : keys) ++counts[core::lane_of(run)];
  for (const auto& [lane, count] : counts) {
    const auto outcome = commit_one(DropKeys{drop.up_to, count, lane});
    if (!outcome) return outcome.error();
  }
  return Outcome{};
}

}  // namespace pawl::store::redis
