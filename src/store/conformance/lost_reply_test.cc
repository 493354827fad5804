// A lost reply: a repeated call is recognised, and nothing happens twice.
#include "store/conformance/conformance.h"
#include "store/fault/store.h"

namespace pawl::store {

namespace {

// An operation, and what its repetition must answer after the first one was applied without an answer.
struct Repeated {
  std::string name;
  std::function<Operation(class LostReplies&)> make;
  OutcomeKind again;
};

class LostReplies : public StoreCaseTest<Repeated> {
 public:
  using Bench::answer_to;
  using Bench::bundle_for_mailbox;
  using Bench::bundle_with;
  using Bench::commit;
  using Bench::guid;
  using Bench::start_message;
  using Bench::to_job;
  using Bench::to_mailbox;
  using Bench::to_run;

  void SetUp() override {
    StoreCaseTest<Repeated>::SetUp();
    run = submit("a");
    enqueue(run, 2);
    item = commit(ClaimWork{{Topic("topic")}, 1, "w", lease}).items().front();
    box = commit(to_mailbox(key(), start_message(1), lane_)).run();
    ended = submit("ended");
    end(ended, core::JobStatus::failed, later());
    const RunId gone = submit("gone");
    end(gone);
    commit(RemoveJob{gone, clock_.now()});
    commit(PauseTopic{Topic("paused"), true});
    commit(PutApp{Namespace("default"), "shop", "1", "graphs"});
  }
  Instant later() const { return clock_.now() + std::chrono::seconds(9); }
  core::Bundle bundle_that_ends() {
    core::Bundle bundle = bundle_with(run, {core::Sweep{std::nullopt}});
    auto& head = std::get<core::JobHead>(bundle.head);
    head.status = core::JobStatus::interrupted;
    head.completions = 1;
    head.remove_at = later();
    return bundle;
  }
  core::Message start_of_child() const {
    core::StartChild start;
    start.graph = {GraphName("g"), 1, 1};
    start.parent = {run, core::ActivitySeq(0), guid(900), true};
    return {guid(6), start};
  }
  static core::JobKey job_key(const std::string& id) { return {Namespace("default"), JobId(id)}; }
  static core::MailboxKey key() { return {Namespace("default"), Topic("t"), "k"}; }
  core::LaneId lane() const { return lane_; }
  core::Epoch epoch() const { return epoch_; }
  static core::Activity opened(std::uint32_t seq) { return activity(seq); }
  Duration lease_time() const { return lease; }

  // Everything a reader can see, as one value.
  struct View {
    StoredJob job;
    StoredMailbox mailbox;
    std::size_t outbox;
    std::size_t waiting;
    std::vector<Due> due;
    std::vector<Topic> paused;
    std::vector<core::JobRow> jobs;
    std::vector<AppInfo> apps;
    std::vector<std::optional<RunId>> holders;  // of all ids
    bool operator==(const View& other) const {
      return job.state == other.job.state && job.inbox == other.job.inbox && job.timers == other.job.timers &&
             mailbox.state == other.mailbox.state && mailbox.inbox == other.mailbox.inbox &&
             mailbox.timers == other.mailbox.timers && apps == other.apps && outbox == other.outbox &&
             waiting == other.waiting && due == other.due && paused == other.paused && jobs == other.jobs &&
             holders == other.holders;
    }
  };
  View view() {
    View seen{job(run),
              mailbox(box),
              store_->read_outbox(lane_, 100)->size(),
              store_->read_waiting(lane_, RunId(0), 100)->size(),
              *store_->read_due(lane_, std::nullopt, 100),
              *store_->read_paused_topics(),
              *store_->list_jobs({}),
              *store_->list_apps(Namespace("default")),
              {}};
    for (const char* id : {"a", "b", "ended", "gone", "child"})
      seen.holders.push_back(*store_->find_run(Namespace("default"), JobId(id)));
    return seen;
  }

  RunId run{0};
  RunId box{0};
  RunId ended{0};
  core::WorkItem item;
};

Submit order(const LostReplies& at, const std::string& id, Reuse reuse) {
  Submit submit{Namespace("default"), JobId(id), at.lane(), {GraphName("g"), 1, 1}, "", Instant()};
  submit.reuse = reuse;
  return submit;
}

const std::vector<Repeated> repeated = {
    {"Bundle",
     [](LostReplies& at) -> Operation {
       return at.bundle_with(at.run, {core::PutActivity{std::nullopt, LostReplies::opened(2)},
                                      core::Send{{at.run, at.start_message(7)}}});
     },
     OutcomeKind::already_done},
    {"DropWorkBundle",
     [](LostReplies& at) -> Operation {
       return at.bundle_with(at.run, {core::DropWork{at.item.activity, at.item.token}});
     },
     OutcomeKind::already_done},
    {"MailboxBundle",
     [](LostReplies& at) -> Operation {
       core::Bundle bundle = at.bundle_for_mailbox(at.box);
       bundle.writes = {core::PutMessage{at.start_message(8)}};
       return bundle;
     },
     OutcomeKind::already_done},
    {"TimerBundle",
     [](LostReplies& at) -> Operation {
       return at.bundle_with(at.run, {core::PutMessage{at.start_message(7), at.later()}});
     },
     OutcomeKind::already_done},
    {"DataBundle",
     [](LostReplies& at) -> Operation {
       core::Activity after = LostReplies::opened(2);
       after.state = "state";
       core::Bundle bundle = at.bundle_with(
           at.run, {core::PutActivity{std::nullopt, after},
                    core::PutRecord{std::nullopt,
                                    {at.guid(40), core::ActivitySeq(0), *ledger::MessageLedger::decode(1), "output"}}});
       std::get<core::JobHead>(bundle.head).data = Payload("data");
       std::get<core::JobHead>(bundle.head).code = 404;
       return bundle;
     },
     OutcomeKind::already_done},
    {"ChildBundle",
     [](LostReplies& at) -> Operation {
       return at.bundle_with(at.run, {core::Send{{LostReplies::job_key("child"), at.start_of_child()}, at.lane()}});
     },
     OutcomeKind::already_done},
    {"MailboxTimerBundle",
     [](LostReplies& at) -> Operation {
       core::Bundle bundle = at.bundle_for_mailbox(at.box);
       bundle.writes = {core::PutMessage{{at.guid(41), core::Expire{at.guid(1)}}, at.later()}};
       return bundle;
     },
     OutcomeKind::already_done},
    {"StartChild",
     [](LostReplies& at) -> Operation {
       return at.to_job(LostReplies::job_key("child"), at.start_of_child(), at.lane());
     },
     OutcomeKind::already_done},
    {"StartChildOfATakenId",
     [](LostReplies& at) -> Operation {
       return at.to_job(LostReplies::job_key("ended"), at.start_of_child(), at.lane());
     },
     OutcomeKind::already_done},
    {"StartChildFromOutbox",
     [](LostReplies& at) -> Operation {
       Deliver deliver = at.to_job(LostReplies::job_key("child"), at.start_of_child(), at.lane());
       deliver.source = Deliver::Source{at.lane(), 1};
       return deliver;
     },
     OutcomeKind::already_done},
    {"DeliverById",
     [](LostReplies& at) -> Operation { return at.to_job(LostReplies::job_key("a"), at.start_message(5), at.lane()); },
     OutcomeKind::already_done},
    {"PutApp",
     [](LostReplies&) -> Operation {
       return PutApp{Namespace("default"), "shop", "2", "graphs"};
     },
     OutcomeKind::already_done},
    {"ActivateApp",
     [](LostReplies&) -> Operation {
       return ActivateApp{Namespace("default"), "shop", "1"};
     },
     OutcomeKind::already_done},
    {"BeatEngine",
     [](LostReplies& at) -> Operation {
       return BeatEngine{Pool("graphs"), "engine-b", at.lease_time(), std::nullopt, {}, false};
     },
     OutcomeKind::committed},
    {"LeaveEngine",
     [](LostReplies& at) -> Operation {
       at.commit(BeatEngine{Pool("graphs"), "engine-b", at.lease_time(), std::nullopt, {}, false});
       return LeaveEngine{Pool("graphs"), "engine-b"};
     },
     OutcomeKind::already_done},
    {"ChangeWorkBundle",
     [](LostReplies& at) -> Operation {
       core::ChangeWork change;
       change.activity = at.item.activity;
       change.token = at.item.token;
       change.visible_at = at.later();
       change.life.failures = 1;
       return at.bundle_with(at.run, {change});
     },
     OutcomeKind::already_done},
    {"LabelBundle",
     [](LostReplies& at) -> Operation {
       return at.bundle_with(at.run, {core::PutLabel{{"k", "n", "v"}}, core::AddMeasure{{"k", "0", "t", {}, 1}},
                                      core::Announce{Topic("t"), core::Announce::What::end, core::ReplyStatus::success,
                                                     200, at.later(), "data"}});
     },
     OutcomeKind::already_done},
    {"HoldWorkBundle", [](LostReplies& at) -> Operation { return at.bundle_with(at.run, {core::HoldWork{true}}); },
     OutcomeKind::already_done},
    {"ClosingBundle", [](LostReplies& at) -> Operation { return at.bundle_that_ends(); }, OutcomeKind::already_done},
    {"SubmitForLater",
     [](LostReplies& at) -> Operation {
       Submit submit = order(at, "b", Reuse::never);
       submit.start_at = at.later();
       submit.deadline = at.later();
       return submit;
     },
     OutcomeKind::exists},
    {"SubmitAfterClose", [](LostReplies& at) -> Operation { return order(at, "ended", Reuse::after_close); },
     OutcomeKind::exists},
    {"SubmitOfAnExpiredKey", [](LostReplies& at) -> Operation { return order(at, "gone", Reuse::never); },
     OutcomeKind::exists},
    {"RemoveJob",
     [](LostReplies& at) -> Operation {
       return RemoveJob{at.ended, at.later()};
     },
     OutcomeKind::already_done},
    {"RemoveJobAndKey",
     [](LostReplies& at) -> Operation {
       return RemoveJob{at.ended, Instant()};
     },
     OutcomeKind::already_done},
    {"DropKeys",
     [](LostReplies& at) -> Operation {
       return DropKeys{at.later(), 10};
     },
     OutcomeKind::committed},
    {"PauseTopic",
     [](LostReplies&) -> Operation {
       return PauseTopic{Topic("topic"), true};
     },
     OutcomeKind::already_done},
    {"ProceedWithTopic",
     [](LostReplies&) -> Operation {
       return PauseTopic{Topic("paused"), false};
     },
     OutcomeKind::already_done},
    {"Heartbeat",
     [](LostReplies& at) -> Operation {
       return ExtendWork{at.run, at.item.activity, at.item.token, at.lease_time(), Payload("half"), false};
     },
     OutcomeKind::committed},
    {"Detach",
     [](LostReplies& at) -> Operation {
       return ExtendWork{at.run, at.item.activity, at.item.token, at.lease_time() * 2, std::nullopt, true};
     },
     OutcomeKind::committed},
    {"RespondError",
     [](LostReplies& at) -> Operation {
       return DeliverReply{at.run, at.item.activity, at.item.token, at.answer_to(at.item, core::ReplyStatus::error)};
     },
     OutcomeKind::already_done},
    {"Submit",
     [](LostReplies& at) -> Operation {
       return Submit{Namespace("default"), JobId("b"), at.lane(), {GraphName("g"), 1, 1}, "", Instant()};
     },
     OutcomeKind::exists},
    {"Deliver", [](LostReplies& at) -> Operation { return at.to_run(at.run, at.start_message(5)); },
     OutcomeKind::already_done},
    {"DeliverFromOutbox",
     [](LostReplies& at) -> Operation {
       return at.to_run(at.run, at.start_message(5), Deliver::Source{at.lane(), 1});
     },
     OutcomeKind::already_done},
    {"DeliverToMailbox",
     [](LostReplies& at) -> Operation { return at.to_mailbox(LostReplies::key(), at.start_message(5), at.lane()); },
     OutcomeKind::already_done},
    {"RespondFinal",
     [](LostReplies& at) -> Operation {
       return DeliverReply{at.run, at.item.activity, at.item.token, at.answer_to(at.item)};
     },
     OutcomeKind::already_done},
    {"RespondPending",
     [](LostReplies& at) -> Operation {
       return DeliverReply{at.run, at.item.activity, at.item.token, at.answer_to(at.item, core::ReplyStatus::pending)};
     },
     OutcomeKind::already_done},
    {"ExtendWork",
     [](LostReplies& at) -> Operation {
       return ExtendWork{at.run, at.item.activity, at.item.token, at.lease_time()};
     },
     OutcomeKind::committed},
    {"ReleaseWork",
     [](LostReplies& at) -> Operation {
       return ReleaseWork{at.run, at.item.activity, at.item.token};
     },
     OutcomeKind::conflict},
    {"ClaimItem",
     [](LostReplies& at) -> Operation {
       return ClaimItem{at.run, core::ActivitySeq(1), core::WorkToken(0), "local", at.epoch()};
     },
     OutcomeKind::conflict},
    {"OpenPool",
     [](LostReplies&) -> Operation {
       return OpenPool{Pool("flows"), 3};
     },
     OutcomeKind::already_done},
    {"RenewLane",
     [](LostReplies& at) -> Operation {
       return RenewLane{at.lane(), at.epoch(), at.lease_time()};
     },
     OutcomeKind::committed},
    {"ReleaseLane",
     [](LostReplies& at) -> Operation {
       return ReleaseLane{at.lane(), at.epoch()};
     },
     OutcomeKind::already_done},
};

TEST_P(LostReplies, are_answered_truthfully_when_the_call_is_repeated) {
  fault::Store faulty(*store_, {fault::at_call(1, {fault::Kind::error_after}), nullptr});
  const std::vector<Operation> group = {scenario().make(*this)};
  const View before = view();
  const auto lost = faulty.commit(group);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::outcome_unknown);
  const View once = view();
  const auto again = faulty.commit(group);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->front().kind, scenario().again) << name_of(again->front().kind);
  EXPECT_EQ(view(), once) << "the repetition did something";
  // The effect of the first call can be seen, or it concerns no entity of this scene.
  const bool concerns_scene = !scenario().name.starts_with("OpenPool") && !scenario().name.ends_with("Lane") &&
                              !scenario().name.ends_with("Engine") && scenario().name != "ExtendWork";
  EXPECT_EQ(once == before, !concerns_scene);
}

TEST_P(LostReplies, of_a_call_that_never_arrived_leave_it_to_be_made) {
  fault::Store faulty(*store_, {fault::at_call(1, {fault::Kind::error_before}), nullptr});
  const std::vector<Operation> group = {scenario().make(*this)};
  const View before = view();
  const auto refused = faulty.commit(group);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::retry_later);
  EXPECT_EQ(view(), before);
  const auto made = faulty.commit(group);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->front().kind, OutcomeKind::committed);
}

TEST_P(LostReplies, of_a_request_that_was_sent_twice_change_nothing) {
  fault::Store faulty(*store_, {fault::at_call(1, {fault::Kind::duplicate}), nullptr});
  const std::vector<Operation> group = {scenario().make(*this)};
  const auto twice = faulty.commit(group);
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->front().kind, scenario().again);
  const View after = view();
  ASSERT_TRUE(faulty.commit(group));
  EXPECT_EQ(view(), after);
}

INSTANTIATE_TEST_SUITE_P(stores, LostReplies,
                         testing::Combine(testing::ValuesIn(all_stores()), testing::ValuesIn(repeated)),
                         store_case_name<Repeated>);

// A repeated replacement looks like a second, intended one: the second run replaces the first. After a repetition there
// is one run, and every other one got a message to stop.
class LostReplacements : public StoreTest {};

TEST_P(LostReplacements, leave_one_run_and_tell_every_other_to_stop) {
  std::vector<RunId> runs = {submit("a")};
  Submit again{Namespace("default"), JobId("a"), lane_, {GraphName("g"), 1, 1}, "", clock_.now()};
  again.reuse = Reuse::replace;
  const std::vector<Operation> group = {again};
  fault::Store faulty(*store_, {fault::at_call(1, {fault::Kind::error_after}), nullptr});
  ASSERT_FALSE(faulty.commit(group));
  runs.push_back(**store_->find_run(Namespace("default"), JobId("a")));
  const auto repeated_once = faulty.commit(group);
  ASSERT_TRUE(repeated_once);
  EXPECT_EQ(repeated_once->front().replaced(), runs.back());
  runs.push_back(repeated_once->front().run());
  EXPECT_EQ(**store_->find_run(Namespace("default"), JobId("a")), runs.back());
  for (const RunId run : runs) {
    std::size_t interrupts = 0;
    for (const core::InboxMessage& one : job(run).inbox)
      interrupts += std::holds_alternative<core::Interrupt>(one.message.body) ? 1 : 0;
    EXPECT_EQ(interrupts, run == runs.back() ? 0u : 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(stores, LostReplacements, testing::ValuesIn(all_stores()), store_name);

// A connection that breaks in the middle of a group: when the whole group is repeated, every operation happens once.
struct Cut {
  std::string name;
  std::size_t applied;
};
std::vector<Cut> cuts() {
  std::vector<Cut> all;
  for (std::size_t i = 0; i <= 6; ++i) all.push_back({format("after_{}", i), i});
  return all;
}

class Cuts : public StoreCaseTest<Cut> {};

TEST_P(Cuts, of_a_group_that_is_repeated_apply_each_operation_once) {
  std::vector<RunId> runs;
  std::vector<Operation> group;
  for (std::size_t i = 0; i < 6; ++i) {
    runs.push_back(submit(format("job-{}", i)));
    group.emplace_back(
        bundle_with(runs.back(), {core::PutActivity{std::nullopt, activity(0)}, core::PutMessage{start_message(i)}}));
  }
  fault::Store faulty(*store_, {fault::at_call(1, {fault::Kind::drop_midway, scenario().applied}), nullptr});
  const auto cut = faulty.commit(group);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::outcome_unknown);
  const auto again = faulty.commit(group);
  ASSERT_TRUE(again);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ((*again)[i].kind, i < scenario().applied ? OutcomeKind::already_done : OutcomeKind::committed) << i;
    EXPECT_EQ(job(runs[i]).state.job.rev, core::Rev(1));
    EXPECT_EQ(job(runs[i]).inbox.size(), 2u);
  }
}

INSTANTIATE_TEST_SUITE_P(stores, Cuts, testing::Combine(testing::ValuesIn(all_stores()), testing::ValuesIn(cuts())),
                         store_case_name<Cut>);

}  // namespace

}  // namespace pawl::store
