// Submit: the start key, the job stub and the start message, in one transaction.
#include "base/limits.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class Submits : public StoreTest {
 protected:
  Submit order(const std::string& id) {
    return Submit{Namespace("default"),    JobId(id), lane_, {GraphName("order"), 3, 0xfedcba9876543210}, "in",
                  Instant::from_micros(42)};
  }
};

TEST_P(Submits, a_new_id_makes_a_running_job_with_one_open_obligation) {
  const Outcome outcome = commit(order("a"));
  ASSERT_EQ(outcome.kind, OutcomeKind::committed);
  const core::JobRow row = job(outcome.run()).state.job;
  EXPECT_EQ(row.run, outcome.run());
  EXPECT_EQ(row.name_space, Namespace("default"));
  EXPECT_EQ(row.id, JobId("a"));
  EXPECT_EQ(row.graph, order("a").graph);
  EXPECT_EQ(row.rev, core::Rev(0));
  EXPECT_EQ(row.status, core::JobStatus::running);
  EXPECT_EQ(row.semaphore, 1);
  EXPECT_EQ(row.threshold, 0);
  EXPECT_EQ(row.completions, 0u);
  EXPECT_EQ(row.next_activity, 0u);
  EXPECT_EQ(row.created_at, Instant::from_micros(42));
  EXPECT_TRUE(job(outcome.run()).state.activities().empty());
}

TEST_P(Submits, the_secret_of_a_job_is_the_one_that_was_drawn_for_the_submit_that_made_it) {
  Submit first = order("a");
  first.secret = core::JobSecret(core::Guid{~std::uint64_t{0}, 7});
  const RunId run = commit(first).run();
  Submit again = order("a");
  again.secret = core::JobSecret(core::Guid{8, 9});
  EXPECT_EQ(commit(again).kind, OutcomeKind::exists);
  EXPECT_EQ(job(run).state.job.secret, first.secret);
  EXPECT_EQ(store_->list_jobs({})->back().secret, first.secret);
}

TEST_P(Submits, the_start_message_waits_under_the_guid_of_its_run) {
  const RunId run = commit(order("a")).run();
  const auto inbox = job(run).inbox;
  ASSERT_EQ(inbox.size(), 1u);
  EXPECT_EQ(inbox[0].message.guid, core::Guid::of_run(run).derive(core::Guid::Purpose::start, 0));
  EXPECT_EQ(inbox[0].message.body, core::Body(core::Start{"in"}));
  EXPECT_EQ(inbox[0].redeliveries, 0u);
}

TEST_P(Submits, a_taken_id_answers_with_the_run_that_holds_it) {
  const RunId run = commit(order("a")).run();
  Submit again = order("a");
  again.input = "something else";
  again.lane = other_lane_;
  const Outcome outcome = commit(again);
  EXPECT_EQ(outcome.kind, OutcomeKind::exists);
  EXPECT_EQ(outcome.run(), run);
  EXPECT_EQ(job(run).inbox.size(), 1u);
}

TEST_P(Submits, the_id_of_a_closed_job_stays_taken) {
  const RunId run = commit(order("a")).run();
  close(run, core::JobStatus::completed);
  const Outcome outcome = commit(order("a"));
  EXPECT_EQ(outcome.kind, OutcomeKind::exists);
  EXPECT_EQ(outcome.run(), run);
}

TEST_P(Submits, an_id_is_found_by_its_name) {
  const RunId run = commit(order("a")).run();
  EXPECT_EQ(*store_->find_run(Namespace("default"), JobId("a")), run);
  EXPECT_FALSE(store_->find_run(Namespace("default"), JobId("b"))->has_value());
  EXPECT_FALSE(store_->find_run(Namespace("other"), JobId("a"))->has_value());
}

TEST_P(Submits, two_namespaces_have_two_jobs_of_one_id) {
  const RunId one = submit_to(lane_, "a", "one");
  const RunId two = submit_to(lane_, "a", "two");
  EXPECT_NE(one, two);
  EXPECT_EQ(*store_->find_run(Namespace("one"), JobId("a")), one);
  EXPECT_EQ(*store_->find_run(Namespace("two"), JobId("a")), two);
}

TEST_P(Submits, a_namespace_and_an_id_do_not_run_into_each_other) {
  submit_to(lane_, "b:c", "a");
  const RunId other = submit_to(lane_, "c", "a:b");
  EXPECT_EQ(*store_->find_run(Namespace("a:b"), JobId("c")), other);
}

TEST_P(Submits, a_run_carries_its_lane) {
  EXPECT_EQ(core::lane_of(submit_to(lane_, "a")), lane_);
  EXPECT_EQ(core::lane_of(submit_to(other_lane_, "b")), other_lane_);
}

TEST_P(Submits, no_run_is_given_twice) {
  std::set<RunId> runs;
  for (int i = 0; i < 200; ++i) runs.insert(submit_to(i % 2 == 0 ? lane_ : other_lane_, format("job-{}", i)));
  EXPECT_EQ(runs.size(), 200u);
  EXPECT_FALSE(runs.contains(RunId(0)));
}

TEST_P(Submits, somebody_who_does_not_own_the_lane_may_submit) {
  EXPECT_EQ(kind_of(ReleaseLane{lane_, epoch_}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(order("a")), OutcomeKind::committed);
}

TEST_P(Submits, a_lane_that_does_not_exist_is_rejected_and_takes_no_id) {
  Submit nowhere = order("a");
  nowhere.lane = core::LaneId(60'000);
  EXPECT_EQ(kind_of(nowhere), OutcomeKind::rejected);
  EXPECT_FALSE(store_->find_run(Namespace("default"), JobId("a"))->has_value());
  EXPECT_EQ(kind_of(order("a")), OutcomeKind::committed);
}

TEST_P(Submits, every_byte_that_a_name_may_have_is_kept) {
  std::string all = "._-:/@+=";
  for (char c = 'a'; c <= 'z'; ++c) all += c;
  for (char c = 'A'; c <= 'Z'; ++c) all += c;
  for (char c = '0'; c <= '9'; ++c) all += c;
  ASSERT_TRUE(check_name("job id", all));
  Submit submit = order(all);
  submit.name_space = Namespace(all);
  submit.graph.name = GraphName(all);
  const RunId run = commit(submit).run();
  EXPECT_EQ(*store_->find_run(Namespace(all), JobId(all)), run);
  EXPECT_EQ(job(run).state.job.id, JobId(all));
  EXPECT_EQ(job(run).state.job.graph.name, GraphName(all));
}

TEST_P(Submits, names_differ_by_case_and_by_length) {
  const std::string longest(limits::name_bytes_max, 'x');
  std::set<RunId> runs;
  for (const std::string& id : {std::string("a"), std::string("A"), std::string("a."), longest, longest.substr(1)})
    runs.insert(submit(id));
  EXPECT_EQ(runs.size(), 5u);
  EXPECT_TRUE(store_->find_run(Namespace("default"), JobId(longest))->has_value());
}

TEST_P(Submits, a_time_before_1970_and_one_in_the_year_9999_are_kept) {
  Submit early = order("early");
  early.at = Instant::from_micros(-1);
  Submit late = order("late");
  late.at = Instant::from_micros(253'402'300'799'999'999);
  EXPECT_EQ(job(commit(early).run()).state.job.created_at, early.at);
  EXPECT_EQ(job(commit(late).run()).state.job.created_at, late.at);
}

INSTANTIATE_TEST_SUITE_P(stores, Submits, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
