#include "store/conformance/history.h"

#include <algorithm>

namespace pawl::store {

namespace {

constexpr std::size_t recent_max = 8;
constexpr std::size_t runs_max = 12;
constexpr Duration lease = std::chrono::seconds(10);

bool is_acquire(const Operation& operation) {
  return std::holds_alternative<AcquireLane>(operation);
}

}  // namespace

History::History(Store& store, ManualClock& clock, core::LaneId first_lane, HistoryOptions options)
    : store_(store), clock_(clock), random_(options.seed), options_(std::move(options)) {
  for (std::uint32_t i = 0; i < 2; ++i) {
    const core::LaneId id(first_lane.raw() + i);
    lanes_.push_back({id, store_.read_lane(id)->epoch});
  }
}

core::Message History::draw_message() {
  const core::ActivitySeq activity(static_cast<std::uint32_t>(random_.below(3)));
  switch (random_.below(3)) {
    case 0:
      return {draw_guid(), core::Start{Payload(format("start {}", random_.below(100)))}};
    case 1:
      return {draw_guid(), core::Resume{activity, draw_guid(), Payload()}};
    default:
      return {draw_guid(), core::Transition{1, {}, activity, Payload("t")}};
  }
}

core::Write History::draw_write(const StoredJob& job, core::Bundle& bundle) {
  auto& head = std::get<core::JobHead>(bundle.head);
  const core::JobState& state = job.state;
  const bool wrong = random_.one_in(12);  // a before-value that does not hold
  switch (random_.below(9)) {
    case 0: {  // a new activity
      core::Activity after;
      after.seq = core::ActivitySeq(head.next_activity);
      after.node = head.next_activity;
      after.ledger = *ledger::ActivityLedger::decode(1'100'000'000'000);
      head.next_activity += 1;
      return core::PutActivity{std::nullopt, after};
    }
    case 1: {  // a ledger that moves on
      const core::MessageRecord fresh{draw_guid(), core::ActivitySeq(0),
                                      *ledger::MessageLedger::decode(1)};
      const core::MessageRecord* known = state.find_message(fresh.guid);
      if (known == nullptr)
        return core::PutRecord{wrong ? std::optional(fresh.ledger) : std::nullopt, fresh};
      core::MessageRecord after = *known;
      if (const auto marked = after.ledger.with(ledger::MessageLedger::Step::work))
        after.ledger = *marked;
      return core::PutRecord{wrong ? fresh.ledger : known->ledger, after};
    }
    case 2:
      return core::PutMessage{draw_message()};
    case 3: {
      if (job.inbox.empty()) return core::Consume{draw_guid()};
      const core::InboxMessage& one = job.inbox[random_.below(job.inbox.size())];
      return core::CountRedelivery{one.message.guid, one.redeliveries + (wrong ? 1 : 0)};
    }
    case 4: {
      if (job.inbox.empty()) return core::Consume{draw_guid()};
      return core::Consume{job.inbox[random_.below(job.inbox.size())].message.guid};
    }
    case 5:
    case 6: {
      core::WorkItem item;
      item.run = bundle.entity;
      item.activity = core::ActivitySeq(static_cast<std::uint32_t>(random_.below(4)));
      if (const core::WorkItem* known = state.find_work(item.activity))
        return core::DropWork{item.activity, wrong ? core::WorkToken(3) : known->token};
      item.topic = Topic(random_.one_in(2) ? "red" : "blue");
      item.request = core::Guid{item.activity.raw(), 7};
      item.input = Payload(format("work {}", random_.below(100)));
      return core::PutWork{item};
    }
    case 7: {
      if (random_.one_in(4))
        return core::Sweep{job.inbox.empty() ? std::nullopt
                                             : std::optional(job.inbox[0].message.guid)};
      return core::Consume{draw_guid()};
    }
    default: {
      const std::int64_t delta =
          static_cast<std::int64_t>(random_.below(3)) - (state.job.semaphore > 1 ? 1 : 0);
      if (!head.semaphore)
        head.semaphore =
            core::SemaphoreStep{state.job.semaphore, delta, 0, state.job.semaphore + delta == 0};
      if (wrong) head.semaphore->before += 1;
      return core::Consume{draw_guid()};
    }
  }
}

core::Bundle History::draw_bundle() {
  if (!recent_.empty() && random_.one_in(6)) return recent_[random_.below(recent_.size())];
  const RunId run = runs_[draw_run()];
  const StoredJob job = **store_.read_job(run);
  const core::JobRow& row = job.state.job;
  core::JobHead head;
  head.status = row.status;
  head.completions_before = row.completions;
  head.completions = row.completions;
  head.next_activity = row.next_activity;
  head.closed_at = row.closed_at;
  core::Bundle bundle;
  bundle.entity = run;
  bundle.rev_before = random_.one_in(20) ? core::next(row.rev) : row.rev;
  bundle.id = core::BundleId(next_bundle_++);
  bundle.epoch = lanes_[core::lane_of(run) == lanes_[0].id ? 0 : 1].epoch;
  if (random_.one_in(15)) bundle.epoch = core::next(bundle.epoch);
  if (random_.one_in(30) && row.status == core::JobStatus::running)
    head.status = core::JobStatus::parked;
  else if (random_.one_in(40) && !core::is_closed(row.status))
    head.status = core::JobStatus::failed;
  bundle.head = std::move(head);
  const std::uint64_t count = random_.below(4);
  std::vector<std::size_t> kinds;
  for (std::uint64_t i = 0; i < count; ++i) {
    core::Write write = draw_write(job, bundle);
    // One write per row: a second of the same kind might name the same one, and so might a count and an ack.
    const bool acks = std::holds_alternative<core::Consume>(write);
    const std::size_t kind = acks ? core::Write(core::CountRedelivery{}).index() : write.index();
    const bool again = std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    if (again && !std::holds_alternative<core::PutActivity>(write)) continue;
    kinds.push_back(kind);
    bundle.writes.push_back(std::move(write));
  }
  recent_.push_back(bundle);
  if (recent_.size() > recent_max) recent_.pop_front();
  return bundle;
}

Operation History::draw() {
  const Namespace name_space(options_.name_space);
  if (runs_.empty() || (runs_.size() < runs_max && random_.one_in(20)) || random_.one_in(100)) {
    const std::string id = format("job-{}", random_.below(runs_max));
    const core::LaneId lane = lanes_[random_.below(2)].id;
    return Submit{name_space, JobId(id), lane, {GraphName("g"), 1, 1}, Payload(id), clock_.now()};
  }
  const std::uint64_t what = random_.below(20);
  if (what < 8) return draw_bundle();
  if (what < 11) {
    Deliver deliver;
    deliver.envelope.message = draw_message();
    deliver.envelope.to = runs_[draw_run()];
    if (random_.one_in(4))
      deliver.source = Deliver::Source{lanes_[0].id, next_source_ + random_.below(3) - 1};
    return deliver;
  }
  if (what < 14) {
    return ClaimWork{
        {Topic("red"), Topic(random_.one_in(2) ? "blue" : "none")}, random_.below(3), "w", lease};
  }
  if (what < 18 && !claimed_.empty()) {
    const core::WorkItem& item = claimed_[random_.below(claimed_.size())];
    switch (random_.below(4)) {
      case 0:
        return ExtendWork{item.run, item.activity, item.token, lease};
      case 1:
        return ReleaseWork{item.run, item.activity, item.token};
      case 2: {
        const core::Epoch epoch = lanes_[core::lane_of(item.run) == lanes_[0].id ? 0 : 1].epoch;
        return ClaimItem{item.run, item.activity, item.token, "local", epoch};
      }
      default: {
        core::Response response;
        response.activity = item.activity;
        response.token = item.token;
        response.status =
            random_.one_in(3) ? core::ReplyStatus::pending : core::ReplyStatus::success;
        const core::Guid guid{
            item.request.high,
            1000 + item.runs * 2 + (response.status == core::ReplyStatus::pending ? 1 : 0)};
        return Respond{item.run, item.activity, item.token, {guid, response}};
      }
    }
  }
  Lane& lane = lanes_[random_.below(2)];
  if (!options_.moves_lanes) return RenewLane{lane.id, lane.epoch, lease};
  switch (random_.below(4)) {
    case 0:
      return AcquireLane{lane.id, random_.one_in(2) ? "engine-a" : "engine-b", lease};
    case 1:
      return ReleaseLane{lane.id, lane.epoch};
    default:
      return RenewLane{lane.id, lane.epoch, lease};
  }
}

std::string History::name_of_run(RunId run) const {
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (runs_[i] == run) return format("#{}", i);
  return run == RunId(0) ? "-" : "?";
}

std::string History::describe(const core::WorkItem& item) const {
  return format("{}/{} {} token {} {} epoch {} until {} runs {} {}", name_of_run(item.run),
                item.activity.raw(), item.topic.raw(), item.token.raw(), item.worker,
                item.epoch.raw(), item.lease_until.micros(), item.runs, item.input.view());
}

std::string History::describe(const Outcome& outcome) const {
  std::string text = format("{} {} {}", pawl::store::name_of(outcome.kind),
                            name_of_run(outcome.run), outcome.epoch.raw());
  for (const core::WorkItem& item : outcome.items) text += "; " + describe(item);
  return text;
}

std::string History::step() {
  if (random_.one_in(10)) clock_.advance(Duration(random_.below(4'000'000)));
  const Operation operation = draw();
  const auto outcomes = store_.commit(std::span(&operation, 1));
  if (!outcomes) return to_string(outcomes.error());
  const Outcome& outcome = outcomes->front();
  const auto* submit = std::get_if<Submit>(&operation);
  if (submit != nullptr && outcome.kind == OutcomeKind::committed) {
    runs_.push_back(outcome.run);
    ids_.push_back(submit->id.raw());
  }
  for (const core::WorkItem& item : outcome.items) claimed_.push_back(item);
  if (claimed_.size() > 10) claimed_.erase(claimed_.begin());
  if (is_acquire(operation) && outcome.kind == OutcomeKind::committed)
    for (Lane& lane : lanes_)
      if (lane.id == std::get<AcquireLane>(operation).lane) lane.epoch = outcome.epoch;
  const auto* deliver = std::get_if<Deliver>(&operation);
  if (deliver != nullptr && deliver->source && outcome.done() &&
      deliver->source->seq == next_source_)
    ++next_source_;
  return format("op {} -> {}", operation.index(), describe(outcome));
}

std::string History::describe(const std::vector<core::InboxMessage>& inbox) const {
  std::string text;
  for (const core::InboxMessage& one : inbox) {
    // A start message's guid is made of the run, which is the store's own.
    const bool start = one.message.guid.low > 1'000'000;
    text += format(" [{} kind {} x{}]", start ? "start" : one.message.guid.text(),
                   one.message.body.index(), one.redeliveries);
  }
  return text;
}

std::string History::read_back() {
  std::string text;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const auto job = store_.read_job(runs_[i]);
    if (!job || !*job) return format("job {} is gone", i);
    const core::JobState& state = (*job)->state;
    const core::JobRow& row = state.job;
    text +=
        format("\n#{} {} rev {} bundle {} {} semaphore {} next {}", i, row.id.raw(), row.rev.raw(),
               row.bundle.raw(), core::name_of(row.status), row.semaphore, row.next_activity);
    for (const core::Activity& one : state.activities())
      text += format(" a{}={}", one.seq.raw(), one.ledger.digits());
    for (std::uint64_t number = 0; number < 12; ++number)
      if (const auto* record = state.find_message({number, 1}))
        text += format(" m{}={}", number, record->ledger.digits());
    for (std::uint32_t seq = 0; seq < 4; ++seq)
      if (const auto* item = state.find_work(core::ActivitySeq(seq)))
        text += " w: " + describe(*item);
    text += describe((*job)->inbox);
    const auto found = store_.find_run(Namespace(options_.name_space), JobId(ids_[i]));
    if (!found || *found != runs_[i]) text += " NOT FOUND";
  }
  for (const Lane& lane : lanes_) {
    const auto info = store_.read_lane(lane.id);
    text += format("\nlane {} {} waiting", info->epoch.raw(), info->owner);
    const auto waiting = store_.read_waiting(lane.id, RunId(0), 1000);
    for (const Waiting& row : *waiting) text += " " + name_of_run(row.run);
    const auto work = store_.read_work(lane.id, {}, 1000);
    for (const core::WorkItem& item : *work) text += " " + describe(item);
  }
  return text;
}

}  // namespace pawl::store
