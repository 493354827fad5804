// The removal of a job's rows: what is deleted, what stays, and for how long.
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

using std::chrono::seconds;

class Removals : public StoreTest {
 protected:
  Instant in(int count) { return clock_.now() + seconds(count); }
  Submit order(const std::string& id) {
    return Submit{Namespace("default"), JobId(id), lane_, {GraphName("g"), 1, 1}, "in", clock_.now()};
  }
  // A job with a row of every kind.
  RunId full(const std::string& id) {
    Submit submit = order(id);
    submit.deadline = in(100);
    const RunId run = commit(submit).run();
    enqueue(run, 2);
    commit(bundle_with(run, {core::PutRecord{std::nullopt, {guid(1), core::ActivitySeq(0), message_ledger(1)}},
                             core::PutMessage{start_message(2), in(5)}}));
    return run;
  }
  // Closed although its rows are still there: no sweep.
  void end_unswept(RunId run) {
    core::Bundle bundle = bundle_for(run);
    auto& head = std::get<core::JobHead>(bundle.head);
    head.status = core::JobStatus::failed;
    head.completions = 1;
    head.remove_at = in(1);
    ASSERT_EQ(kind_of(std::move(bundle)), OutcomeKind::committed);
  }
};

TEST_P(Removals, a_removed_job_leaves_nothing_that_a_reader_could_find) {
  const RunId run = full("a");
  end_unswept(run);
  ASSERT_EQ(kind_of(RemoveJob{run, Instant()}), OutcomeKind::committed);
  EXPECT_FALSE(store_->read_job(run)->has_value());
  EXPECT_FALSE(store_->find_run(Namespace("default"), JobId("a"))->has_value());
  EXPECT_TRUE(store_->list_jobs({})->empty());
  EXPECT_TRUE(store_->read_waiting(lane_, RunId(0), 10)->empty());
  EXPECT_TRUE(store_->read_work(lane_, {}, 10)->empty());
  EXPECT_TRUE(store_->read_due(lane_, std::nullopt, 10)->empty());
  EXPECT_FALSE(store_->read_message(run, guid(2))->has_value());
  EXPECT_TRUE(claim(10).empty());
}

TEST_P(Removals, only_the_job_itself_goes) {
  const RunId run = full("a");
  const RunId other = full("b");
  const StoredJob before = job(other);
  end_unswept(run);
  ASSERT_EQ(kind_of(RemoveJob{run, Instant()}), OutcomeKind::committed);
  EXPECT_EQ(job(other).state, before.state);
  EXPECT_EQ(job(other).inbox, before.inbox);
  EXPECT_EQ(job(other).timers, before.timers);
  EXPECT_EQ(claim(10).size(), 2u);
}

TEST_P(Removals, a_job_that_is_not_over_is_a_conflict_and_stays) {
  const RunId run = full("a");
  const StoredJob before = job(run);
  EXPECT_EQ(kind_of(RemoveJob{run, Instant()}), OutcomeKind::conflict);
  for (const auto status : {core::JobStatus::parked, core::JobStatus::paused}) {
    core::Bundle bundle = bundle_for(run);
    std::get<core::JobHead>(bundle.head).status = status;
    ASSERT_EQ(kind_of(std::move(bundle)), OutcomeKind::committed);
    EXPECT_EQ(kind_of(RemoveJob{run, Instant()}), OutcomeKind::conflict);
  }
  close(run, core::JobStatus::failed);
  EXPECT_EQ(kind_of(RemoveJob{run, Instant()}), OutcomeKind::conflict) << "its completion tasks have not run";
  EXPECT_EQ(job(run).state.activities().size(), before.state.activities().size());
}

TEST_P(Removals, a_job_that_does_not_exist_is_already_done) {
  EXPECT_EQ(kind_of(RemoveJob{core::make_run(lane_, 4711), Instant()}), OutcomeKind::already_done);
  const RunId box = commit(to_mailbox({Namespace("n"), Topic("t"), "k"}, start_message(1), lane_)).run();
  EXPECT_EQ(kind_of(RemoveJob{box, Instant()}), OutcomeKind::already_done) << "a mailbox is no job";
  EXPECT_EQ(mailbox(box).inbox.size(), 1u);
}

TEST_P(Removals, the_start_key_stays_for_its_time_and_answers_with_the_old_run) {
  const RunId run = full("a");
  end(run);
  ASSERT_EQ(kind_of(RemoveJob{run, in(60)}), OutcomeKind::committed);
  EXPECT_EQ(**store_->find_run(Namespace("default"), JobId("a")), run);
  const Outcome again = commit(order("a"));
  EXPECT_EQ(again.kind, OutcomeKind::exists);
  EXPECT_EQ(again.run(), run);
}

TEST_P(Removals, a_removal_leaves_a_key_that_a_later_run_has) {
  const RunId old = full("a");
  end(old);
  Submit next = order("a");
  next.reuse = Reuse::after_close;
  const RunId run = commit(next).run();
  for (const Instant key_until : {Instant(), in(5)}) {
    EXPECT_EQ(kind_of(RemoveJob{old, key_until}),
              key_until == Instant() ? OutcomeKind::committed : OutcomeKind::already_done);
    EXPECT_EQ(**store_->find_run(Namespace("default"), JobId("a")), run);
    EXPECT_EQ(commit(order("a")).run(), run);
  }
  clock_.advance(seconds(100));
  EXPECT_EQ(kind_of(order("a")), OutcomeKind::exists);
}

TEST_P(Removals, a_message_for_a_removed_job_changes_nothing) {
  const RunId run = full("a");
  const core::WorkItem item = claim(1).at(0);
  end(run);
  ASSERT_EQ(kind_of(RemoveJob{run, in(60)}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(to_run(run, start_message(5))), OutcomeKind::committed);
  EXPECT_EQ(kind_of(DeliverReply{run, item.activity, item.token, answer_to(item)}), OutcomeKind::conflict);
  EXPECT_EQ(kind_of(ExtendWork{run, item.activity, item.token, lease}), OutcomeKind::conflict);
  EXPECT_FALSE(store_->read_job(run)->has_value());
  EXPECT_TRUE(store_->read_waiting(lane_, RunId(0), 10)->empty());
}

TEST_P(Removals, a_bundle_for_a_removed_job_is_rejected) {
  const RunId run = full("a");
  end(run);
  const core::Bundle late = bundle_for(run);
  ASSERT_EQ(kind_of(RemoveJob{run, in(60)}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(late), OutcomeKind::rejected);
}

TEST_P(Removals, a_removed_run_is_never_given_again) {
  const RunId run = full("a");
  end(run);
  ASSERT_EQ(kind_of(RemoveJob{run, Instant()}), OutcomeKind::committed);
  EXPECT_NE(commit(order("a")).run(), run);
}

TEST_P(Removals, keys_are_dropped_oldest_first_as_many_as_asked_for) {
  std::vector<RunId> runs;
  for (int i = 0; i < 5; ++i) {
    runs.push_back(commit(order(format("job-{}", i))).run());
    end(runs.back());
    ASSERT_EQ(kind_of(RemoveJob{runs.back(), in(10 - i)}), OutcomeKind::committed);
  }
  const RunId alive = commit(order("alive")).run();
  const auto left = [&] {
    std::vector<int> ids;
    for (int i = 0; i < 5; ++i)
      if (store_->find_run(Namespace("default"), JobId(format("job-{}", i)))->has_value()) ids.push_back(i);
    return ids;
  };
  EXPECT_EQ(kind_of(DropKeys{in(5), 100}), OutcomeKind::committed);
  EXPECT_EQ(left(), (std::vector<int>{0, 1, 2, 3, 4})) << "the first is over at 6";
  EXPECT_EQ(kind_of(DropKeys{in(9), 2}), OutcomeKind::committed);
  EXPECT_EQ(left(), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(kind_of(DropKeys{in(9), 100}), OutcomeKind::committed);
  EXPECT_EQ(left(), (std::vector<int>{0}));
  EXPECT_EQ(kind_of(DropKeys{in(1000), 0}), OutcomeKind::committed);
  EXPECT_EQ(left(), (std::vector<int>{0}));
  EXPECT_EQ(kind_of(DropKeys{in(1000), 100}), OutcomeKind::committed);
  EXPECT_TRUE(left().empty());
  EXPECT_EQ(**store_->find_run(Namespace("default"), JobId("alive")), alive) << "a key with a job has no end";
}

TEST_P(Removals, keys_of_one_lane_are_dropped_alone) {
  const RunId here = commit(order("here")).run();
  const RunId there = submit_to(other_lane_, "there");
  for (const RunId run : {here, there}) {
    end(run);
    ASSERT_EQ(kind_of(RemoveJob{run, in(1)}), OutcomeKind::committed);
  }
  const auto is_there = [&](const char* id) { return store_->find_run(Namespace("default"), JobId(id))->has_value(); };
  EXPECT_EQ(kind_of(DropKeys{in(2), 100, other_lane_}), OutcomeKind::committed);
  EXPECT_TRUE(is_there("here"));
  EXPECT_FALSE(is_there("there"));
  EXPECT_EQ(kind_of(DropKeys{in(2), 100, lane_}), OutcomeKind::committed);
  EXPECT_FALSE(is_there("here"));
}

TEST_P(Removals, the_time_of_a_removal_and_the_redrives_stand_on_the_row) {
  const RunId run = submit("a");
  core::Bundle bundle = bundle_for(run);
  auto& head = std::get<core::JobHead>(bundle.head);
  head.status = core::JobStatus::parked;
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  bundle = bundle_for(run);
  std::get<core::JobHead>(bundle.head).status = core::JobStatus::running;
  std::get<core::JobHead>(bundle.head).redrives = 1;
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.redrives, 1u);
  ASSERT_EQ(kind_of(bundle_for(run)), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.redrives, 1u) << "a step that changes nothing keeps them";
  bundle = bundle_for(run);
  std::get<core::JobHead>(bundle.head).redrives = 2;  // of a job that runs the whole time
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.redrives, 2u);
  end(run, core::JobStatus::completed, in(60));
  EXPECT_EQ(job(run).state.job.remove_at, in(60));
}

TEST_P(Removals, a_paused_job_is_neither_active_nor_closed_for_the_store) {
  const RunId run = submit("a");
  core::Bundle bundle = bundle_for(run);
  std::get<core::JobHead>(bundle.head).status = core::JobStatus::paused;
  std::get<core::JobHead>(bundle.head).reason = "a person said so";
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.status, core::JobStatus::paused);
  EXPECT_EQ(job(run).state.job.reason, "a person said so");
  EXPECT_EQ(job(run).state.job.semaphore, 1);
  EXPECT_EQ(kind_of(to_run(run, start_message(1))), OutcomeKind::committed);
  EXPECT_EQ(job(run).inbox.size(), 2u) << "messages are taken while it is paused";
  EXPECT_EQ(store_->list_jobs({std::nullopt, core::JobStatus::paused, RunId(0), 10})->size(), 1u);
}

// A message that enters an already concluded activity, as an interrupt does through the trigger, has its own ledger in
// addition to the one that concluded the activity.
TEST_P(Removals, a_second_message_of_a_concluded_activity_leaves_the_first_ones_ledger) {
  const RunId run = submit("a");
  const core::MessageRecord first{guid(1), core::ActivitySeq(0), message_ledger(11'000'000'001)};
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(0, 1'111'100'000'001)},
                                      core::PutRecord{std::nullopt, first}})),
            OutcomeKind::committed);
  const core::MessageRecord second{guid(2), core::ActivitySeq(0), message_ledger(111'100'000'002)};
  ASSERT_EQ(
      kind_of(bundle_with(run, {core::PutActivity{activity_ledger(1'111'100'000'001), activity(0, 1'111'100'000'002)},
                                core::PutRecord{std::nullopt, second}})),
      OutcomeKind::committed);
  const core::JobState state = job(run).state;
  ASSERT_EQ(state.messages().size(), 2u);
  EXPECT_EQ(*state.find_message(guid(1)), first);
  EXPECT_EQ(*state.find_message(guid(2)), second);
  EXPECT_EQ(kind_of(bundle_with(run, {core::PutRecord{std::nullopt, second}})), OutcomeKind::rejected);
  end(run, core::JobStatus::interrupted);
  EXPECT_EQ(kind_of(RemoveJob{run, Instant()}), OutcomeKind::committed);
}

TEST_P(Removals, a_message_that_concludes_and_one_that_closes_may_share_a_bundle) {
  const RunId run = submit("a");
  const core::MessageRecord first{guid(1), core::ActivitySeq(0), message_ledger(11'000'000'001)};
  const core::MessageRecord second{guid(2), core::ActivitySeq(0), message_ledger(111'100'000'002)};
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(0, 1'111'100'000'002)},
                                      core::PutRecord{std::nullopt, first}, core::PutRecord{std::nullopt, second}})),
            OutcomeKind::committed);
  EXPECT_EQ(*job(run).state.find_message(guid(1)), first);
  EXPECT_EQ(*job(run).state.find_message(guid(2)), second);
}

INSTANTIATE_TEST_SUITE_P(stores, Removals, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
