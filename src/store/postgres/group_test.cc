// What only PostgreSQL does with a group: values that it cannot store, connections that end, several commits at once.
#include <atomic>
#include <thread>

#include "store/postgres/store_test.h"

namespace pawl::store::postgres {

namespace {

class PostgresGroups : public PostgresTest {
 protected:
  // Ends the sessions of the store, or only those whose last statement is like this.
  static void terminate(const std::string& like = "%") {
    auto admin = SharedServer::get().connect();
    ASSERT_TRUE(
        admin->execute(format("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = "
                              "current_database() AND pid <> pg_backend_pid()"
                              " AND application_name = 'tested' AND query LIKE '{}'",
                              like)));
  }
  static constexpr const char* named = "&application_name=tested";
};

TEST_F(PostgresGroups, a_value_that_the_server_cannot_hold_is_rejected_alone) {
  auto store = open();
  acquire(*store, 1, "a");
  const std::vector<Operation> group = {submit_of("before"), submit_of(std::string("no\0name", 7)), submit_of("after"),
                                        submit_of("bad \xff utf-8"), submit_of("before")};
  const auto outcomes = store->commit(group);
  ASSERT_TRUE(outcomes) << to_string(outcomes.error());
  const std::vector<OutcomeKind> expected = {OutcomeKind::committed, OutcomeKind::rejected, OutcomeKind::committed,
                                             OutcomeKind::rejected, OutcomeKind::exists};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ((*outcomes)[i].kind, expected[i]) << i << (*outcomes)[i].reason;
  EXPECT_NE((*outcomes)[1].reason.find("PostgreSQL refused"), std::string::npos) << (*outcomes)[1].reason;
  EXPECT_TRUE(store->find_run(Namespace("default"), JobId("after"))->has_value());
  EXPECT_EQ(store->list_jobs({})->size(), 2u);
}

TEST_F(PostgresGroups, a_connection_that_was_ended_while_idle_has_applied_nothing_and_is_replaced) {
  auto store = open(named);
  EXPECT_EQ(commit(*store, submit_of("a")).kind, OutcomeKind::committed);
  terminate();
  const Operation submit = submit_of("b");
  const auto lost = store->commit({&submit, 1});
  if (!lost) {
    EXPECT_EQ(lost.error().code, ErrorCode::retry_later) << to_string(lost.error());
  }
  EXPECT_EQ(commit(*store, submit_of("c")).kind, OutcomeKind::committed);
  EXPECT_EQ(commit(*store, submit_of("c")).kind, OutcomeKind::exists);
  EXPECT_TRUE(store->read_job(RunId(1)));
}

// Connections are ended at random while groups commit. An answer must be true, and an unknown outcome must be all of
// the group or nothing.
TEST_F(PostgresGroups, whatever_was_committed_under_a_storm_of_lost_connections_is_there_once) {
  auto store = open(named);
  std::atomic<bool> over{false};
  std::thread storm([&] {
    while (!over) {
      terminate();
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
  });
  std::size_t committed = 0;
  std::size_t unknown = 0;
  for (int i = 0; i < 150; ++i) {
    const std::vector<Operation> group = {submit_of(format("a{}", i)), submit_of(format("b{}", i))};
    const auto outcomes = store->commit(group);
    if (outcomes) {
      ++committed;
      continue;
    }
    const ErrorCode code = outcomes.error().code;
    EXPECT_TRUE(code == ErrorCode::retry_later || code == ErrorCode::outcome_unknown) << to_string(outcomes.error());
    unknown += code == ErrorCode::outcome_unknown ? 1 : 0;
  }
  over = true;
  storm.join();
  store = open();
  std::size_t there = 0;
  for (int i = 0; i < 150; ++i) {
    const bool a = store->find_run(Namespace("default"), JobId(format("a{}", i)))->has_value();
    const bool b = store->find_run(Namespace("default"), JobId(format("b{}", i)))->has_value();
    EXPECT_EQ(a, b) << "a group was applied in part";
    there += a ? 1 : 0;
  }
  EXPECT_GE(there, committed);
  EXPECT_LE(there, committed + unknown);
  EXPECT_GT(committed, 0u);
}

TEST_F(PostgresGroups, many_connections_and_nodes_that_send_to_each_others_jobs_never_wait_for_each_other_for_ever) {
  std::vector<std::unique_ptr<Store>> nodes;
  nodes.push_back(open());
  nodes.push_back(open());
  const std::vector<core::Epoch> epochs = {acquire(*nodes[0], 1, "a"), acquire(*nodes[1], 2, "b")};
  constexpr std::size_t jobs_per_lane = 8;
  constexpr int rounds = 40;
  std::vector<std::vector<RunId>> runs(2);
  for (std::size_t lane = 0; lane < 2; ++lane)
    for (std::size_t i = 0; i < jobs_per_lane; ++i)
      runs[lane].push_back(
          commit(*nodes[lane], submit_of(format("{}-{}", lane, i), static_cast<std::uint32_t>(lane + 1))).run());
  std::atomic<int> errors{0};
  std::atomic<std::uint64_t> guids{1000};
  // Each thread has its own jobs and sends from them to all jobs, in its own order.
  const auto work = [&](std::size_t lane, std::size_t half) {
    Random random(lane * 2 + half + 1);
    for (int round = 0; round < rounds; ++round) {
      std::vector<Operation> group;
      for (std::size_t i = half; i < jobs_per_lane; i += 2) {
        std::vector<core::Write> writes;
        for (int n = 0; n < 3; ++n)
          writes.emplace_back(core::Send{{runs[random.below(2)][random.below(jobs_per_lane)], start(++guids)}});
        group.emplace_back(bundle_for(*nodes[lane], runs[lane][i], epochs[lane], std::move(writes)));
      }
      group.emplace_back(
          submit_of(format("more {} {} {}", lane, half, round), static_cast<std::uint32_t>(random.below(2) + 1)));
      const auto outcomes = nodes[lane]->commit(group);
      if (!outcomes) {
        ++errors;
        ADD_FAILURE() << to_string(outcomes.error());
        continue;
      }
      for (const Outcome& outcome : *outcomes) EXPECT_EQ(outcome.kind, OutcomeKind::committed) << outcome.reason;
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t lane = 0; lane < 2; ++lane)
    for (std::size_t half = 0; half < 2; ++half) threads.emplace_back(work, lane, half);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(errors, 0);
  std::size_t messages = 0;
  for (std::size_t lane = 0; lane < 2; ++lane)
    for (const RunId run : runs[lane]) messages += (*nodes[0]->read_job(run))->inbox.size() - 1;  // the start message
  EXPECT_EQ(messages, 2 * jobs_per_lane * rounds * 3);
}

TEST_F(PostgresGroups, the_same_id_submitted_by_many_at_once_is_given_once) {
  auto one = open();
  auto two = open();
  std::atomic<int> committed{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 25; ++i) {
        const Outcome outcome = commit(thread % 2 == 0 ? *one : *two, submit_of(format("job {}", i)));
        EXPECT_TRUE(outcome.kind == OutcomeKind::committed || outcome.kind == OutcomeKind::exists) << outcome.reason;
        committed += outcome.kind == OutcomeKind::committed ? 1 : 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(committed, 25);
  EXPECT_EQ(one->list_jobs({})->size(), 25u);
}

TEST_F(PostgresGroups, a_claim_and_another_never_hand_out_the_same_item) {
  auto store = open();
  auto other = open();
  const core::Epoch epoch = acquire(*store, 1, "a");
  const RunId run = commit(*store, submit_of("a")).run();
  std::vector<core::Write> writes;
  for (std::uint32_t seq = 0; seq < 200; ++seq) {
    writes.emplace_back(core::PutActivity{std::nullopt, activity(seq, 1'100'000'000'000)});
    core::WorkItem item;
    item.run = run;
    item.activity = core::ActivitySeq(seq);
    item.topic = Topic("t");
    item.request = guid(seq);
    writes.emplace_back(core::PutWork{item});
  }
  ASSERT_EQ(commit(*store, bundle_for(*store, run, epoch, std::move(writes))).kind, OutcomeKind::committed);
  std::mutex mutex;
  std::multiset<std::uint32_t> handed;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 30; ++i) {
        const Outcome outcome = commit(thread % 2 == 0 ? *store : *other, ClaimWork{{Topic("t")}, 3, "w", lease});
        const std::lock_guard lock(mutex);
        for (const core::WorkItem& item : outcome.items()) handed.insert(item.activity.raw());
      }
    });
  for (std::thread& thread : threads) thread.join();
  while (true) {
    const Outcome rest = commit(*store, ClaimWork{{Topic("t")}, 50, "w", lease});
    for (const core::WorkItem& item : rest.items()) handed.insert(item.activity.raw());
    if (rest.items().empty()) break;
  }
  EXPECT_EQ(handed.size(), 200u);
  EXPECT_EQ(std::set<std::uint32_t>(handed.begin(), handed.end()).size(), 200u);
}

// A node stops in the middle of a transaction. Other nodes get its lane, and the node cannot commit when it continues.
TEST_F(PostgresGroups, a_node_that_stops_in_mid_transaction_holds_its_lane_for_no_longer_than_its_session_may_idle) {
  auto store = open();
  acquire(*store, 1, "a", std::chrono::milliseconds(1));
  auto stopped =
      Connection::open(Address{SharedServer::get().address(), schema_.name(), {}, {}, std::chrono::milliseconds(300)});
  ASSERT_TRUE(stopped);
  ASSERT_TRUE((*stopped)->execute("BEGIN; SELECT 1 FROM lanes WHERE lane = 1 FOR KEY SHARE"));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(commit(*store, AcquireLane{core::LaneId(1), "b", lease}).kind, OutcomeKind::committed);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_FALSE((*stopped)->execute("INSERT INTO store_state VALUES (2, ''); COMMIT"));
}

TEST_F(PostgresGroups, a_renewal_does_not_wait_for_a_commit_of_the_same_lane_and_a_takeover_does) {
  Options hasty;
  hasty.lock_wait = std::chrono::milliseconds(200);
  auto store = open("", hasty);
  const core::Epoch epoch = acquire(*store, 1, "a", std::chrono::milliseconds(1));
  auto committing = SharedServer::get().connect(schema_.name());
  ASSERT_TRUE(committing->execute("BEGIN; SELECT 1 FROM lanes WHERE lane = 1 FOR KEY SHARE"));
  EXPECT_EQ(commit(*store, RenewLane{core::LaneId(1), epoch, std::chrono::milliseconds(1)}).kind,
            OutcomeKind::committed);
  const Operation takeover = AcquireLane{core::LaneId(1), "b", lease};
  const auto waits = store->commit({&takeover, 1});
  ASSERT_FALSE(waits);
  EXPECT_EQ(waits.error().code, ErrorCode::retry_later) << to_string(waits.error());
  ASSERT_TRUE(committing->execute("COMMIT"));
  EXPECT_EQ(commit(*store, takeover).kind, OutcomeKind::committed);
}

TEST_F(PostgresGroups, a_deadlock_that_others_make_is_retried_later_and_loses_nothing) {
  auto store = open();
  const RunId a = commit(*store, submit_of("a")).run();
  const RunId b = commit(*store, submit_of("b")).run();
  auto other = SharedServer::get().connect(schema_.name());
  // In the wrong order: b, then a.
  ASSERT_TRUE(other->execute(
      format("SET deadlock_timeout TO '10s'; BEGIN; SELECT 1 FROM jobs WHERE run = {} FOR UPDATE", b.raw())));
  std::thread theirs([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_TRUE(other->execute(format("SELECT 1 FROM jobs WHERE run = {} FOR UPDATE", a.raw())));
    EXPECT_TRUE(other->execute("COMMIT"));
  });
  const std::vector<Operation> group = {Deliver{{a, start(1)}}, Deliver{{b, start(2)}}};
  const auto outcomes = store->commit(group);
  theirs.join();
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.error().code, ErrorCode::retry_later) << to_string(outcomes.error());
  EXPECT_TRUE(store->commit(group));
  EXPECT_EQ((*store->read_job(a))->inbox.size(), 2u);
  EXPECT_EQ((*store->read_job(b))->inbox.size(), 2u);
}

TEST_F(PostgresGroups, a_batch_of_reads_answers_as_single_reads_do) {
  auto store = open();
  std::vector<Read> reads;
  for (int i = 0; i < 150; ++i) {
    const RunId run = commit(*store, submit_of(format("job {}", i))).run();
    reads.emplace_back(ReadJob{run});
    reads.emplace_back(FindRun{{Namespace("default"), JobId(format("job {}", i))}});
    reads.emplace_back(ReadJob{RunId(run.raw() + 100'000)});
  }
  const Stats before = store->stats();
  const auto answers = store->read(reads);
  const Stats after = store->stats();
  ASSERT_EQ(answers.size(), reads.size());
  EXPECT_LT(after.round_trips - before.round_trips, 200u) << "jobs were read one by one";
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const auto* job = std::get_if<ReadJob>(&reads[i]);
    if (job == nullptr) continue;
    const auto& answered = std::get<Answered<ReadJob>>(answers[i]).value;
    const auto single = store->read_job(job->run);
    ASSERT_TRUE(answered && single);
    ASSERT_EQ(answered->has_value(), single->has_value());
    if (!*single) continue;
    EXPECT_TRUE((*answered)->state == (*single)->state);
    EXPECT_EQ((*answered)->inbox, (*single)->inbox);
  }
}

}  // namespace

}  // namespace pawl::store::postgres
