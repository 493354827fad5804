// Work that the lane's owner has in hand is in its job's hash while it is the only one of the job. Whoever reads or
// changes it does not notice.
#include <numeric>

#include "store/read.h"
#include "store/redis/bench_test.h"

namespace pawl::store::redis {

namespace {

using std::chrono::seconds;

class RedisHands : public OwnStore {
 protected:
  void SetUp() override {
    Options options;
    options.prefix = prefix_ = fresh_prefix();
    options.accept_weaker = true;
    use(shared_server().url(), options);
  }
  std::string key(const std::string& name) const { return format("{}:{{{}}}:{}", prefix_, lane_.raw(), name); }
  std::string hash_of(RunId run) const { return key(format("run:{}", run.raw())); }
  bool is_in_its_hash(RunId run) { return shared_server().ask({"HEXISTS", hash_of(run), "w"}) == "1"; }

  core::WorkItem item_for(RunId run, std::uint32_t activity, const std::string& input) const {
    core::WorkItem item;
    item.run = run;
    item.activity = core::ActivitySeq(activity);
    item.topic = Topic("t");
    item.request = core::Guid::of_run(run).derive(core::Guid::Purpose::request, activity);
    item.input = Payload(input);
    item.token = core::WorkToken(100 + activity);
    item.epoch = epoch_;
    item.runs = 1;
    item.worker = "here";
    return item;
  }
  // Ends these activities and their work, and opens the next ones with work in hand.
  core::Bundle step_of(RunId run, const std::vector<std::uint32_t>& ended, const std::vector<std::string>& inputs) {
    core::Bundle bundle = bundle_for(run);
    auto& head = std::get<core::JobHead>(bundle.head);
    const StoredJob stored = job(run);
    for (const std::uint32_t seq : ended) {
      core::Activity after = *stored.state.find(core::ActivitySeq(seq));
      const auto before = after.ledger;
      after.ledger = *ledger::ActivityLedger::decode(1'111'000'000'001);
      after.status = core::ActivityStatus::completed;
      bundle.writes.push_back(core::PutActivity{before, after});
      bundle.writes.push_back(core::DropWork{after.seq, core::WorkToken(100 + seq)});
    }
    for (const std::string& input : inputs) {
      core::Activity activity;
      activity.seq = core::ActivitySeq(head.next_activity);
      activity.ledger = *ledger::ActivityLedger::decode(1'100'000'000'000);
      bundle.writes.push_back(core::PutActivity{std::nullopt, activity});
      bundle.writes.push_back(core::PutWork{item_for(run, head.next_activity++, input)});
    }
    return bundle;
  }
  // A job with its trigger, which has no work.
  RunId begin(const std::string& id) {
    const RunId run = submit(id);
    core::Bundle bundle = bundle_for(run);
    core::Activity trigger;
    trigger.ledger = *ledger::ActivityLedger::decode(1'100'000'000'000);
    std::get<core::JobHead>(bundle.head).next_activity = 1;
    bundle.writes = {core::PutActivity{std::nullopt, trigger}};
    EXPECT_EQ(commit(bundle).kind, OutcomeKind::committed);
    return run;
  }
  // Its first work is of activity 1.
  RunId job_in_hand(const std::string& id, const std::vector<std::string>& inputs) {
    const RunId run = begin(id);
    EXPECT_EQ(commit(step_of(run, {}, inputs)).kind, OutcomeKind::committed);
    return run;
  }
  std::vector<core::WorkItem> all_work() {
    auto page = store_->read_work(lane_, {}, 100);
    EXPECT_TRUE(page && page->damaged.empty());
    return page ? std::vector<core::WorkItem>(page->begin(), page->end()) : std::vector<core::WorkItem>();
  }
  void every_reader_sees(const std::vector<core::WorkItem>& items) {
    EXPECT_EQ(all_work(), items);
    std::vector<WorkPlace> places;
    for (const core::WorkItem& item : items) {
      places.push_back({item.run, item.activity, item.topic});
      const StoredJob stored = job(item.run);
      const core::WorkItem* known = stored.state.find_work(item.activity);
      ASSERT_NE(known, nullptr);
      EXPECT_EQ(*known, item);
      const auto read = answer_to(*store_, ReadItem{item.run, item.activity});
      ASSERT_TRUE(read && *read);
      EXPECT_EQ(**read, item);
      const std::vector<Read> reads = {ReadItem{item.run, item.activity},
                                       ReadItem{item.run, core::ActivitySeq(item.activity.raw() + 50)}};
      const auto answers = store_->read(reads);
      const auto& first = std::get<Answered<ReadItem>>(answers.at(0));
      ASSERT_TRUE(first.value && *first.value);
      EXPECT_EQ(**first.value, item);
      EXPECT_FALSE(*std::get<Answered<ReadItem>>(answers.at(1)).value);
    }
    const auto page = store_->read_work_places(lane_, {}, 100);
    ASSERT_TRUE(page);
    EXPECT_EQ(std::vector<WorkPlace>(page->begin(), page->end()), places);
  }

  std::string prefix_;
  const std::string long_input_ = std::string(5'000, 'i');
  const std::string odd_input_ = std::string("a\nb\0c \xff", 8);
};

TEST_F(RedisHands, the_only_work_of_a_job_is_in_its_hash_and_every_reader_sees_it) {
  const RunId a = job_in_hand("a", {"{}"});
  const RunId b = job_in_hand("b", {long_input_});
  const RunId c = job_in_hand("c", {""});
  const RunId d = job_in_hand("d", {odd_input_});
  for (const RunId run : {a, b, c, d}) EXPECT_TRUE(is_in_its_hash(run));
  EXPECT_EQ(shared_server().ask({"EXISTS", key("items")}), "0");
  every_reader_sees(
      {item_for(a, 1, "{}"), item_for(b, 1, long_input_), item_for(c, 1, ""), item_for(d, 1, odd_input_)});
}

TEST_F(RedisHands, pages_of_one_row_miss_none_and_repeat_none) {
  std::vector<core::WorkItem> expected;
  for (const char* id : {"a", "b", "c"}) {
    const RunId run = job_in_hand(id, {"1"});
    expected.push_back(item_for(run, 1, "1"));
    const RunId wide = job_in_hand(std::string("wide ") + id, {"1", "2"});
    expected.push_back(item_for(wide, 1, "1"));
    expected.push_back(item_for(wide, 2, "2"));
  }
  std::vector<core::WorkItem> seen;
  WorkCursor after;
  for (;;) {
    const auto page = store_->read_work(lane_, after, 1);
    ASSERT_TRUE(page);
    if (page->empty()) break;
    seen.insert(seen.end(), page->begin(), page->end());
    after = {page->back().run, page->back().activity};
  }
  EXPECT_EQ(seen, expected);
}

TEST_F(RedisHands, the_next_work_takes_its_place_and_the_last_one_leaves_nothing) {
  const RunId run = job_in_hand("a", {long_input_});
  ASSERT_EQ(commit(step_of(run, {1}, {"short"})).kind, OutcomeKind::committed);
  EXPECT_EQ(shared_server().ask({"HEXISTS", hash_of(run), "w:in"}), "0");
  every_reader_sees({item_for(run, 2, "short")});
  ASSERT_EQ(commit(step_of(run, {2}, {long_input_})).kind, OutcomeKind::committed);
  every_reader_sees({item_for(run, 3, long_input_)});
  ASSERT_EQ(commit(step_of(run, {3}, {})).kind, OutcomeKind::committed);
  for (const char* field : {"w", "w:in"}) EXPECT_EQ(shared_server().ask({"HEXISTS", hash_of(run), field}), "0");
  EXPECT_EQ(shared_server().ask({"EXISTS", key("places")}), "0");
  every_reader_sees({});
}

TEST_F(RedisHands, work_that_joins_it_is_where_all_other_work_is) {
  const RunId run = job_in_hand("a", {"0"});
  ASSERT_EQ(commit(step_of(run, {}, {long_input_})).kind, OutcomeKind::committed);
  EXPECT_FALSE(is_in_its_hash(run));
  every_reader_sees({item_for(run, 1, "0"), item_for(run, 2, long_input_)});
  ASSERT_EQ(commit(step_of(run, {1}, {"2"})).kind, OutcomeKind::committed);
  EXPECT_FALSE(is_in_its_hash(run)) << "it is not the only one";
  every_reader_sees({item_for(run, 2, long_input_), item_for(run, 3, "2")});
  ASSERT_EQ(commit(step_of(run, {2, 3}, {})).kind, OutcomeKind::committed);
  ASSERT_EQ(commit(step_of(run, {}, {"3"})).kind, OutcomeKind::committed);
  EXPECT_TRUE(is_in_its_hash(run));
  EXPECT_EQ(shared_server().ask({"EXISTS", key("items")}), "0");
}

// What the owner holds and what waits for a worker come in one bundle: also the first one is where the other one is.
TEST_F(RedisHands, with_work_that_waits_for_others_it_is_where_all_other_work_is) {
  const RunId run = begin("a");
  core::Bundle both = step_of(run, {}, {"0", "1"});
  core::WorkItem& waits = std::get<core::PutWork>(both.writes.at(3)).item;
  waits.token = core::WorkToken(0);
  waits.epoch = core::Epoch(0);
  waits.runs = 0;
  waits.worker.clear();
  const core::WorkItem known = waits;
  ASSERT_EQ(commit(both).kind, OutcomeKind::committed);
  EXPECT_FALSE(is_in_its_hash(run));
  every_reader_sees({item_for(run, 1, "0"), known});
}

// Several bundles of one job in one group: what is written at the end of the group is seen by each of them.
TEST_F(RedisHands, of_one_group_each_bundle_sees_what_the_ones_before_did) {
  const RunId run = begin("a");
  const RunId other = begin("b");
  std::vector<Operation> group;
  const auto add = [&](RunId of, std::uint64_t rev, std::uint32_t next, core::Bundle bundle) {
    bundle.rev_before = core::Rev(rev);
    std::get<core::JobHead>(bundle.head).next_activity = next + 1;
    for (core::Write& write : bundle.writes) {
      if (auto* put = std::get_if<core::PutActivity>(&write)) put->after.seq = core::ActivitySeq(next);
      if (auto* work = std::get_if<core::PutWork>(&write)) work->item = item_for(of, next, "x");
    }
    group.emplace_back(std::move(bundle));
  };
  const auto drops = [&](std::uint64_t rev, std::uint32_t next, std::uint32_t seq) {
    core::Bundle bundle = bundle_for(run);
    bundle.rev_before = core::Rev(rev);
    std::get<core::JobHead>(bundle.head).next_activity = next;
    bundle.writes = {core::DropWork{core::ActivitySeq(seq), core::WorkToken(100 + seq)}};
    group.emplace_back(std::move(bundle));
  };
  add(run, 1, 1, step_of(run, {}, {"x"}));
  add(other, 1, 1, step_of(other, {}, {"x"}));
  drops(2, 2, 1);
  add(run, 3, 2, step_of(run, {}, {"x"}));
  add(run, 4, 3, step_of(run, {}, {"x"}));
  drops(5, 4, 2);
  const auto outcomes = store_->commit(group);
  ASSERT_TRUE(outcomes);
  for (const Outcome& outcome : *outcomes) EXPECT_EQ(outcome.kind, OutcomeKind::committed) << outcome.reason;
  every_reader_sees({item_for(run, 3, "x"), item_for(other, 1, "x")});
}

TEST_F(RedisHands, a_token_that_does_not_hold_it_ends_nothing) {
  const RunId run = job_in_hand("a", {"0"});
  core::Bundle wrong = step_of(run, {1}, {});
  std::get<core::DropWork>(wrong.writes.at(1)).token = core::WorkToken(10);  // "101" begins with it
  EXPECT_EQ(commit(wrong).kind, OutcomeKind::conflict);
  EXPECT_EQ(commit(ExtendWork{run, core::ActivitySeq(1), core::WorkToken(7), seconds(30)}).kind, OutcomeKind::conflict);
  every_reader_sees({item_for(run, 1, "0")});
}

// What was released comes before what was put later.
TEST_F(RedisHands, released_it_is_in_the_queue_at_its_old_place) {
  const RunId first = job_in_hand("a", {"first"});
  const RunId second = submit("b");
  put_work(second, "t");
  ASSERT_EQ(commit(ReleaseWork{first, core::ActivitySeq(1), core::WorkToken(101), epoch_}).kind,
            OutcomeKind::committed);
  EXPECT_FALSE(is_in_its_hash(first));
  const auto claimed = claim({"t"}, 2, seconds(30));
  ASSERT_EQ(claimed.size(), 2u);
  EXPECT_EQ(claimed[0].run, first);
  EXPECT_EQ(claimed[0].input, Payload("first"));
  EXPECT_EQ(claimed[1].run, second);
}

TEST_F(RedisHands, extended_it_stays_held_and_its_job_ends_it) {
  const RunId run = job_in_hand("a", {long_input_});
  ExtendWork extend{run, core::ActivitySeq(1), core::WorkToken(101), seconds(30)};
  extend.progress = Payload("half");
  ASSERT_EQ(commit(extend).kind, OutcomeKind::committed);
  core::WorkItem known = item_for(run, 1, long_input_);
  known.life.progress = Payload("half");
  every_reader_sees({known});
  ASSERT_EQ(commit(step_of(run, {1}, {"next"})).kind, OutcomeKind::committed);
  EXPECT_TRUE(is_in_its_hash(run));
  EXPECT_EQ(shared_server().ask({"EXISTS", key("items")}), "0");
}

TEST_F(RedisHands, a_pause_holds_it_and_an_end_removes_it) {
  const RunId run = job_in_hand("a", {"0"});
  core::Bundle pause = bundle_for(run);
  pause.writes = {core::HoldWork{true}};
  ASSERT_EQ(commit(pause).kind, OutcomeKind::committed);
  core::WorkItem held = item_for(run, 1, "0");
  held.held = true;
  every_reader_sees({held});
  const RunId other = job_in_hand("b", {"0"});
  for (const RunId one : {run, other}) close(one);
  every_reader_sees({});
  for (const char* name : {"items", "places"}) EXPECT_EQ(shared_server().ask({"EXISTS", key(name)}), "0");
  EXPECT_FALSE(is_in_its_hash(other));
}

TEST_F(RedisHands, a_place_without_its_work_is_reported_and_not_passed_over) {
  const RunId run = job_in_hand("a", {"0"});
  shared_server().ask({"HSET", hash_of(run), "w", "no item"});
  EXPECT_FALSE(store_->read_job(run));
  const auto page = store_->read_work(lane_, {}, 10);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->damaged.size(), 1u);
  EXPECT_EQ(page->damaged[0].run, run);
}

// The place says that a job has work in hand, and its hash has none.
TEST_F(RedisHands, a_place_whose_work_is_lost_does_not_hide_the_work_of_other_jobs) {
  const RunId lost = job_in_hand("a", {"0"});
  const RunId whole = job_in_hand("b", {"0"});
  shared_server().ask({"HDEL", hash_of(lost), "w"});
  EXPECT_FALSE(store_->read_job(lost));
  const auto page = store_->read_work(lane_, {}, 10);
  ASSERT_TRUE(page) << to_string(page.error());
  EXPECT_EQ(std::vector<core::WorkItem>(page->begin(), page->end()), std::vector{item_for(whole, 1, "0")});
  ASSERT_EQ(page->damaged.size(), 1u);
  EXPECT_EQ(page->damaged[0].run, lost);
  const auto places = store_->read_work_places(lane_, {}, 10);
  ASSERT_TRUE(places) << to_string(places.error());
  ASSERT_EQ(places->size(), 1u);
  EXPECT_EQ(places->front().run, whole);
  EXPECT_EQ(places->damaged.size(), 1u);
}

TEST_F(RedisHands, what_is_asked_of_damaged_work_is_refused_and_the_rest_of_its_group_is_done) {
  const RunId damaged = job_in_hand("a", {"0"});
  shared_server().ask({"HSET", hash_of(damaged), "w", "no item"});
  const core::ActivitySeq one(1);
  core::Reply answer;
  answer.activity = one;
  answer.token = core::WorkToken(101);
  const DeliverReply reply{damaged, one, answer.token, {core::Guid{1, 7}, answer}};
  const std::vector<Operation> group = {ExtendWork{damaged, one, core::WorkToken(101), seconds(30)},
                                        ReleaseWork{damaged, one, core::WorkToken(101), epoch_},
                                        ClaimItem{damaged, one, core::WorkToken(101), "other", epoch_}, reply,
                                        a_job("b", lane_)};
  const auto outcomes = store_->commit(group);
  ASSERT_TRUE(outcomes) << to_string(outcomes.error());
  for (std::size_t i = 0; i + 1 < group.size(); ++i) EXPECT_EQ((*outcomes)[i].kind, OutcomeKind::conflict) << i;
  EXPECT_EQ(outcomes->back().kind, OutcomeKind::committed);
}

TEST_F(RedisHands, laid_down_an_input_of_any_bytes_stays_as_it_was) {
  for (const std::string& input : {odd_input_, std::string("\n"), std::string("\n\nx "), std::string(), long_input_}) {
    const RunId run = job_in_hand(format("a{}", input.size()), {input});
    ASSERT_TRUE(is_in_its_hash(run));
    ASSERT_EQ(commit(ExtendWork{run, core::ActivitySeq(1), core::WorkToken(101), seconds(30)}).kind,
              OutcomeKind::committed);
    EXPECT_FALSE(is_in_its_hash(run));
    const auto read = answer_to(*store_, ReadItem{run, core::ActivitySeq(1)});
    ASSERT_TRUE(read && *read);
    EXPECT_EQ(**read, item_for(run, 1, input));
  }
}

// Another engine takes the lane over, finds the work, page by page, and runs it again.
TEST_F(RedisHands, the_next_owner_of_the_lane_finds_it_and_claims_it) {
  std::vector<core::WorkItem> expected;
  for (const char* id : {"a", "b", "c"}) expected.push_back(item_for(job_in_hand(id, {id}), 1, id));
  ASSERT_TRUE(commit(ReleaseLane{lane_, epoch_}).done());
  const core::Epoch before = epoch_;
  epoch_ = commit(AcquireLane{lane_, "engine-b", seconds(30)}).epoch();
  WorkCursor after;
  for (const core::WorkItem& known : expected) {
    const auto page = store_->read_work_places(lane_, after, 1);
    ASSERT_TRUE(page);
    ASSERT_EQ(page->size(), 1u);
    after = {page->front().run, page->front().activity};
    EXPECT_EQ(after.run, known.run);
    ClaimItem claim{known.run, known.activity, known.token, "there", before};
    EXPECT_EQ(commit(claim).kind, OutcomeKind::fenced);
    claim.epoch = epoch_;
    const auto claimed = commit(claim).items();
    ASSERT_EQ(claimed.size(), 1u);
    EXPECT_EQ(claimed[0].input, known.input);
    EXPECT_EQ(claimed[0].runs, known.runs + 1);
    core::Bundle late = step_of(known.run, {1}, {});
    EXPECT_EQ(commit(late).kind, OutcomeKind::conflict) << "its token is another one";
    std::get<core::DropWork>(late.writes.at(1)).token = claimed[0].token;
    EXPECT_EQ(commit(late).kind, OutcomeKind::committed);
  }
  every_reader_sees({});
  for (const char* name : {"items", "places"}) EXPECT_EQ(shared_server().ask({"EXISTS", key(name)}), "0");
}

// A claim stops the group until the caller has computed its token: what was gathered before is written, once.
TEST_F(RedisHands, a_group_that_stops_in_the_middle_has_written_what_came_before) {
  const RunId a = job_in_hand("a", {"0"});
  const RunId b = begin("b");
  const RunId waiting = begin("c");
  put_work(waiting, "far");
  const auto first = claim({"far"}, 1, seconds(30));
  ASSERT_EQ(first.size(), 1u);
  ASSERT_TRUE(commit(ReleaseWork{waiting, first[0].activity, first[0].token}).done());
  const std::vector<Operation> group = {step_of(a, {1}, {"1"}), a_job("d", lane_),
                                        ClaimWork{{Topic("far")}, 1, "w", seconds(30), lane_}, step_of(b, {}, {"2"}),
                                        a_job("d", lane_)};
  const auto outcomes = store_->commit(group);
  ASSERT_TRUE(outcomes) << to_string(outcomes.error());
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ((*outcomes)[i].kind, OutcomeKind::committed) << i;
  EXPECT_EQ((*outcomes)[4].kind, OutcomeKind::exists);
  EXPECT_EQ((*outcomes)[4].run(), (*outcomes)[1].run());
  ASSERT_EQ((*outcomes)[2].items().size(), 1u);
  every_reader_sees({item_for(a, 2, "1"), item_for(b, 1, "2"), (*outcomes)[2].items()[0]});
}

// Jobs that have other work too: each bundle asks for it, and nothing is written before the end of the group for that.
TEST_F(RedisHands, jobs_with_work_side_by_side_write_it_once_for_a_group) {
  std::vector<Operation> group;
  std::vector<core::WorkItem> expected;
  for (int i = 0; i < 8; ++i) {
    const RunId run = job_in_hand(format("a{}", i), {"1", "2"});
    group.push_back(step_of(run, {1}, {"3"}));
    expected.push_back(item_for(run, 2, "2"));
    expected.push_back(item_for(run, 3, "3"));
  }
  shared_server().ask({"CONFIG", "RESETSTAT"});
  const auto outcomes = store_->commit(group);
  const std::string stats = shared_server().ask({"INFO", "commandstats"});
  ASSERT_TRUE(outcomes);
  for (const Outcome& outcome : *outcomes) EXPECT_EQ(outcome.kind, OutcomeKind::committed);
  for (const char* command : {"zadd", "zrem"})
    EXPECT_NE(stats.find(format("cmdstat_{}:calls=1,", command)), std::string::npos) << command << "\n" << stats;
  every_reader_sees(expected);
}

// A fan-out ends much of its work in one bundle.
TEST_F(RedisHands, what_a_bundle_ends_together_is_read_together) {
  constexpr std::uint32_t width = 1'100;  // more than one command takes
  const RunId run = job_in_hand("a", std::vector<std::string>(width, "1"));
  std::vector<std::uint32_t> all(width - 1);
  std::iota(all.begin(), all.end(), 1);
  core::Bundle end = step_of(run, all, {});
  core::Bundle wrong = end;
  std::get<core::DropWork>(wrong.writes.back()).token = core::WorkToken(7);
  EXPECT_EQ(commit(wrong).kind, OutcomeKind::conflict);
  shared_server().ask({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(commit(end).kind, OutcomeKind::committed);
  EXPECT_EQ(shared_server().ask({"INFO", "commandstats"}).find("cmdstat_hget:"), std::string::npos);
  every_reader_sees({item_for(run, width, "1")});
}

TEST_F(RedisHands, a_closed_job_that_is_removed_leaves_none) {
  const RunId run = job_in_hand("a", {long_input_});
  core::Bundle bundle = bundle_for(run);
  auto& head = std::get<core::JobHead>(bundle.head);
  head.status = core::JobStatus::failed;
  head.completions = 1;
  ASSERT_EQ(commit(bundle).kind, OutcomeKind::committed);
  ASSERT_TRUE(is_in_its_hash(run));
  ASSERT_TRUE(commit(RemoveJob{run, Instant()}).done());
  for (const std::string& name : {key("items"), key("places"), hash_of(run)})
    EXPECT_EQ(shared_server().ask({"EXISTS", name}), "0") << name;
}

}  // namespace

}  // namespace pawl::store::redis
