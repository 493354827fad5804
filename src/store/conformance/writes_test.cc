// Every kind of write: applied under the right guards, without a trace under wrong ones.
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

using core::Bundle;
using core::Write;

// What exists before a test of one kind of write: a job with activity 0, its ledger, a claimable work item and two
// messages; a mailbox with one entry and one message.
struct Scene {
  RunId job{0};
  RunId mailbox{0};
  core::LaneId lane{0};
};

struct WriteKind {
  std::string name;
  bool mailbox;
  std::function<Write(const Scene&)> make;
};

core::MailboxEntry entry(std::uint64_t seq) {
  return core::MailboxEntry{seq, core::Guid{seq, 77}, core::Signal{"early"}};
}

const core::Guid waiting_guid{11, 11};
const core::Guid record_guid{12, 12};

core::Activity first_activity(std::uint64_t digits) {
  core::Activity made;
  made.ledger = *ledger::ActivityLedger::decode(digits);
  return made;
}

const std::vector<WriteKind> kinds = {
    {"PutActivity", false,
     [](const Scene&) {
       core::Activity after = first_activity(1'110'000'000'001);
       after.output = "done";
       return core::PutActivity{first_activity(1'100'000'000'000).ledger, after};
     }},
    {"PutRecord", false,
     [](const Scene&) {
       const core::MessageRecord after{record_guid, core::ActivitySeq(0),
                                       *ledger::MessageLedger::decode(11'000'000'001)};
       return core::PutRecord{*ledger::MessageLedger::decode(10'000'000'001), after};
     }},
    {"PutMessage", false,
     [](const Scene&) {
       return core::PutMessage{{core::Guid{99, 99}, core::Start{"x"}}};
     }},
    {"CountRedelivery", false,
     [](const Scene&) {
       return core::CountRedelivery{waiting_guid, 0};
     }},
    {"Consume", false, [](const Scene&) { return core::Consume{waiting_guid}; }},
    {"PutWork", false,
     [](const Scene& scene) {
       core::WorkItem item;
       item.run = scene.job;
       item.activity = core::ActivitySeq(0);
       item.topic = Topic("other");
       return core::PutWork{item};
     }},
    {"DropWork", false,
     [](const Scene&) {
       return core::DropWork{core::ActivitySeq(0), core::WorkToken(0)};
     }},
    {"Sweep", false, [](const Scene&) { return core::Sweep{waiting_guid}; }},
    {"Send", false,
     [](const Scene& scene) {
       return core::Send{{scene.job, {core::Guid{98, 98}, core::Start{"sent"}}}};
     }},
    {"SendToMailbox", false,
     [](const Scene& scene) {
       const core::MailboxKey key{Namespace("default"), Topic("t"), "k"};
       return core::Send{{key, {core::Guid{95, 95}, core::Signal{"sent"}}}, scene.lane};
     }},
    {"SendToJobKey", false,
     [](const Scene& scene) {
       const core::JobKey key{Namespace("default"), JobId("a")};
       return core::Send{{key, {core::Guid{94, 94}, core::Start{"sent"}}}, scene.lane};
     }},
    {"SendRefusedChild", false,
     [](const Scene& scene) {
       core::StartChild start;
       start.parent.run = scene.job;
       const core::JobKey key{Namespace("default"), JobId("a")};
       return core::Send{{key, {core::Guid{93, 93}, start}}, scene.lane};
     }},
    {"MailboxPutTimer", true,
     [](const Scene&) {
       return core::PutMessage{{core::Guid{92, 92}, core::Expire{waiting_guid}}, Instant::from_micros(9'000'000)};
     }},
    {"MailboxPutMessage", true,
     [](const Scene&) {
       return core::PutMessage{{core::Guid{97, 97}, core::Signal{"x"}}};
     }},
    {"MailboxCountRedelivery", true,
     [](const Scene&) {
       return core::CountRedelivery{waiting_guid, 0};
     }},
    {"MailboxConsume", true, [](const Scene&) { return core::Consume{waiting_guid}; }},
    {"MailboxSend", true,
     [](const Scene& scene) {
       return core::Send{{scene.job, {core::Guid{96, 96}, core::Start{"sent"}}}};
     }},
    {"PutEntry", true, [](const Scene&) { return core::PutEntry{entry(1)}; }},
    {"DropEntry", true, [](const Scene&) { return core::DropEntry{0}; }},
    {"OfferEntry", true,
     [](const Scene&) {
       return core::OfferEntry{0, entry(0).guid, core::Guid{1, 2}};
     }},
};

// Everything that a reader can see of the scene.
struct View {
  StoredJob job;
  StoredMailbox mailbox;
  std::vector<core::WorkItem> work;
  std::vector<core::Envelope> outbox;
};

bool same_but_rev(View a, View b) {
  const auto forget = [](View& view) {
    view.job.state.job.rev = core::Rev(0);
    view.job.state.job.bundle = core::BundleId(0);
    view.mailbox.state.rev = core::Rev(0);
    view.mailbox.state.bundle = core::BundleId(0);
    view.mailbox.state.next_entry = 0;
  };
  forget(a);
  forget(b);
  return a.job.state == b.job.state && a.job.inbox == b.job.inbox && a.mailbox.state == b.mailbox.state &&
         a.mailbox.inbox == b.mailbox.inbox && a.mailbox.timers == b.mailbox.timers && a.work == b.work &&
         a.outbox == b.outbox;
}

class Writes : public StoreCaseTest<WriteKind> {
 protected:
  Scene set_scene() {
    Scene scene;
    scene.lane = lane_;
    scene.job = submit("a");
    EXPECT_EQ(kind_of(to_run(scene.job, {waiting_guid, core::Start{"waiting"}})), OutcomeKind::committed);
    const core::MessageRecord record{record_guid, core::ActivitySeq(0), message_ledger(10'000'000'001)};
    EXPECT_EQ(kind_of(bundle_with(scene.job,
                                  {core::PutActivity{std::nullopt, activity(0)}, core::PutRecord{std::nullopt, record},
                                   core::PutWork{work_item(scene.job, 0)}})),
              OutcomeKind::committed);
    const core::MailboxKey key{Namespace("default"), Topic("t"), "k"};
    scene.mailbox = commit(to_mailbox(key, {waiting_guid, core::Signal{"s"}}, lane_)).run();
    Bundle bundle = bundle_for_mailbox(scene.mailbox);
    std::get<core::MailboxHead>(bundle.head).next_entry = 1;
    bundle.writes = {core::PutEntry{entry(0)}};
    EXPECT_EQ(kind_of(bundle), OutcomeKind::committed);
    return scene;
  }

  Bundle bundle_of(const Scene& scene) {
    if (!scenario().mailbox) return bundle_with(scene.job, {scenario().make(scene)});
    Bundle bundle = bundle_for_mailbox(scene.mailbox);
    bundle.writes = {scenario().make(scene)};
    if (std::holds_alternative<core::PutEntry>(bundle.writes.front()))
      std::get<core::MailboxHead>(bundle.head).next_entry += 1;
    return bundle;
  }

  View view(const Scene& scene) {
    View seen{job(scene.job), mailbox(scene.mailbox), *store_->read_work(lane_, {}, 100), {}};
    const auto rows = store_->read_outbox(lane_, 100);
    for (const OutboxRow& row : *rows) seen.outbox.push_back(row.envelope);
    return seen;
  }
};

TEST_P(Writes, are_applied_once_under_the_right_guards) {
  const Scene scene = set_scene();
  const View before = view(scene);
  const Bundle bundle = bundle_of(scene);
  EXPECT_EQ(kind_of(bundle), OutcomeKind::committed);
  const View after = view(scene);
  EXPECT_FALSE(same_but_rev(before, after)) << "the write left no trace";
  EXPECT_EQ(kind_of(bundle), OutcomeKind::already_done);
  EXPECT_TRUE(same_but_rev(after, view(scene))) << "the repeated bundle was applied again";
}

TEST_P(Writes, are_not_applied_under_a_stale_epoch) {
  const Scene scene = set_scene();
  const Bundle bundle = bundle_of(scene);
  take_over(lane_, "engine-b");
  const View before = view(scene);
  EXPECT_EQ(kind_of(bundle), OutcomeKind::fenced);
  EXPECT_TRUE(same_but_rev(before, view(scene)));
}

TEST_P(Writes, are_not_applied_under_a_moved_rev) {
  const Scene scene = set_scene();
  const Bundle bundle = bundle_of(scene);
  EXPECT_EQ(kind_of(scenario().mailbox ? bundle_for_mailbox(scene.mailbox) : bundle_for(scene.job)),
            OutcomeKind::committed);
  const View before = view(scene);
  EXPECT_EQ(kind_of(bundle), OutcomeKind::conflict);
  EXPECT_TRUE(same_but_rev(before, view(scene)));
}

TEST_P(Writes, are_not_applied_beside_one_that_must_be_refused) {
  const Scene scene = set_scene();
  Bundle bundle = bundle_of(scene);
  const View before = view(scene);
  if (scenario().mailbox)
    bundle.writes.emplace_back(core::DropEntry{4711});
  else
    bundle.writes.emplace_back(core::PutRecord{message_ledger(1), {guid(55), core::ActivitySeq(0), {}}});
  EXPECT_EQ(kind_of(bundle), OutcomeKind::rejected);
  EXPECT_TRUE(same_but_rev(before, view(scene)));
}

INSTANTIATE_TEST_SUITE_P(stores, Writes, testing::Combine(testing::ValuesIn(all_stores()), testing::ValuesIn(kinds)),
                         store_case_name<WriteKind>);

class Heads : public StoreTest {};

TEST_P(Heads, every_field_of_a_jobs_head_is_stored) {
  const RunId run = submit("a");
  Bundle bundle = bundle_with(run, {core::PutActivity{std::nullopt, activity(0)}});
  auto& head = std::get<core::JobHead>(bundle.head);
  head.status = core::JobStatus::failed;
  head.semaphore = core::SemaphoreStep{1, 2, 0, false};
  head.completions = 1;
  head.closed_at = Instant::from_micros(123);
  head.result = Payload("result");
  head.reason = "because";
  head.data = Payload("data");
  head.code = -404;
  EXPECT_EQ(kind_of(bundle), OutcomeKind::committed);
  const core::JobRow row = job(run).state.job;
  EXPECT_EQ(row.status, core::JobStatus::failed);
  EXPECT_EQ(row.semaphore, 0) << "a closed job owes nothing";
  EXPECT_EQ(row.completions, 1u);
  EXPECT_EQ(row.next_activity, 1u);
  EXPECT_EQ(row.closed_at, Instant::from_micros(123));
  EXPECT_EQ(row.result, Payload("result"));
  EXPECT_EQ(row.reason, "because");
  EXPECT_EQ(row.data, Payload("data"));
  EXPECT_EQ(row.code, -404);
}

TEST_P(Heads, a_step_moves_the_semaphore_by_its_delta) {
  const RunId run = submit("a");
  Bundle bundle = bundle_for(run);
  std::get<core::JobHead>(bundle.head).semaphore = core::SemaphoreStep{1, 4, 0, false};
  EXPECT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.semaphore, 5);
}

TEST_P(Heads, a_bundle_without_result_and_reason_keeps_the_stored_ones) {
  const RunId run = submit("a");
  Bundle bundle = bundle_for(run);
  std::get<core::JobHead>(bundle.head).result = Payload("kept");
  std::get<core::JobHead>(bundle.head).reason = "kept too";
  EXPECT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(kind_of(bundle_for(run)), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.result, Payload("kept"));
  EXPECT_EQ(job(run).state.job.reason, "kept too");
}

TEST_P(Heads, every_field_of_an_activity_is_stored) {
  const RunId run = submit("a");
  core::Activity full = activity(0, 3'110'000'000'002);
  full.node = 4;
  full.at = *ledger::Dimensions::parse(",0,1,17");
  full.status = core::ActivityStatus::errored;
  full.code = -409;
  full.opened_at = Instant::from_micros(-5);
  full.closed_at = Instant::from_micros(7);
  full.output = "out";
  full.state = "state";
  core::Activity child = activity(1);
  child.parent = core::ActivitySeq(0);
  EXPECT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, full}, core::PutActivity{std::nullopt, child}})),
            OutcomeKind::committed);
  const StoredJob stored = job(run);
  ASSERT_EQ(stored.state.activities().size(), 2u);
  EXPECT_EQ(stored.state.activities()[0], full);
  EXPECT_EQ(stored.state.activities()[1], child);
}

TEST_P(Heads, every_field_of_a_work_item_is_stored) {
  const RunId run = submit("a");
  core::WorkItem item = work_item(run, 0);
  item.token = core::WorkToken(77);
  item.worker = "local";
  item.epoch = epoch_;
  item.lease_until = Instant::from_micros(99);
  item.runs = 3;
  EXPECT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(0)}, core::PutWork{item}})),
            OutcomeKind::committed);
  ASSERT_NE(job(run).state.find_work(core::ActivitySeq(0)), nullptr);
  EXPECT_EQ(*job(run).state.find_work(core::ActivitySeq(0)), item);
  EXPECT_EQ(store_->read_work(lane_, {}, 10)->front(), item);
}

INSTANTIATE_TEST_SUITE_P(stores, Heads, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
