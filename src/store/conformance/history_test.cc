#include "store/conformance/history.h"

#include <algorithm>
#include <set>
#include <utility>

namespace pawl::store {

namespace {

constexpr std::size_t recent_max = 8;
constexpr std::size_t ids_max = 12;
constexpr std::size_t runs_max = 40;
constexpr std::size_t due_page = 3;  // small, so that every page boundary is tested
constexpr Duration lease = std::chrono::seconds(10);

// What two writes of one bundle must not both touch: a row, all counted messages (a sweep deletes them), and the end of
// the queue (the order of two new items of one bundle is not defined).
using Touched = std::pair<std::string, std::uint64_t>;
std::vector<Touched> touched_by(const core::Write& write) {
  const auto message = [](const core::Guid& guid) { return Touched("message", guid.high); };
  const auto work = [](core::ActivitySeq activity) { return Touched("work", activity.raw()); };
  if (const auto* put = std::get_if<core::PutActivity>(&write)) return {{"activity", put->after.seq.raw()}};
  if (const auto* put = std::get_if<core::PutRecord>(&write)) return {{"record", put->after.guid.high}};
  if (const auto* put = std::get_if<core::PutMessage>(&write)) return {message(put->message.guid)};
  if (const auto* count = std::get_if<core::CountRedelivery>(&write)) return {message(count->guid), {"counted", 0}};
  if (const auto* consume = std::get_if<core::Consume>(&write)) return {message(consume->guid)};
  if (const auto* put = std::get_if<core::PutWork>(&write)) return {work(put->item.activity), {"queue", 0}};
  if (const auto* drop = std::get_if<core::DropWork>(&write)) return {work(drop->activity)};
  if (const auto* change = std::get_if<core::ChangeWork>(&write)) return {work(change->activity)};
  if (std::holds_alternative<core::Sweep>(write)) return {{"counted", 0}};
  return {};
}

bool is_acquire(const Operation& operation) { return std::holds_alternative<AcquireLane>(operation); }

}  // namespace

History::History(Store& store, ManualClock& clock, core::LaneId first_lane, HistoryOptions options)
    : store_(store), clock_(clock), random_(options.seed), options_(std::move(options)) {
  for (std::uint32_t i = 0; i < 2; ++i) {
    const core::LaneId id(first_lane.raw() + i);
    lanes_.push_back({id, store_.read_lane(id)->epoch});
  }
}

History::History(Store& store, const History& before)
    : store_(store),
      clock_(before.clock_),
      random_(before.random_),
      options_(before.options_),
      lanes_(before.lanes_),
      runs_(before.runs_),
      ids_(before.ids_),
      recent_(before.recent_),
      claimed_(before.claimed_),
      next_bundle_(before.next_bundle_),
      last_source_(before.last_source_),
      delivered_(before.delivered_) {
  for (Lane& lane : lanes_) lane.epoch = store_.read_lane(lane.id)->epoch;
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

core::WorkLife History::draw_life() {
  core::WorkLife life;
  if (random_.one_in(2)) return life;
  if (random_.one_in(3)) life.queue_timeout = seconds(5);
  if (random_.one_in(3)) life.attempt_timeout = seconds(6);
  if (random_.one_in(3)) life.heartbeat_timeout = seconds(3);
  if (random_.one_in(3)) life.deadline = later();
  life.at_most_once = random_.one_in(2);
  life.unknown = life.at_most_once && random_.one_in(2);
  life.failures = static_cast<std::uint32_t>(random_.below(3));
  if (random_.one_in(2)) life.failure = "said so";
  if (random_.one_in(3)) life.trace = "00-0af7-01 a=1";
  return life;
}

// To a run, or to a job by its id; sometimes the start of a child under an id that may be taken.
Deliver History::draw_delivery() {
  Deliver deliver;
  deliver.envelope.message = draw_message();
  if (random_.one_in(3)) {
    // Mostly ids that are never submitted: otherwise children would have all of them, or none.
    const char* kind = random_.one_in(4) ? "job" : "child";
    const std::string id = format("{}-{}", kind, random_.below(ids_max));
    deliver.envelope.to = core::JobKey{Namespace(options_.name_space), JobId(id)};
    deliver.lane = lane_of_id(id);
    if (random_.one_in(3)) {
      core::StartChild start;
      start.graph = {GraphName("child"), 2, 3};
      start.input = Payload("child");
      // Few requests, so that some come twice; a parent may be gone.
      start.parent = {runs_[draw_run()], core::ActivitySeq(1), draw_guid(), random_.one_in(2)};
      start.priority = static_cast<std::int32_t>(random_.below(3));
      deliver.envelope.message.body = std::move(start);
    }
  } else {
    deliver.envelope.to = runs_[draw_run()];
  }
  if (!options_.by_lane && random_.one_in(4)) {
    const std::uint64_t last = last_source_[core::lane_of(deliver.envelope.to, deliver.lane)];
    deliver.source = Deliver::Source{lanes_[0].id, last + random_.below(3)};
  }
  return deliver;
}

Operation History::draw_app() {
  const Namespace name_space(options_.name_space);
  const std::string app = random_.one_in(2) ? "shop" : "bank";
  const std::string version = format("{}", random_.below(3));
  if (random_.one_in(2)) return ActivateApp{name_space, app, version};
  return PutApp{name_space, app, version, random_.one_in(4) ? "other graphs" : "graphs"};
}

// Three engines that come and go, in the pool of the first lane.
Operation History::draw_engine() {
  const std::string name = format("engine-{}", random_.below(3));
  if (random_.one_in(4)) return LeaveEngine{Pool("graphs"), name};
  BeatEngine beat{Pool("graphs"), name, seconds(1 + random_.below(8)), std::nullopt, {}, random_.one_in(4)};
  if (random_.one_in(3)) beat.serves = {Topic("red"), Topic("blue")};
  if (random_.one_in(3)) return beat;
  beat.holds.emplace();
  for (std::uint32_t i = 0; i < 2; ++i)
    if (random_.one_in(2)) beat.holds->emplace_back(i + 1);
  return beat;
}

core::Write History::draw_label_write() {
  const core::Label label{random_.one_in(2) ? "york" : "bath", "side", random_.one_in(2) ? "north" : "south"};
  switch (random_.below(4)) {
    case 0:
      return core::DropLabel{label};
    case 1:
      return core::AddMeasure{{label.key, "0", "total",
                               random_.one_in(2) ? std::optional<std::string>("v") : std::nullopt,
                               static_cast<double>(random_.below(9))}};
    case 2:
      return core::Announce{Topic("told"),  core::Announce::What::progress, core::ReplyStatus::pending, 202, later(),
                            Payload("said")};
    default:
      return core::PutLabel{label};
  }
}

core::Write History::draw_timed_write(const StoredJob& job, core::Bundle& bundle) {
  const bool wrong = random_.one_in(12);
  switch (random_.below(5)) {
    case 4:
      return draw_label_write();
    case 0:
      return core::PutMessage{draw_message(), later()};
    case 1: {
      if (job.timers.empty()) return core::Consume{draw_guid()};
      const core::InboxMessage& one = job.timers[random_.below(job.timers.size())];
      if (random_.one_in(2)) return core::Consume{one.message.guid};
      return core::CountRedelivery{one.message.guid, one.redeliveries + (wrong ? 1 : 0)};
    }
    case 2: {
      const core::ActivitySeq activity(static_cast<std::uint32_t>(random_.below(4)));
      const core::WorkItem* known = job.state.find_work(activity);
      if (known == nullptr && !wrong) return core::Consume{draw_guid()};
      core::ChangeWork change;
      change.activity = activity;
      change.token = known == nullptr || wrong ? core::WorkToken(3) : known->token;
      change.release = random_.one_in(2);
      if (random_.one_in(2)) change.visible_at = later();
      change.life = draw_life();
      return change;
    }
    default:
      // Jobs that are held permanently would leave nothing to claim.
      return core::HoldWork{std::get<core::JobHead>(bundle.head).status != core::JobStatus::running &&
                            random_.one_in(2)};
  }
}

core::Write History::draw_write(const StoredJob& job, core::Bundle& bundle) {
  if (random_.one_in(3)) return draw_timed_write(job, bundle);
  auto& head = std::get<core::JobHead>(bundle.head);
  const core::JobState& state = job.state;
  const bool wrong = random_.one_in(12);  // a wrong before-value
  switch (random_.below(9)) {
    case 0: {  // a new activity
      core::Activity after;
      after.seq = core::ActivitySeq(head.next_activity);
      after.node = head.next_activity;
      after.ledger = *ledger::ActivityLedger::decode(1'100'000'000'000);
      if (random_.one_in(2)) after.state = Payload(format("state {}", random_.below(100)));
      if (!state.activities().empty() && random_.one_in(3)) {  // one that continues, perhaps skipped
        const core::Activity& known = state.activities()[random_.below(state.activities().size())];
        after = known;
        after.state = Payload(random_.one_in(3) ? "" : "moved");
        if (random_.one_in(3)) after.status = core::ActivityStatus::skipped;
        return core::PutActivity{known.ledger, after};
      }
      head.next_activity += 1;
      return core::PutActivity{std::nullopt, after};
    }
    case 1: {  // a ledger that advances
      const core::MessageRecord fresh{draw_guid(), core::ActivitySeq(0), *ledger::MessageLedger::decode(1),
                                      Payload(random_.one_in(2) ? "" : "output")};
      const core::MessageRecord* known = state.find_message(fresh.guid);
      if (known == nullptr) return core::PutRecord{wrong ? std::optional(fresh.ledger) : std::nullopt, fresh};
      core::MessageRecord after = *known;
      if (const auto marked = after.ledger.with(ledger::MessageLedger::Step::work)) after.ledger = *marked;
      if (random_.one_in(2)) after.output = Payload(random_.one_in(2) ? "" : "other");
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
      const std::uint32_t opened = std::min(head.next_activity, 4u);  // also by the same bundle
      if (opened == 0 && !wrong) return core::Consume{draw_guid()};
      item.activity = core::ActivitySeq(wrong ? 1000 : static_cast<std::uint32_t>(random_.below(opened)));
      if (const core::WorkItem* known = state.find_work(item.activity))
        return core::DropWork{item.activity, random_.one_in(12) ? core::WorkToken(3) : known->token};
      item.topic = Topic(random_.one_in(2) ? "red" : "blue");
      item.request = core::Guid{item.activity.raw(), 7};
      item.input = Payload(format("work {}", random_.below(100)));
      item.priority = static_cast<std::int32_t>(random_.below(3)) - 1;
      if (random_.one_in(5)) item.visible_at = later();
      item.held = random_.one_in(8);
      item.life = draw_life();
      return core::PutWork{item};
    }
    case 7: {
      if (random_.one_in(4))
        return core::Sweep{job.inbox.empty() ? std::nullopt : std::optional(job.inbox[0].message.guid)};
      return core::Consume{draw_guid()};
    }
    default: {
      const std::int64_t delta = static_cast<std::int64_t>(random_.below(3)) - (state.job.semaphore > 1 ? 1 : 0);
      if (!head.semaphore)
        head.semaphore = core::SemaphoreStep{state.job.semaphore, delta, 0, state.job.semaphore + delta == 0};
      if (wrong) head.semaphore->before += 1;
      return core::Consume{draw_guid()};
    }
  }
}

core::Bundle History::draw_bundle() {
  if (!recent_.empty() && random_.one_in(6)) return recent_[random_.below(recent_.size())];
  const RunId run = runs_[draw_run()];
  const auto read = store_.read_job(run);
  const StoredJob job = *read ? **read : StoredJob{};  // a job that is gone takes no bundle
  const core::JobRow& row = job.state.job;
  core::JobHead head;
  head.status = row.status;
  head.completions_before = row.completions;
  head.completions = row.completions;
  head.next_activity = row.next_activity;
  head.closed_at = row.closed_at;
  head.remove_at = row.remove_at;
  head.redrives = row.redrives;
  head.code = row.code;
  core::Bundle bundle;
  bundle.entity = run;
  bundle.rev_before = random_.one_in(20) ? core::next(row.rev) : row.rev;
  bundle.id = core::BundleId(next_bundle_++);
  bundle.epoch = lanes_[core::lane_of(run) == lanes_[0].id ? 0 : 1].epoch;
  if (random_.one_in(15)) bundle.epoch = core::next(bundle.epoch);
  if (random_.one_in(15) && row.status == core::JobStatus::running) {
    head.status = random_.one_in(2) ? core::JobStatus::parked : core::JobStatus::paused;
  } else if (random_.one_in(40) && !core::is_closed(row.status)) {
    head.status = core::JobStatus::failed;
    head.completions += random_.one_in(5) ? 0 : 1;
    if (random_.one_in(2)) head.remove_at = later();
  } else if (random_.one_in(3) && !core::is_closed(row.status) && row.status != core::JobStatus::running) {
    head.redrives += row.status == core::JobStatus::parked ? 1 : 0;
    head.status = core::JobStatus::running;
  }
  if (random_.one_in(4)) head.data = Payload(random_.one_in(5) ? "" : format("data {}", next_bundle_));
  if (random_.one_in(10)) head.code = static_cast<std::int32_t>(random_.below(3)) * 404;
  bundle.head = std::move(head);
  const std::uint64_t count = random_.below(6);
  std::set<Touched> touched;
  for (std::uint64_t i = 0; i < count; ++i) {
    core::Write write = draw_write(job, bundle);
    bool taken = false;
    for (const Touched& one : touched_by(write)) taken = !touched.insert(one).second || taken;
    if (!taken) bundle.writes.push_back(std::move(write));
  }
  recent_.push_back(bundle);
  if (recent_.size() > recent_max) recent_.pop_front();
  return bundle;
}

Operation History::draw() {
  const Namespace name_space(options_.name_space);
  if (runs_.empty() || (runs_.size() < runs_max && random_.one_in(20)) || random_.one_in(100)) {
    const std::string id = format("job-{}", random_.below(ids_max));
    Submit submit{name_space, JobId(id), lane_of_id(id), {GraphName("g"), 1, 1}, Payload(id), clock_.now()};
    submit.reuse = static_cast<Reuse>(random_.below(3));
    if (random_.one_in(8) && !runs_.empty()) submit.follows = runs_[random_.below(runs_.size())];
    // The guids of both are derived from the run, whose number each store chooses: so they are never due at the same
    // time.
    if (random_.one_in(4)) submit.start_at = later();
    if (random_.one_in(4)) submit.deadline = later() + Duration(500'000);
    if (random_.one_in(2)) submit.keep = seconds(random_.below(20));
    submit.priority = static_cast<std::int32_t>(random_.below(5)) - 2;
    return submit;
  }
  const std::uint64_t what = random_.below(25);
  if (what == 24) return random_.one_in(2) ? draw_app() : draw_engine();
  if (what >= 22) return RemoveJob{runs_[random_.below(runs_.size())], random_.one_in(2) ? Instant() : later()};
  if (what >= 20) {
    const core::LaneId lane = options_.by_lane ? draw_lane() : core::LaneId(0);
    if (random_.one_in(3)) return DropKeys{clock_.now(), random_.below(3), lane};
    return PauseTopic{Topic(random_.one_in(2) ? "red" : "blue"), random_.one_in(3),
                      options_.pauses_by_lane ? lane : core::LaneId(0)};
  }
  if (what < 8) return draw_bundle();
  if (what < 11) return draw_delivery();
  if (what < 14) {
    return ClaimWork{{Topic("red"), Topic(random_.one_in(2) ? "blue" : "none")},
                     random_.below(3),
                     "w",
                     lease,
                     options_.by_lane || options_.claims_by_lane ? draw_lane() : core::LaneId(0)};
  }
  if (what < 18 && !claimed_.empty()) {
    const core::WorkItem& item = claimed_[random_.below(claimed_.size())];
    switch (random_.below(4)) {
      case 0:
        return ExtendWork{item.run,
                          item.activity,
                          item.token,
                          lease,
                          random_.one_in(2) ? std::optional(Payload("half way")) : std::nullopt,
                          random_.one_in(3)};
      case 1: {
        const core::Epoch epoch = lanes_[core::lane_of(item.run) == lanes_[0].id ? 0 : 1].epoch;
        return ReleaseWork{item.run, item.activity, item.token, item.epoch == core::Epoch(0) ? item.epoch : epoch,
                           item.runs % 2 == 0 ? core::Began::yes : core::Began::no};
      }
      case 2: {
        const core::Epoch epoch = lanes_[core::lane_of(item.run) == lanes_[0].id ? 0 : 1].epoch;
        return ClaimItem{item.run, item.activity, item.token, "local", epoch};
      }
      default: {
        core::Reply reply;
        reply.activity = item.activity;
        reply.token = item.token;
        reply.status = static_cast<core::ReplyStatus>(random_.below(4));
        const core::Guid guid{item.request.high,
                              1000 + item.runs * 2 + (reply.status == core::ReplyStatus::pending ? 1 : 0)};
        return DeliverReply{item.run, item.activity, item.token, {guid, reply}};
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
  const core::WorkLife& life = item.life;
  return format("{}/{} {} token {} {} epoch {} until {} runs {} {} p{} from {} held {} wakes {}", name_of_run(item.run),
                item.activity.raw(), item.topic.raw(), item.token.raw(), item.worker, item.epoch.raw(),
                item.lease_until.micros(), item.runs, item.input.view(), item.priority, item.visible_at.micros(),
                item.held, core::wake_of(item).micros()) +
         format(" life {}/{}/{}/{} {}{} {}/{}/{} x{} {} {}", life.queue_timeout.count(), life.attempt_timeout.count(),
                life.heartbeat_timeout.count(), life.deadline.micros(), life.at_most_once, life.unknown,
                life.queue_by.micros(), life.attempt_by.micros(), life.heartbeat_by.micros(), life.failures,
                life.failure, life.progress.view());
}

std::string History::describe(const Outcome& outcome) const {
  std::string text = format("{} {} {} {}", pawl::store::name_of(outcome.kind), name_of_run(outcome.run()),
                            name_of_run(outcome.replaced()), outcome.epoch().raw());
  for (const core::WorkItem& item : outcome.items()) text += "; " + describe(item);
  for (const EngineInfo& engine : outcome.engines()) {
    text += format("; {} until {}{}", engine.name, engine.until.micros(), engine.leaving ? " leaving" : "");
    for (const core::LaneId lane : engine.holds) text += format(" {}", lane.raw());
    for (const Topic& topic : engine.serves) text += format(" {}", topic.raw());
  }
  return text;
}

std::string History::step() {
  let_time_pass();
  const std::string text = play({draw()});
  deliver_outboxes();
  return text;
}

std::string History::play(const std::vector<Operation>& group) {
  const auto outcomes = store_.commit(group);
  if (!outcomes) return to_string(outcomes.error());
  std::string text;
  for (std::size_t i = 0; i < group.size(); ++i) text += (i == 0 ? "" : "\n") + note(group[i], (*outcomes)[i]);
  return text;
}

std::string History::note(const Operation& operation, const Outcome& outcome) {
  const auto* submit = std::get_if<Submit>(&operation);
  if (submit != nullptr && outcome.kind == OutcomeKind::committed) {
    runs_.push_back(outcome.run());
    ids_.push_back(submit->id.raw());
  }
  const auto* deliver = std::get_if<Deliver>(&operation);
  const auto* key = deliver == nullptr ? nullptr : std::get_if<core::JobKey>(&deliver->envelope.to);
  if (key != nullptr && outcome.run() != RunId(0) &&
      std::find(runs_.begin(), runs_.end(), outcome.run()) == runs_.end()) {
    runs_.push_back(outcome.run());
    ids_.push_back(key->id.raw());
  }
  for (const core::WorkItem& item : outcome.items()) claimed_.push_back(item);
  if (claimed_.size() > 10) claimed_.erase(claimed_.begin());
  if (is_acquire(operation) && outcome.kind == OutcomeKind::committed)
    for (Lane& lane : lanes_)
      if (lane.id == std::get<AcquireLane>(operation).lane) lane.epoch = outcome.epoch();
  if (deliver != nullptr && deliver->source && outcome.kind != OutcomeKind::conflict) {
    std::uint64_t& last = last_source_[core::lane_of(deliver->envelope.to, deliver->lane)];
    if (outcome.done() && deliver->source->seq == last + 1) ++last;
  }
  // Only the parent's lane knows whether the refusal is already there.
  const auto* start = deliver == nullptr ? nullptr : std::get_if<core::StartChild>(&deliver->envelope.message.body);
  if (start != nullptr && outcome.done() && outcome.run() == start->parent.run) return "op 2 -> committed refused";
  return format("op {} -> {}", operation.index(), describe(outcome));
}

void History::deliver_outboxes() {
  for (const Lane& lane : lanes_) {
    const auto rows = store_.read_outbox(lane.id, 1000);
    ASSERT_TRUE(rows);
    for (const OutboxRow& row : *rows) {
      if (!delivered_.insert({lane.id, row.lane, row.seq}).second) continue;
      Deliver deliver;
      deliver.envelope = row.envelope;
      deliver.lane = row.lane;
      const std::vector<Operation> group = {deliver, DropOutbox{lane.id, lane.epoch, row.lane, row.seq}};
      ASSERT_TRUE(store_.commit(group));
    }
  }
}

// Guids derived from a run differ from store to store.
std::string History::describe(const core::Guid& guid) const { return guid.low > 1'000'000 ? "own" : guid.text(); }

std::string History::describe(const std::vector<core::InboxMessage>& inbox) const {
  std::string text;
  for (const core::InboxMessage& one : inbox) {
    text += format(" [{} kind {} x{} due {}]", describe(one.message.guid), one.message.body.index(), one.redeliveries,
                   one.due.micros());
  }
  return text;
}

std::string History::read_due(core::LaneId lane) {
  std::string text;
  std::optional<Due> cursor;
  while (true) {
    const auto page = store_.read_due(lane, cursor, due_page);
    for (const Due& due : *page)
      text += format(" due {} {} {} {} {}", due.at.micros(), name_of_run(due.run), static_cast<int>(due.kind),
                     describe(due.guid), due.activity.raw());
    if (page->size() < due_page) return text;
    cursor = page->back();
  }
}

std::string History::read_labels() {
  std::string text = "\nlabelled";
  const Namespace name_space(options_.name_space);
  std::set<std::string> graphs;
  for (const RunId run : runs_)
    if (const auto job = store_.read_job(run); job && *job) graphs.insert((*job)->state.job.graph.name.raw());
  for (const std::string& graph : graphs) {
    for (const char* value : {"north", "south"}) {
      ListQuery query;
      query.name_space = name_space;
      query.label = ListQuery::Labelled{GraphName(graph), "side", value, "york", true};
      const auto jobs = store_.list_jobs(query);
      for (const core::JobRow& row : *jobs) text += format(" {} {}", value, name_of_run(row.run));
    }
    const auto measures = store_.read_measures({name_space, GraphName(graph), std::nullopt, "", "", 100});
    for (const MeasureRow& row : *measures)
      text += format(" measured {} {} {} {} {} {} {}", row.key, row.target, row.value.value_or("-"), row.count, row.sum,
                     row.least, row.most);
  }
  for (const Lane& lane : lanes_) {
    AnnouncementQuery query;
    query.lane = lane.id;
    query.name_space = name_space;
    query.rows_max = 1000;
    const auto said = store_.read_announcements(query);
    for (const AnnouncementRow& row : *said)
      text += format(" announced {} {}", name_of_run(row.run), row.said.at.micros());
  }
  return text;
}

std::string History::read_back() {
  std::string text = read_labels();
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const auto job = store_.read_job(runs_[i]);
    const auto found = store_.find_run(Namespace(options_.name_space), JobId(ids_[i]));
    text += format("\n#{} {} held by {}", i, ids_[i], found && *found ? name_of_run(**found) : "nobody");
    if (!job || !*job) {
      text += " is gone";
      continue;
    }
    const core::JobState& state = (*job)->state;
    const core::JobRow& row = state.job;
    text += format(" {} rev {} bundle {} {} semaphore {} next {} done {}", row.id.raw(), row.rev.raw(),
                   row.bundle.raw(), core::name_of(row.status), row.semaphore, row.next_activity, row.completions) +
            format(" p{} keep {} remove {} deadline {} redrives {}", row.priority, row.keep ? row.keep->count() : -1,
                   row.remove_at.micros(), row.deadline.micros(), row.redrives) +
            format(" {} code {} since {}", row.data.view(), row.code, row.created_at.micros());
    if (row.parent)
      text += format(" child of {}/{} {} awaits {}", name_of_run(row.parent->run), row.parent->activity.raw(),
                     row.parent->request.text(), row.parent->awaits);
    for (const core::Activity& one : state.activities())
      text += format(" a{}={} {} {}", one.seq.raw(), one.ledger.digits(), core::name_of(one.status), one.state.view());
    for (std::uint64_t number = 0; number < 12; ++number)
      if (const auto* record = state.find_message({number, 1}))
        text += format(" m{}={} {}", number, record->ledger.digits(), record->output.view());
    for (std::uint32_t seq = 0; seq < 4; ++seq)
      if (const auto* item = state.find_work(core::ActivitySeq(seq))) text += " w: " + describe(*item);
    text += describe((*job)->inbox) + " timers" + describe((*job)->timers);
    for (std::uint64_t number = 0; number < 12; ++number) {
      const auto one = store_.read_message(runs_[i], {number, 1});
      if (*one) text += describe(std::vector<core::InboxMessage>{**one});
    }
  }
  for (const Lane& lane : lanes_) {
    const auto info = store_.read_lane(lane.id);
    text += format("\nlane {} {} waiting", info->epoch.raw(), info->owner);
    const auto waiting = store_.read_waiting(lane.id, RunId(0), 1000);
    for (const Waiting& row : *waiting) text += " " + name_of_run(row.run);
    const auto work = store_.read_work(lane.id, {}, 1000);
    for (const core::WorkItem& item : *work) text += " " + describe(item);
    text += read_due(lane.id);
  }
  text += "\npaused";
  const auto paused = store_.read_paused_topics();
  for (const Topic& topic : *paused) text += " " + topic.raw();
  return text + read_apps();
}

std::string History::read_apps() {
  std::string text = "\napps";
  const Namespace name_space(options_.name_space);
  const auto apps = store_.list_apps(name_space);
  for (const AppInfo& one : *apps)
    text += format(" {} {} active {} since {} {}", one.app, one.version, one.active, one.deployed_at.micros(),
                   **store_.read_app(name_space, one.app, one.version));
  return text;
}

}  // namespace pawl::store
