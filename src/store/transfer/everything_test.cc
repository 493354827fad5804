// One of everything that random histories do not have: signals and their registrations, messages between lanes, jobs of
// collation duplex. It is moved through all kinds of stores and comes back unchanged.
#include "store/transfer/kinds_test.h"

namespace pawl::store::transfer {

namespace {

constexpr Duration lease = std::chrono::seconds(30);
const core::LaneId lane(1);
const core::LaneId other_lane(2);

core::Guid guid(std::uint64_t number) { return core::Guid{number, Random::mix(number + 1)}; }
store::Place at(std::uint32_t node) { return {node, *ledger::Dimensions::parse(",0,0")}; }
const core::MailboxKey mailbox_key{Namespace("default"), Topic("paid"), "order-\xc3\xa9-1"};

class MovedWhole : public testing::Test {
 protected:
  Outcome commit(Operation operation) {
    auto outcomes = store_->commit({&operation, 1});
    if (outcomes) return std::move(outcomes->front());
    ADD_FAILURE() << to_string(outcomes.error());
    return {};
  }
  DuplexOutcome commit_duplex(const DuplexOperation& operation) {
    auto outcome = duplex().commit_one(operation);
    if (outcome) return std::move(*outcome);
    ADD_FAILURE() << to_string(outcome.error());
    return {};
  }
  DuplexStore& duplex() { return home_->duplex(*store_); }

  void open(Kind kind) {
    home_ = make_home(kind);
    auto opened = home_->open(clock_);
    ASSERT_TRUE(opened) << to_string(opened.error());
    store_ = std::move(*opened);
    ASSERT_EQ(commit(OpenPool{Pool("graphs"), 2}).kind, OutcomeKind::committed);
    ASSERT_EQ(commit(OpenPool{Pool("other"), 1}).kind, OutcomeKind::committed);
    take_lanes();
  }
  void take_lanes() {
    epoch_ = commit(AcquireLane{lane, "engine", lease}).epoch();
    other_epoch_ = commit(AcquireLane{other_lane, "engine", lease}).epoch();
  }
  // The lanes are given back, the store is closed, moved and opened in its new place.
  void move_to(Kind kind) {
    commit(ReleaseLane{lane, epoch_});
    commit(ReleaseLane{other_lane, other_epoch_});
    store_.reset();
    auto to = make_home(kind);
    const auto moved = move_between(*home_, *to, clock_);
    ASSERT_TRUE(moved) << to_string(moved.error());
    delivered_ = moved->delivered;
    home_ = std::move(to);
    auto opened = home_->open(clock_);
    ASSERT_TRUE(opened) << to_string(opened.error());
    store_ = std::move(*opened);
    take_lanes();
  }

  static Deliver signal(std::uint64_t number, const std::string& data) {
    Deliver deliver;
    deliver.envelope.to = mailbox_key;
    deliver.envelope.message = {guid(number), core::Signal{Payload(data), core::ReplyStatus::success, 200}};
    deliver.lane = lane;
    deliver.remembered = true;
    return deliver;
  }
  RunId submit(const std::string& id, core::LaneId to = lane) {
    return commit(Submit{Namespace("default"), JobId(id), to, {GraphName("g"), 1, 1}, "in", clock_.now()}).run();
  }
  core::Bundle bundle(RunId run, std::vector<core::Write> writes) {
    const auto job = store_->read_job(run);
    EXPECT_TRUE(job && *job);
    core::JobHead head;
    head.next_activity = (*job)->state.job.next_activity;
    return {run,
            core::lane_of(run) == lane ? epoch_ : other_epoch_,
            (*job)->state.job.rev,
            core::BundleId(++bundles_),
            head,
            std::move(writes)};
  }

  ManualClock clock_;
  std::unique_ptr<Home> home_;
  std::unique_ptr<Store> store_;
  core::Epoch epoch_{0}, other_epoch_{0};
  std::uint64_t bundles_ = 100;
  std::uint64_t delivered_ = 0;
};

TEST_F(MovedWhole, mailboxes_with_signals_that_wait_and_are_out) {
  open(Kind::sqlite);
  const RunId waits = submit("waits");
  const RunId box = commit(signal(1, "first")).run();
  commit(signal(2, "second"));
  const auto head = store_->read_mailbox(box);
  ASSERT_TRUE(head && *head);
  // One signal becomes an entry that is offered to a registration, one waits, one is still in the inbox.
  std::vector<core::Write> writes = {
      core::PutEntry{
          {0, guid(1), core::Signal{"first", core::ReplyStatus::success, 200}, clock_.now() + lease, guid(9)}},
      core::PutEntry{
          {1, guid(2), core::Signal{"second", core::ReplyStatus::success, 200}, clock_.now() + lease, std::nullopt}},
      core::PutEntry{{2, guid(9), core::Register{waits, core::ActivitySeq(0)}, Instant(), std::nullopt}},
      core::Consume{guid(1)},
      core::Consume{guid(2)},
      core::PutMessage{{core::expiry_of(guid(2)), core::Expire{guid(2)}}, clock_.now() + lease}};
  ASSERT_EQ(commit(core::Bundle{box, epoch_, (*head)->state.rev, core::BundleId(7), core::MailboxHead{3}, writes}).kind,
            OutcomeKind::committed);
  commit(signal(3, "third"));
  const StoredMailbox before = **store_->read_mailbox(box);
  ASSERT_EQ(before.state.entries.size(), 3u);

  for (const Kind kind : {Kind::redis, Kind::postgres, Kind::cluster, Kind::sqlite}) {
    SCOPED_TRACE(name_of(kind));
    ASSERT_NO_FATAL_FAILURE(move_to(kind));
    const auto found = store_->find_mailbox(mailbox_key);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ(**found, box);
    const auto after = store_->read_mailbox(box);
    ASSERT_TRUE(after && *after);
    EXPECT_EQ((*after)->state, before.state);
    EXPECT_EQ((*after)->inbox, before.inbox);
    EXPECT_EQ((*after)->timers, before.timers);
    // Signals sent before are recognised, and new ones come behind them.
    EXPECT_EQ(commit(signal(3, "third")).kind, OutcomeKind::already_done);
    const auto page = store_->read_mailbox_page(box, {}, clock_.now());
    ASSERT_TRUE(page && *page);
    EXPECT_EQ((*page)->inbox.size(), before.inbox.size());
  }
  EXPECT_EQ(commit(signal(4, "fourth")).kind, OutcomeKind::committed);
  EXPECT_EQ((*store_->read_mailbox(box))->inbox.back().message.guid, guid(4));
}

TEST_F(MovedWhole, what_is_on_its_way_arrives_once_where_sends_are_direct) {
  for (const Kind direct : {Kind::sqlite, Kind::postgres}) {
    SCOPED_TRACE(name_of(direct));
    open(Kind::redis);
    const RunId sender = submit("sender");
    const RunId taker = submit("taker", other_lane);
    const auto send = [&](std::uint64_t number) {
      return core::Send{{taker, {guid(number), core::Start{Payload(format("{}", number))}}}, other_lane};
    };
    ASSERT_EQ(commit(bundle(sender, {send(1), send(2)})).kind, OutcomeKind::committed);
    ASSERT_EQ(commit(bundle(sender, {send(3)})).kind, OutcomeKind::committed);
    // The first one was delivered, and the sender's lane does not know it yet.
    Deliver first;
    first.envelope = send(1).envelope;
    first.lane = other_lane;
    first.source = Deliver::Source{lane, 1};
    ASSERT_EQ(commit(first).kind, OutcomeKind::committed);
    ASSERT_NO_FATAL_FAILURE(move_to(Kind::cluster));  // there they still wait
    EXPECT_EQ(delivered_, 0u);
    EXPECT_EQ(store_->read_outbox(lane, 10)->size(), 3u);
    ASSERT_NO_FATAL_FAILURE(move_to(direct));
    EXPECT_EQ(delivered_, 3u);
    EXPECT_TRUE(store_->read_outbox(lane, 10)->empty());
    const auto job = store_->read_job(taker);
    ASSERT_TRUE(job && *job);
    std::vector<core::Guid> names;
    for (const core::InboxMessage& message : (*job)->inbox) names.push_back(message.message.guid);
    names.erase(names.begin());  // its start
    EXPECT_EQ(names, (std::vector{guid(1), guid(2), guid(3)}));
    EXPECT_EQ(commit(first).kind, OutcomeKind::already_done);
    store_.reset();
  }
}

TEST_F(MovedWhole, jobs_of_collation_duplex) {
  open(Kind::postgres);
  const auto start = [&](const std::string& id) {
    return commit_duplex(StartDuplex{Namespace("default"),
                                     JobId(id),
                                     lane,
                                     {GraphName("d"), 1, 7},
                                     "input",
                                     clock_.now(),
                                     core::JobSecret(guid(77))})
        .run();
  };
  const RunId run = start("open");
  const RunId parked = start("parked");
  const RunId over = start("over");
  for (std::uint32_t node = 3; node > 0; --node) commit_duplex(SetCell{run, at(node), 1'000'000'000'000, clock_.now()});
  commit_duplex(AddToCell{run, at(2), 1, guid(1)});
  commit_duplex(NameCloser{run, at(2), guid(2), core::ActivityStatus::errored, -5, clock_.now(), "said"});
  commit_duplex(OpenAddress{run, at(2)});
  commit_duplex(OpenAddress{run, at(3)});
  commit_duplex(CloseAddress{run, at(3)});
  const auto put = [&](std::uint64_t number, stream::Body body) {
    commit_duplex(Enqueue{{run, guid(number), std::move(body)}});
  };
  put(11, stream::Reply{at(3), core::ReplyStatus::pending, -7, 9, "data"});
  put(12, stream::Request{at(3), Topic("work"), "asked"});
  put(13, stream::Cleanup{stream::Cleanup::Failure{500, "why"}});
  put(14, stream::Transition{at(1), "on"});
  // The starts are claimed; one of them is done, one is given back for a while.
  const auto handed = commit_duplex(Dequeue{lane, Topic(""), 3, ClaimId(5), epoch_, lease}).take_handed();
  ASSERT_EQ(handed.messages.size(), 3u);
  commit_duplex(Ack{run, handed.messages[0].message.guid, ClaimId(5)});
  commit_duplex(GiveBack{parked, handed.messages[1].message.guid, ClaimId(5), std::chrono::seconds(60)});
  commit_duplex(ParkDuplex{parked, "odd"});
  commit_duplex(
      EndDuplex{over, core::JobStatus::completed, "result", "", clock_.now(), handed.messages[2].message.guid});
  const auto read = [&](RunId which) {
    const auto job = duplex().read(which);
    EXPECT_TRUE(job && *job) << (job ? "" : to_string(job.error()));
    return job && *job ? **job : DuplexJob{};
  };
  const DuplexJob before = read(run);
  const DuplexJob parked_before = read(parked);
  const DuplexJob over_before = read(over);

  for (const Kind kind : {Kind::redis, Kind::sqlite, Kind::cluster, Kind::postgres}) {
    SCOPED_TRACE(name_of(kind));
    ASSERT_NO_FATAL_FAILURE(move_to(kind));
    EXPECT_EQ(read(run), before);
    EXPECT_EQ(read(parked), parked_before);
    EXPECT_EQ(read(over), over_before);
    // What was done stays done.
    EXPECT_EQ(commit_duplex(AddToCell{run, at(2), 1, guid(1)}).kind, OutcomeKind::already_done);
    EXPECT_EQ(commit_duplex(OpenAddress{run, at(3)}).kind, OutcomeKind::already_done);
    EXPECT_EQ(commit_duplex(Enqueue{{run, handed.messages[0].message.guid, stream::Start{"input"}}}).kind,
              OutcomeKind::already_done);
  }
  // The order continues: first what waits, then what comes now. The claim of the old owner ends with its epoch.
  put(15, stream::Transition{at(2), "last"});
  const auto rest = commit_duplex(Dequeue{lane, Topic(""), 10, ClaimId(6), epoch_, lease}).take_handed();
  std::vector<core::Guid> names;
  for (const ClaimedMessage& one : rest.messages)
    if (one.message.run == run) names.push_back(one.message.guid);
  EXPECT_EQ(names, (std::vector{guid(11), guid(13), guid(14), guid(15)}));
  EXPECT_EQ(commit_duplex(Dequeue{lane, Topic("work"), 10, ClaimId(8), epoch_, lease}).take_handed().messages.size(),
            1u);
}

TEST_F(MovedWhole, numbers_go_on_behind_those_that_were_given) {
  open(Kind::redis);
  const RunId first = submit("first");
  ASSERT_EQ(commit(bundle(first, {core::Announce{Topic("told"), core::Announce::What::progress,
                                                 core::ReplyStatus::pending, 202, clock_.now(), "one"}}))
                .kind,
            OutcomeKind::committed);
  const core::Guid id = store_->id();
  for (const Kind kind : {Kind::sqlite, Kind::postgres, Kind::cluster}) {
    SCOPED_TRACE(name_of(kind));
    const core::Epoch epoch = epoch_;
    ASSERT_NO_FATAL_FAILURE(move_to(kind));
    EXPECT_EQ(store_->id(), id);
    EXPECT_GT(epoch_, epoch);
    const RunId next = submit(name_of(kind));
    EXPECT_GT(next, first);
    ASSERT_EQ(commit(bundle(next, {core::Announce{Topic("told"), core::Announce::What::end, core::ReplyStatus::success,
                                                  200, clock_.now(), "more"}}))
                  .kind,
              OutcomeKind::committed);
    EXPECT_EQ(commit(OpenPool{Pool("third"), 1}).kind,
              kind == Kind::sqlite ? OutcomeKind::committed : OutcomeKind::already_done);
  }
  AnnouncementQuery query;
  query.lane = lane;
  const auto said = store_->read_announcements(query);
  ASSERT_TRUE(said);
  ASSERT_EQ(said->size(), 4u);
  for (std::size_t i = 0; i < said->size(); ++i) EXPECT_EQ((*said)[i].seq, i + 1);
  EXPECT_EQ(store_->list_jobs({})->size(), 4u);
}

}  // namespace

}  // namespace pawl::store::transfer
