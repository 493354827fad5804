#include <stdlib.h>

#include <utility>

#include "core/guid.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

std::vector<Seed> history_seeds(std::uint64_t count) {
  const char* said = std::getenv("PAWL_HISTORY_SEEDS");
  const char* from = std::getenv("PAWL_HISTORY_FIRST");
  if (said != nullptr) count = std::strtoull(said, nullptr, 10);
  const std::uint64_t first = from == nullptr ? 1 : std::strtoull(from, nullptr, 10);
  std::vector<Seed> all;
  for (std::uint64_t value = first; value < first + count; ++value) all.push_back({format("seed_{}", value), value});
  return all;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "pawl-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void Bench::use(const StoreFactory& factory) {
  store_ = factory.make(clock_, folder_.path());
  ASSERT_NE(store_, nullptr);
  if (factory.duplex) duplex_ = factory.duplex(*store_);
  ASSERT_EQ(kind_of(OpenPool{Pool("graphs"), 2}), OutcomeKind::committed);
  const auto pool = store_->read_pool(Pool("graphs"));
  ASSERT_TRUE(pool && *pool);
  lane_ = (*pool)->first;
  other_lane_ = core::LaneId(lane_.raw() + 1);
  epoch_ = acquire(lane_, "engine-a");
  other_epoch_ = acquire(other_lane_, "engine-a");
}

std::vector<Outcome> Bench::commit_all(const std::vector<Operation>& group) {
  auto outcomes = store_->commit(group);
  if (!outcomes) {
    ADD_FAILURE() << to_string(outcomes.error());
    return std::vector<Outcome>(group.size());
  }
  EXPECT_EQ(outcomes->size(), group.size());
  outcomes->resize(group.size());
  return std::move(*outcomes);
}

Outcome Bench::commit(Operation operation) {
  std::vector<Operation> group;
  group.push_back(std::move(operation));
  return commit_all(group).front();
}

RunId Bench::submit_to(core::LaneId lane, const std::string& id, const std::string& name_space) {
  const core::GraphRef graph{GraphName("graph"), 1, 7};
  const Outcome outcome = commit(Submit{Namespace(name_space), JobId(id), lane, graph, "{}", clock_.now()});
  EXPECT_EQ(outcome.kind, OutcomeKind::committed) << id << ": " << outcome.reason;
  return outcome.run();
}

StoredJob Bench::job(RunId run) {
  auto read = store_->read_job(run);
  if (read && *read) return std::move(**read);
  ADD_FAILURE() << "no job " << run.raw();
  return {};
}

StoredMailbox Bench::mailbox(RunId run) {
  auto read = store_->read_mailbox(run);
  if (read && *read) return std::move(**read);
  ADD_FAILURE() << "no mailbox " << run.raw();
  return {};
}

core::Epoch Bench::acquire(core::LaneId lane, const std::string& owner) {
  const Outcome outcome = commit(AcquireLane{lane, owner, lease});
  EXPECT_EQ(outcome.kind, OutcomeKind::committed) << outcome.reason;
  return outcome.epoch();
}

core::Epoch Bench::take_over(core::LaneId lane, const std::string& owner) {
  const auto info = store_->read_lane(lane);
  EXPECT_TRUE(info);
  if (info && info->lease_until) {
    clock_.advance(lease);
  } else if (info) {
    EXPECT_EQ(kind_of(ReleaseLane{lane, info->epoch}), OutcomeKind::committed);
  }
  return acquire(lane, owner);
}

core::Bundle Bench::bundle_for(RunId run) {
  const StoredJob stored = job(run);
  const core::JobRow& row = stored.state.job;
  core::JobHead head;
  head.status = row.status;
  head.completions_before = row.completions;
  head.completions = row.completions;
  head.next_activity = row.next_activity;
  head.closed_at = row.closed_at;
  head.remove_at = row.remove_at;
  head.redrives = row.redrives;
  head.code = row.code;
  const core::Epoch epoch = core::lane_of(run) == lane_ ? epoch_ : other_epoch_;
  return core::Bundle{run, epoch, row.rev, core::BundleId(next_bundle_++), std::move(head), {}};
}

core::Bundle Bench::bundle_for_mailbox(RunId run) {
  const core::MailboxState state = mailbox(run).state;
  const core::Epoch epoch = core::lane_of(run) == lane_ ? epoch_ : other_epoch_;
  const core::MailboxHead head{state.next_entry};
  return core::Bundle{run, epoch, state.rev, core::BundleId(next_bundle_++), head, {}};
}

core::Bundle Bench::bundle_with(RunId run, std::vector<core::Write> writes) {
  core::Bundle bundle = bundle_for(run);
  for (const core::Write& write : writes) {
    const auto* put = std::get_if<core::PutActivity>(&write);
    if (put != nullptr && !put->before) std::get<core::JobHead>(bundle.head).next_activity += 1;
  }
  bundle.writes = std::move(writes);
  return bundle;
}

void Bench::enqueue(RunId run, std::uint32_t count, const std::string& topic) {
  std::vector<core::Write> writes;
  for (std::uint32_t seq = 0; seq < count; ++seq) {
    writes.emplace_back(core::PutActivity{std::nullopt, activity(seq)});
    writes.emplace_back(core::PutWork{work_item(run, seq, topic)});
  }
  ASSERT_EQ(kind_of(bundle_with(run, std::move(writes))), OutcomeKind::committed);
}

core::WorkItem Bench::enqueue_item(RunId run, core::WorkItem item) {
  const std::uint32_t seq = job(run).state.job.next_activity;
  const core::WorkItem named = work_item(run, seq, item.topic.raw().empty() ? "topic" : item.topic.raw());
  item.run = run;
  item.activity = named.activity;
  item.topic = named.topic;
  item.request = named.request;
  item.plain_key = named.plain_key;
  EXPECT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(seq)}, core::PutWork{item}})),
            OutcomeKind::committed);
  return item;
}

core::WorkItem Bench::stored_item(RunId run, std::uint32_t activity) {
  const StoredJob read = job(run);
  const core::WorkItem* found = read.state.find_work(core::ActivitySeq(activity));
  EXPECT_NE(found, nullptr) << "no work item " << activity;
  return found == nullptr ? core::WorkItem{} : *found;
}

void Bench::end(RunId run, core::JobStatus status, Instant remove_at) {
  core::Bundle bundle = bundle_with(run, {core::Sweep{std::nullopt}});
  auto& head = std::get<core::JobHead>(bundle.head);
  head.status = status;
  head.closed_at = clock_.now();
  head.completions = 1;
  head.remove_at = remove_at;
  ASSERT_EQ(kind_of(std::move(bundle)), OutcomeKind::committed);
}

void Bench::close(RunId run, core::JobStatus status) {
  core::Bundle bundle = bundle_with(run, {core::Sweep{std::nullopt}});
  auto& head = std::get<core::JobHead>(bundle.head);
  head.status = status;
  head.closed_at = clock_.now();
  ASSERT_EQ(kind_of(std::move(bundle)), OutcomeKind::committed);
}

Deliver Bench::to_run(RunId run, core::Message message, std::optional<Deliver::Source> source) {
  Deliver deliver;
  deliver.envelope.to = run;
  deliver.envelope.message = std::move(message);
  deliver.source = source;
  return deliver;
}

std::vector<RunId> Bench::deliver_outboxes() {
  std::vector<RunId> reached;
  bool sent = true;
  while (std::exchange(sent, false))  // a delivery may be refused, and the refusal is sent too
    for (const core::LaneId lane : {lane_, other_lane_}) {
      const auto rows = store_->read_outbox(lane, 1000);
      EXPECT_TRUE(rows);
      for (const OutboxRow& row : *rows) {
        Deliver deliver;
        deliver.envelope = row.envelope;
        deliver.lane = row.lane;
        deliver.source = Deliver::Source{lane, row.seq};
        const Outcome outcome = commit(deliver);
        EXPECT_TRUE(outcome.done()) << outcome.reason;
        if (outcome.run() != RunId(0)) reached.push_back(outcome.run());
        EXPECT_EQ(kind_of(deliver), OutcomeKind::already_done);
        const core::Epoch epoch = lane == lane_ ? epoch_ : other_epoch_;
        EXPECT_EQ(kind_of(DropOutbox{lane, epoch, row.lane, row.seq}), OutcomeKind::committed);
        sent = true;
      }
    }
  return reached;
}

Deliver Bench::to_mailbox(core::MailboxKey key, core::Message message, core::LaneId lane) {
  Deliver deliver;
  deliver.envelope.to = std::move(key);
  deliver.envelope.message = std::move(message);
  deliver.lane = lane;
  return deliver;
}

Deliver Bench::to_job(core::JobKey key, core::Message message, core::LaneId lane) {
  Deliver deliver;
  deliver.envelope.to = std::move(key);
  deliver.envelope.message = std::move(message);
  deliver.lane = lane;
  return deliver;
}

core::WorkItem Bench::work_item(RunId run, std::uint32_t seq, const std::string& topic) const {
  core::WorkItem item;
  item.run = run;
  item.activity = core::ActivitySeq(seq);
  item.topic = Topic(topic);
  item.request = core::Guid::of_run(run).derive(core::Guid::Purpose::request, seq);
  item.input = Payload(format("input {}", seq));
  item.plain_key = seq % 2 == 1;
  return item;
}

core::Message Bench::answer_to(const core::WorkItem& item, core::ReplyStatus status) const {
  const auto purpose = status == core::ReplyStatus::pending ? core::Guid::Purpose::response_pending
                                                            : core::Guid::Purpose::response_final;
  core::Reply reply;
  reply.activity = item.activity;
  reply.status = status;
  reply.token = item.token;
  reply.data = "answer";
  return core::Message{item.request.derive(purpose, 0), std::move(reply)};
}

ledger::ActivityLedger Bench::activity_ledger(std::uint64_t digits) { return *ledger::ActivityLedger::decode(digits); }
ledger::MessageLedger Bench::message_ledger(std::uint64_t digits) { return *ledger::MessageLedger::decode(digits); }

core::Activity Bench::activity(std::uint32_t seq, std::uint64_t digits) {
  core::Activity made;
  made.seq = core::ActivitySeq(seq);
  made.node = seq;
  made.ledger = activity_ledger(digits);
  return made;
}

}  // namespace pawl::store
