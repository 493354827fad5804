// What jobs of the graph language keep: the data that activities share, a code, an activity's state, an output per
// plane. Each is read back as it was written, and stays when a later bundle does not write it.
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class GraphState : public StoreTest {
 protected:
  static constexpr std::uint64_t answered = 1'110'000'000'001;  // leg 2 was entered once, and its work is done
  static constexpr std::uint64_t worked = 10'000'000'001;       // a message that entered first

  core::Bundle with_data(RunId run, Payload data, std::vector<core::Write> writes = {}) {
    core::Bundle bundle = bundle_with(run, std::move(writes));
    std::get<core::JobHead>(bundle.head).data = std::move(data);
    return bundle;
  }
  core::MessageRecord record(std::uint64_t number, Payload output, std::uint64_t digits = worked) const {
    return {guid(number), core::ActivitySeq(0), message_ledger(digits), std::move(output)};
  }
  // A job with one open activity.
  RunId opened(const std::string& id) {
    const RunId run = submit(id);
    EXPECT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(0)}})), OutcomeKind::committed);
    return run;
  }
  Payload output_of(RunId run, std::uint64_t number) {
    const StoredJob read = job(run);
    const core::MessageRecord* found = read.state.find_message(guid(number));
    EXPECT_NE(found, nullptr);
    return found == nullptr ? Payload() : found->output;
  }
};

TEST_P(GraphState, a_new_job_has_no_data_no_code_and_no_parent) {
  const core::JobRow row = job(submit("a")).state.job;
  EXPECT_TRUE(row.data.empty());
  EXPECT_EQ(row.code, 0);
  EXPECT_FALSE(row.parent.has_value());
}

TEST_P(GraphState, data_stays_until_a_bundle_brings_other_data) {
  const RunId run = submit("a");
  ASSERT_EQ(kind_of(with_data(run, "one")), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.data, Payload("one"));
  ASSERT_EQ(kind_of(bundle_for(run)), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.data, Payload("one"));
  ASSERT_EQ(kind_of(with_data(run, "two")), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.data, Payload("two"));
  ASSERT_EQ(kind_of(with_data(run, "")), OutcomeKind::committed);
  EXPECT_TRUE(job(run).state.job.data.empty());
  EXPECT_EQ(job(run).state.job.rev, core::Rev(4));
}

TEST_P(GraphState, data_comes_with_every_change_of_status) {
  const RunId run = submit("a");
  int step = 0;
  for (const core::JobStatus status :
       {core::JobStatus::paused, core::JobStatus::running, core::JobStatus::parked, core::JobStatus::failed}) {
    const Payload data(format("step {}", ++step));
    core::Bundle bundle = with_data(run, data);
    std::get<core::JobHead>(bundle.head).status = status;
    ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
    EXPECT_EQ(job(run).state.job.status, status);
    EXPECT_EQ(job(run).state.job.data, data);
  }
  EXPECT_EQ(store_->list_jobs({})->at(0).data, Payload("step 4"));
}

TEST_P(GraphState, data_is_stored_under_the_guards_of_its_bundle) {
  const RunId run = submit("a");
  core::Bundle stale = with_data(run, "stale");
  core::Bundle wrong = with_data(run, "wrong");
  std::get<core::JobHead>(wrong.head).semaphore = core::SemaphoreStep{7, 1, 0, false};
  EXPECT_EQ(kind_of(wrong), OutcomeKind::rejected);
  ASSERT_EQ(kind_of(bundle_for(run)), OutcomeKind::committed);
  EXPECT_EQ(kind_of(stale), OutcomeKind::conflict);
  EXPECT_TRUE(job(run).state.job.data.empty());
  core::Bundle step = with_data(run, "kept");
  std::get<core::JobHead>(step.head).semaphore = core::SemaphoreStep{1, 2, 0, false};
  EXPECT_EQ(kind_of(step), OutcomeKind::committed);
  EXPECT_EQ(kind_of(step), OutcomeKind::already_done);
  EXPECT_EQ(job(run).state.job.semaphore, 3);
  EXPECT_EQ(job(run).state.job.data, Payload("kept"));
}

TEST_P(GraphState, a_code_is_what_the_last_bundle_said_while_the_job_runs_on) {
  const RunId run = submit("a");
  for (const std::int32_t code : {404, 404, -1, 0}) {
    core::Bundle bundle = bundle_for(run);
    std::get<core::JobHead>(bundle.head).code = code;
    ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
    EXPECT_EQ(job(run).state.job.code, code);
    EXPECT_EQ(job(run).state.job.status, core::JobStatus::running);
  }
}

TEST_P(GraphState, an_activitys_state_is_kept_replaced_and_emptied) {
  const RunId run = submit("a");
  core::Activity one = activity(0);
  one.state = "first";
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, one}, core::PutWork{work_item(run, 0)}})),
            OutcomeKind::committed);
  EXPECT_EQ(job(run).state.activities().at(0), one);
  for (const char* state : {"second", "", "third"}) {
    one.state = state;
    ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{one.ledger, one}})), OutcomeKind::committed);
    EXPECT_EQ(job(run).state.activities().at(0), one);
  }
  const auto before = one.ledger;
  one.ledger = activity_ledger(answered);
  one.output = "out";
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{before, one}})), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.activities().at(0), one) << "an answer leaves the state as it is";
  EXPECT_TRUE(job(run).state.work().empty());
}

TEST_P(GraphState, a_skipped_activity_is_read_as_one) {
  const RunId run = submit("a");
  core::Activity one = activity(0);
  one.status = core::ActivityStatus::skipped;
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, one}})), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.activities().at(0).status, core::ActivityStatus::skipped);
}

TEST_P(GraphState, each_plane_has_an_output_and_is_found_by_it) {
  const RunId run = opened("a");
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutRecord{std::nullopt, record(1, "one")},
                                      core::PutRecord{std::nullopt, record(2, "two", worked + 1)},
                                      core::PutRecord{std::nullopt, record(3, "", worked + 2)}})),
            OutcomeKind::committed);
  EXPECT_EQ(output_of(run, 1), Payload("one"));
  EXPECT_EQ(output_of(run, 2), Payload("two"));
  EXPECT_TRUE(output_of(run, 3).empty());
  const StoredJob read = job(run);
  for (const std::uint64_t number : {1, 2}) {
    const core::MessageRecord* of = read.state.find_message(guid(number));
    EXPECT_EQ(read.state.find_message(core::ActivitySeq(0), of->ledger.plane()), of);
  }
}

TEST_P(GraphState, an_output_is_replaced_with_its_ledger) {
  const RunId run = opened("a");
  core::MessageRecord one = record(1, "one");
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutRecord{std::nullopt, one}})), OutcomeKind::committed);
  for (const char* output : {"other", "", "again"}) {
    const auto before = one.ledger;
    one.output = output;
    ASSERT_EQ(kind_of(bundle_with(run, {core::PutRecord{before, one}})), OutcomeKind::committed);
    EXPECT_EQ(*job(run).state.find_message(guid(1)), one);
  }
  const core::PutRecord wrong{message_ledger(worked + 5), record(1, "wrong")};
  EXPECT_EQ(kind_of(bundle_with(run, {wrong})), OutcomeKind::rejected);
  EXPECT_EQ(output_of(run, 1), Payload("again"));
}

// The message that concludes an activity has no output of its own, because its output is the activity's. If it has one
// nevertheless, the output is kept, even by a store that saves a row.
TEST_P(GraphState, a_concluding_message_keeps_an_output_too) {
  const RunId run = opened("a");
  core::Activity after = activity(0, answered);
  after.output = "of the activity";
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{activity(0).ledger, after},
                                      core::PutRecord{std::nullopt, record(1, "of its own")}})),
            OutcomeKind::committed);
  EXPECT_EQ(*job(run).state.find_message(guid(1)), record(1, "of its own"));
  EXPECT_EQ(job(run).state.activities().at(0), after);
}

TEST_P(GraphState, a_concluding_message_may_get_its_output_later) {
  for (const bool with_activity : {false, true}) {
    const RunId run = opened(with_activity ? "b" : "a");
    core::Activity after = activity(0, answered);
    ASSERT_EQ(kind_of(bundle_with(
                  run, {core::PutActivity{activity(0).ledger, after}, core::PutRecord{std::nullopt, record(1, "")}})),
              OutcomeKind::committed);
    EXPECT_EQ(*job(run).state.find_message(guid(1)), record(1, ""));
    core::MessageRecord later = record(1, "later", 11'000'000'001);
    std::vector<core::Write> writes = {core::PutRecord{message_ledger(worked), later}};
    if (with_activity) {
      const auto before = after.ledger;
      after.ledger = activity_ledger(1'111'000'000'001);
      writes.emplace_back(core::PutActivity{before, after});
    }
    ASSERT_EQ(kind_of(bundle_with(run, writes)), OutcomeKind::committed);
    EXPECT_EQ(*job(run).state.find_message(guid(1)), later);
    EXPECT_EQ(job(run).state.messages().size(), 1u);
    EXPECT_EQ(job(run).state.activities().at(0), after);
    const auto before = later.ledger;
    later.output = "";
    ASSERT_EQ(kind_of(bundle_with(run, {core::PutRecord{before, later}})), OutcomeKind::committed);
    EXPECT_EQ(*job(run).state.find_message(guid(1)), later);
    EXPECT_EQ(kind_of(bundle_with(run, {core::PutRecord{std::nullopt, record(1, "x")}})), OutcomeKind::rejected);
  }
}

TEST_P(GraphState, a_removed_job_takes_all_of_it_along) {
  const RunId run = opened("a");
  core::Activity one = activity(0);
  one.state = "state";
  ASSERT_EQ(kind_of(with_data(
                run, "data", {core::PutActivity{one.ledger, one}, core::PutRecord{std::nullopt, record(1, "output")}})),
            OutcomeKind::committed);
  end(run);
  ASSERT_EQ(kind_of(RemoveJob{run, Instant()}), OutcomeKind::committed);
  EXPECT_FALSE(store_->read_job(run)->has_value());
  const RunId next = submit("a");
  EXPECT_NE(next, run);
  EXPECT_TRUE(job(next).state.job.data.empty());
  EXPECT_TRUE(job(next).state.messages().empty());
}

INSTANTIATE_TEST_SUITE_P(stores, GraphState, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
