// Each known mistake of stores over Redis, by name, with a test that this store does not make it.
#include <thread>

#include "store/redis/bench_test.h"

namespace pawl::store::redis {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RedisTraps : public OwnStore {
 protected:
  void SetUp() override {
    Options options;
    options.prefix = prefix_ = fresh_prefix();
    options.accept_weaker = true;
    use(shared_server().url(), options);
  }
  // All keys of this store, except those that a store always has.
  std::vector<std::string> keys() {
    std::vector<std::string> names;
    const std::string found = shared_server().ask({"KEYS", prefix_ + ":*"});
    for (std::size_t at = 0; at < found.size();) {
      const std::size_t end = found.find('\n', at);
      names.push_back(found.substr(at, end - at));
      at = end == std::string::npos ? found.size() : end + 1;
    }
    std::erase_if(names, [&](const std::string& name) {
      const bool always = name.ends_with(":lane") || name.ends_with(":runs") || name.ends_with(":begun") ||
                          name.ends_with(":store") || name.ends_with(":pools");
      return always;
    });
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string key(const std::string& name) const { return format("{}:{{{}}}:{}", prefix_, lane_.raw(), name); }

  std::string prefix_;
};

TEST_F(RedisTraps, a_stale_heartbeat_is_refused_and_steals_nothing_back) {
  const RunId run = submit("a");
  put_work(run, "t");
  const core::WorkItem first = claim({"t"}, 1, milliseconds(1), "slow").at(0);
  std::this_thread::sleep_for(milliseconds(5));
  const core::WorkItem second = claim({"t"}, 1, seconds(30), "quick").at(0);
  EXPECT_NE(first.token, second.token);
  EXPECT_EQ(commit(ExtendWork{run, first.activity, first.token, seconds(30)}).kind, OutcomeKind::conflict);
  EXPECT_EQ(job(run).state.find_work(first.activity)->worker, "quick");
  EXPECT_EQ(commit(ExtendWork{run, second.activity, second.token, seconds(30)}).kind, OutcomeKind::committed);
}

// A script is not rolled back. What many bundles write is written once for all of them, so a failure in between must
// not cost the others a part of theirs.
TEST_F(RedisTraps, a_script_that_fails_leaves_every_bundle_before_whole) {
  const RunId sound = submit("a");
  const RunId damaged = submit("b");
  core::Bundle gives_work = bundle_for(sound);
  auto& head = std::get<core::JobHead>(gives_work.head);
  head.next_activity = 1;
  core::Activity activity;
  activity.ledger = *ledger::ActivityLedger::decode(1'100'000'000'000);
  core::WorkItem item;
  item.run = sound;
  item.topic = Topic("t");
  item.request = core::Guid{8, 8};
  item.input = "work";
  item.token = core::WorkToken(5);  // its owner has it
  item.epoch = epoch_;
  item.runs = 1;
  gives_work.writes = {core::PutActivity{std::nullopt, activity}, core::PutWork{item}};
  const core::Bundle fails = bundle_for(damaged);
  shared_server().ask({"HDEL", key(format("run:{}", damaged.raw())), "head"});
  const auto outcomes = store_->commit(std::vector<Operation>{gives_work, fails});
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.error().code, ErrorCode::outcome_unknown);
  const StoredJob stored = job(sound);
  EXPECT_EQ(stored.state.job.rev, core::Rev(1));
  ASSERT_NE(stored.state.find_work(core::ActivitySeq(0)), nullptr) << "nobody would ever do it";
  EXPECT_EQ(stored.state.find_work(core::ActivitySeq(0))->input, Payload("work"));
}

// Its first step was to take the start message, and could not even be checked.
TEST_F(RedisTraps, a_script_that_fails_in_a_first_step_leaves_the_start_message) {
  const RunId run(submit("a").raw() + 1);
  core::Bundle first;
  first.entity = run;
  first.epoch = epoch_;
  first.id = core::BundleId(77);
  first.with_submit = true;
  core::JobHead head;
  head.next_activity = 1;
  first.head = std::move(head);
  core::Activity activity;
  activity.ledger = *ledger::ActivityLedger::decode(1'100'000'000'000);
  core::WorkItem item;
  item.run = run;
  item.topic = Topic("t");
  item.request = core::Guid{8, 8};
  item.token = core::WorkToken(5);
  item.epoch = epoch_;
  item.runs = 1;
  first.writes = {core::PutActivity{std::nullopt, activity}, core::PutWork{item},
                  core::Consume{core::start_message(run, {}).guid}};
  shared_server().ask({"SET", key("paused"), "no set"});
  ASSERT_FALSE(store_->commit(std::vector<Operation>{a_job("b", lane_), first}));
  shared_server().ask({"DEL", key("paused")});
  const StoredJob stored = job(run);
  EXPECT_EQ(stored.state.job.rev, core::Rev(0));
  EXPECT_EQ(stored.inbox.size(), 1u) << "the job would never begin";
}

TEST_F(RedisTraps, a_lease_has_an_owner_and_an_epoch_and_both_are_compared) {
  const RunId run = submit("a");
  const core::Bundle mine = bundle_for(run);
  ASSERT_EQ(commit(ReleaseLane{lane_, epoch_}).kind, OutcomeKind::committed);
  EXPECT_EQ(commit(mine).kind, OutcomeKind::fenced) << "nobody has the lane";
  ASSERT_EQ(commit(AcquireLane{lane_, "engine-b", seconds(30)}).kind, OutcomeKind::committed);
  EXPECT_EQ(commit(mine).kind, OutcomeKind::fenced);
  EXPECT_EQ(commit(RenewLane{lane_, epoch_, seconds(30)}).kind, OutcomeKind::fenced);
  EXPECT_EQ(commit(AcquireLane{lane_, "engine-a", seconds(30)}).kind, OutcomeKind::conflict);
}

TEST_F(RedisTraps, two_queues_in_one_claim_lose_nothing) {
  const RunId run = submit("a");
  for (int i = 0; i < 20; ++i) put_work(run, i % 2 == 0 ? "red" : "blue");
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 20; ++i)
    for (const core::WorkItem& item : claim({"red", "blue"}, 1, seconds(30)))
      EXPECT_TRUE(seen.insert(item.activity.raw()).second);
  EXPECT_EQ(seen.size(), 20u);
  EXPECT_TRUE(claim({"red", "blue"}, 10, seconds(30)).empty());
}

TEST_F(RedisTraps, what_dead_workers_held_comes_back_from_every_queue) {
  const RunId run = submit("a");
  for (int i = 0; i < 10; ++i) put_work(run, format("queue-{}", i));
  for (int i = 0; i < 10; ++i) ASSERT_EQ(claim({format("queue-{}", i)}, 1, milliseconds(1)).size(), 1u);
  std::this_thread::sleep_for(milliseconds(5));
  for (int i = 9; i >= 0; --i) EXPECT_EQ(claim({format("queue-{}", i)}, 1, seconds(30)).size(), 1u) << i;
}

TEST_F(RedisTraps, a_late_event_for_a_closed_job_leaves_its_successor_alone) {
  const RunId first = submit("order");
  close(first);
  Submit again = a_job("order", lane_);
  again.reuse = Reuse::after_close;
  const RunId second = commit(again).run();
  EXPECT_EQ(commit(to_run(first, 1)).kind, OutcomeKind::committed) << "without effect";
  EXPECT_TRUE(job(first).inbox.empty());
  EXPECT_EQ(*store_->find_run(Namespace("default"), JobId("order")), second);
  EXPECT_EQ(commit(a_job("order", lane_)).kind, OutcomeKind::exists) << "no third one";
  ASSERT_EQ(commit(RemoveJob{first, Instant()}).kind, OutcomeKind::committed);
  EXPECT_EQ(*store_->find_run(Namespace("default"), JobId("order")), second) << "the id is its successor's";
}

TEST_F(RedisTraps, a_repeated_close_makes_no_second_successor) {
  const RunId run = submit("order");
  core::Bundle bundle = bundle_for(run);
  auto& head = std::get<core::JobHead>(bundle.head);
  head.status = core::JobStatus::completed;
  head.completions = 1;
  core::StartChild start;
  start.graph = {GraphName("g"), 1, 1};
  start.parent = {run, core::ActivitySeq(0), core::Guid{9, 9}, false};
  bundle.writes = {core::Sweep{std::nullopt},
                   core::Send{{core::JobKey{Namespace("default"), JobId("next")}, {core::Guid{5, 5}, start}}, lane_}};
  EXPECT_EQ(commit(bundle).kind, OutcomeKind::committed);
  EXPECT_EQ(commit(bundle).kind, OutcomeKind::already_done);
  EXPECT_EQ(store_->read_outbox(lane_, 10)->size(), 1u);
}

TEST_F(RedisTraps, timers_due_together_are_all_due) {
  const RunId run = submit("a");
  const Instant at = store_->now();
  core::Bundle bundle = bundle_for(run);
  for (std::uint64_t i = 0; i < 50; ++i)
    bundle.writes.emplace_back(core::PutMessage{{core::Guid{i, 3}, core::Pause{"p"}}, at});
  ASSERT_EQ(commit(bundle).kind, OutcomeKind::committed);
  EXPECT_EQ(store_->read_due(lane_, std::nullopt, 100)->size(), 50u);
  EXPECT_EQ(job(run).timers.size(), 50u);
  std::optional<Due> after;
  std::size_t seen = 0;
  for (;;) {
    const auto page = store_->read_due(lane_, after, 7);
    if (page->empty()) break;
    seen += page->size();
    after = page->back();
  }
  EXPECT_EQ(seen, 50u);
}

TEST_F(RedisTraps, a_removed_jobs_timers_and_work_go_with_it_and_wake_nobody) {
  const RunId run = submit("a");
  core::Bundle bundle = bundle_for(run);
  bundle.writes = {core::PutMessage{{core::Guid{1, 3}, core::Pause{"p"}}, store_->now() + seconds(60)}};
  ASSERT_EQ(commit(bundle).kind, OutcomeKind::committed);
  put_work(run, "t");
  close(run);
  ASSERT_EQ(commit(RemoveJob{run, Instant()}).kind, OutcomeKind::committed);
  EXPECT_TRUE(store_->read_due(lane_, std::nullopt, 10)->empty());
  EXPECT_TRUE(claim({"t"}, 10, seconds(30)).empty());
  EXPECT_EQ(commit(to_run(run, 9)).kind, OutcomeKind::committed);
  EXPECT_TRUE(store_->read_waiting(lane_, RunId(0), 10)->empty()) << "no orphan inbox";
}

TEST_F(RedisTraps, the_key_space_is_clean_after_removal_but_for_start_keys_and_without_them_after_their_time) {
  for (int i = 0; i < 5; ++i) {
    const RunId run = submit(format("job-{}", i));
    put_work(run, "t");
    core::Bundle bundle = bundle_for(run);
    bundle.writes = {core::PutMessage{{core::Guid{1, 3}, core::Pause{"p"}}, store_->now() + seconds(60)},
                     core::PutLabel{{"k", "n", "v"}},
                     core::Announce{Topic("t"), core::Announce::What::progress, core::ReplyStatus::pending, 202,
                                    store_->now(), "said"}};
    ASSERT_EQ(commit(bundle).kind, OutcomeKind::committed);
    claim({"t"}, 1, seconds(30));
    EXPECT_EQ(commit(to_run(run, 5)).kind, OutcomeKind::committed);
    close(run);
    ASSERT_EQ(commit(RemoveJob{run, store_->now() + milliseconds(1)}).kind, OutcomeKind::committed);
  }
  Deliver signal;
  signal.envelope = {core::MailboxKey{Namespace("n"), Topic("t"), "k"}, {core::Guid{77, 1}, core::Signal{"data"}}};
  signal.lane = lane_;
  const RunId box = commit(signal).run();
  core::Bundle taken{
      box, epoch_, core::Rev(0), core::BundleId(1), core::MailboxHead{0}, {core::Consume{core::Guid{77, 1}}}};
  ASSERT_EQ(commit(taken).kind, OutcomeKind::committed);
  EXPECT_EQ(keys(), (std::vector<std::string>{key("due"), key("expiring"), key("ids")}))
      << "start keys, and when they end";
  std::this_thread::sleep_for(milliseconds(5));
  ASSERT_EQ(commit(DropKeys{store_->now(), 1000, lane_}).kind, OutcomeKind::committed);
  EXPECT_TRUE(keys().empty()) << keys().front();
}

TEST_F(RedisTraps, a_server_that_forgot_the_scripts_is_told_them_again) {
  const RunId run = submit("a");
  EXPECT_EQ(shared_server().ask({"SCRIPT", "FLUSH"}), "OK");
  EXPECT_EQ(commit(bundle_for(run)).kind, OutcomeKind::committed);
  EXPECT_EQ(shared_server().ask({"SCRIPT", "FLUSH"}), "OK");
  EXPECT_EQ(job(run).state.job.rev, core::Rev(1));
  EXPECT_TRUE(store_->read_due(lane_, std::nullopt, 10));
}

TEST_F(RedisTraps, a_server_that_forgot_the_functions_is_told_them_again) {
  const RunId run = submit("a");
  EXPECT_EQ(shared_server().ask({"FUNCTION", "FLUSH"}), "OK");
  EXPECT_EQ(commit(bundle_for(run)).kind, OutcomeKind::committed);
  EXPECT_EQ(commit(bundle_for(run)).kind, OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.rev, core::Rev(2));
}

// A function keeps its variables from one call to the next. Work that a bundle claims is written behind all bundles of
// the group; here its item is written, and its place cannot be.
TEST_F(RedisTraps, what_a_failed_call_left_is_not_written_by_the_next_one) {
  const RunId run = submit("a");
  core::Bundle hands = bundle_for(run);
  core::Activity activity;
  activity.ledger = *ledger::ActivityLedger::decode(1'100'000'000'000);
  core::WorkItem item;
  item.run = run;
  item.topic = Topic("t");
  item.token = core::WorkToken(7);
  item.epoch = epoch_;
  hands.writes = {core::PutActivity{std::nullopt, activity}, core::PutWork{item}};
  activity.seq = item.activity = core::ActivitySeq(1);  // the only one would be in its job's hash
  hands.writes.insert(hands.writes.end(), {core::PutActivity{std::nullopt, activity}, core::PutWork{item}});
  std::get<core::JobHead>(hands.head).next_activity = 2;
  shared_server().ask({"SET", key("places"), "no set"});
  ASSERT_FALSE(try_commit(hands));
  shared_server().ask({"DEL", key("places")});
  ASSERT_EQ(commit(a_job("next", lane_)).kind, OutcomeKind::committed);
  EXPECT_EQ(shared_server().ask({"EXISTS", key("places")}), "0");
}

// A wrong type is stored where a part of the job is written.
TEST_F(RedisTraps, a_script_that_fails_says_so_and_counts_as_nothing_known) {
  const RunId run = submit("a");
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(commit(bundle_for(run)).kind, OutcomeKind::committed);  // the history begins with the second
  shared_server().ask({"SET", key(format("history:{}", run.raw())), "no stream"});
  const auto failed = try_commit(bundle_for(run));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::outcome_unknown);
  EXPECT_NE(failed.error().detail.find("WRONGTYPE"), std::string::npos) << failed.error().detail;
}

TEST_F(RedisTraps, empty_arrays_and_fifteen_digits_and_any_bytes_come_back_as_they_were) {
  const RunId run = submit("a");
  const std::string bytes = std::string("[] {} 999000000000001 \0 \xff\xfe %20 ", 35) + std::string(1, '\0');
  core::Bundle bundle = bundle_for(run);
  auto& head = std::get<core::JobHead>(bundle.head);
  head.data = Payload(bytes);
  head.next_activity = 1;
  core::Activity activity;
  activity.ledger = *ledger::ActivityLedger::decode(999'111'199'999'999);
  activity.output = Payload("[]");
  activity.state = Payload(bytes);
  bundle.writes = {core::PutActivity{std::nullopt, activity}};
  ASSERT_EQ(commit(bundle).kind, OutcomeKind::committed);
  const StoredJob stored = job(run);
  EXPECT_EQ(stored.state.job.data.str(), bytes);
  EXPECT_EQ(stored.state.activities().at(0).ledger.digits(), "999111199999999");
  EXPECT_EQ(stored.state.activities().at(0).output.str(), "[]");
  EXPECT_EQ(shared_server().ask({"HGET", key(format("run:{}", run.raw())), "a:0"}), "999111199999999")
      << "as it is, for people";
}

TEST_F(RedisTraps, the_servers_clock_counts_and_not_that_of_a_client) {
  const std::int64_t before = std::stoll(shared_server().ask({"TIME"})) * 1'000'000;
  const Outcome renewed = commit(RenewLane{lane_, epoch_, seconds(100)});
  const std::int64_t until = renewed.lease_until()->micros();
  EXPECT_GE(until, before + 100'000'000);
  EXPECT_LE(until, before + 102'000'000 + 60'000'000);
  EXPECT_NEAR(static_cast<double>(store_->now().micros()), static_cast<double>(until - 100'000'000), 2'000'000.0);
}

TEST_F(RedisTraps, an_idle_store_asks_nothing) {
  struct Deaf final : Listener {
    void rung(const Change&) override {}
    void owner_gone() override {}
  } listener;
  store_->listen(listener);
  const auto commands = [] {
    const std::string stats = shared_server().ask({"INFO", "stats"});
    return std::stoll(stats.substr(stats.find("total_commands_processed:") + 25));
  };
  const auto before = commands();
  std::this_thread::sleep_for(seconds(1));
  EXPECT_LE(commands() - before, 3) << "but for the question itself, and whether the bell lives";
  store_->stop_listening(listener);
}

TEST_F(RedisTraps, a_worker_whose_job_is_gone_is_told_so_once_and_nothing_is_handed_out_again) {
  const RunId run = submit("a");
  put_work(run, "t");
  const core::WorkItem item = claim({"t"}, 1, milliseconds(1)).at(0);
  close(run);
  ASSERT_EQ(commit(RemoveJob{run, Instant()}).kind, OutcomeKind::committed);
  const core::Message answer{core::Guid{4, 4},
                             core::Reply{item.activity, core::ReplyStatus::success, 200, item.token, "done"}};
  EXPECT_EQ(commit(DeliverReply{run, item.activity, item.token, answer}).kind, OutcomeKind::conflict);
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_TRUE(claim({"t"}, 1, seconds(30)).empty());
}

TEST_F(RedisTraps, two_engines_that_start_at_once_make_one_job_of_an_id) {
  Options options;
  options.prefix = prefix_;
  options.accept_weaker = true;
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const auto store = Store::open(shared_server().url(), options);
      ASSERT_TRUE(store);
      for (int number = 0; number < 50; ++number) {
        const Operation operation = a_job(format("job-{}", number), lane_);
        const auto outcomes = (*store)->commit({&operation, 1});
        ASSERT_TRUE(outcomes) << to_string(outcomes.error());
        if (outcomes->front().kind == OutcomeKind::committed)
          ++made;
        else
          EXPECT_EQ(outcomes->front().kind, OutcomeKind::exists);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 50);
  EXPECT_EQ(store_->list_jobs({})->size(), 50u);
  EXPECT_EQ((*store_->read_lane_ends())[0].next_run, RunId(core::make_run(lane_, 51)))
      << "no number was given to nobody";
}

}  // namespace

}  // namespace pawl::store::redis
