// The compound primitive is one SQL statement, for one job and for many. The server's own log proves it.
#include <fstream>
#include <sstream>

#include "store/postgres/store_test.h"

namespace pawl::store::postgres {

namespace {

constexpr std::uint64_t worked = 10'000'000'001;
constexpr std::uint64_t closed_the_job = 111'000'000'001;
constexpr std::uint64_t step_1 = 1'110'000'000'001;
constexpr std::uint64_t step_2 = 1'111'000'000'001;

class StepLog : public PostgresTest {
 protected:
  void SetUp() override {
    store_ = open("&options=-c%20log_statement%3Dall%20-c%20log_parameter_max_length%3D-1");
    ASSERT_NE(store_, nullptr);
    epoch_ = acquire(*store_, 1, "a");
  }
  std::string log() const {
    std::ifstream file(SharedServer::get().server()->log());
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // The statements that were executed since then, each with its parameters. It reads only this process's database,
  // because other processes log too.
  std::vector<std::string> executed_since(std::size_t size) const {
    std::vector<std::string> statements;
    std::istringstream lines(log().substr(size));
    const std::string mark = "] " + SharedServer::get().database() + " ";
    bool is_own = false;
    for (std::string line; std::getline(lines, line);) {
      const bool continues = line.starts_with('\t');
      if (!continues) is_own = line.find(mark) != std::string::npos;
      if (!is_own) continue;
      if (line.find(mark + "LOG:  execute ") != std::string::npos)
        statements.push_back(line);
      else if (!statements.empty())
        statements.back() += line;
    }
    return statements;
  }
  static core::MessageRecord record(std::uint64_t digits) {
    return {guid(1), core::ActivitySeq(0), *ledger::MessageLedger::decode(digits), {}};
  }
  RunId job_before_step_2(const std::string& id) {
    const RunId run = commit(*store_, submit_of(id)).run();
    EXPECT_EQ(commit(*store_, bundle_for(*store_, run, epoch_,
                                         {core::PutActivity{std::nullopt, activity(0, step_1)},
                                          core::PutRecord{std::nullopt, record(worked)}}))
                  .kind,
              OutcomeKind::committed);
    return run;
  }
  core::Bundle closing_bundle(RunId run) {
    core::Bundle bundle = bundle_for(*store_, run, epoch_,
                                     {core::PutActivity{*ledger::ActivityLedger::decode(step_1), activity(0, step_2)},
                                      core::PutRecord{*ledger::MessageLedger::decode(worked), record(closed_the_job)}});
    auto& head = std::get<core::JobHead>(bundle.head);
    head.semaphore = core::SemaphoreStep{1, -1, 0, true};
    head.status = core::JobStatus::completed;
    return bundle;
  }
  void expect_one_statement(const std::vector<core::Bundle>& bundles) {
    std::vector<Operation> group(bundles.begin(), bundles.end());
    const std::size_t before = log().size();
    const auto outcomes = store_->commit(group);
    ASSERT_TRUE(outcomes) << to_string(outcomes.error());
    for (const Outcome& outcome : *outcomes) EXPECT_EQ(outcome.kind, OutcomeKind::committed) << outcome.reason;
    int steps = 0;
    for (const std::string& statement : executed_since(before)) {
      const bool is_step = statement.find("/* step_semaphore_and_snapshot */") != std::string::npos;
      steps += is_step ? 1 : 0;
      EXPECT_EQ(statement.find("UPDATE jobs") != std::string::npos, is_step) << statement;
      // Only SQL computes the digit: no statement gets it as a parameter.
      for (const char* lead : {"{", ","})
        EXPECT_EQ(statement.find(lead + std::to_string(closed_the_job)), std::string::npos) << statement;
    }
    EXPECT_EQ(steps, 1);
    for (const core::Bundle& bundle : bundles) {
      const auto job = store_->read_job(bundle.entity);
      EXPECT_EQ((*job)->state.find_message(guid(1))->ledger.encode(), closed_the_job);
      EXPECT_EQ((*job)->state.job.status, core::JobStatus::completed);
      EXPECT_EQ((*job)->state.job.semaphore, 0);
    }
  }

  std::unique_ptr<Store> store_;
  core::Epoch epoch_{0};
};

TEST_F(StepLog, one_job_steps_and_gets_its_snapshot_in_one_statement) {
  expect_one_statement({closing_bundle(job_before_step_2("a"))});
}

TEST_F(StepLog, many_jobs_step_and_get_their_snapshots_in_one_statement) {
  std::vector<core::Bundle> bundles;
  for (int i = 0; i < 40; ++i) bundles.push_back(closing_bundle(job_before_step_2(format("job {}", i))));
  expect_one_statement(bundles);
}

// A job that runs on after a first step in the group of its submit has one version of its row.
TEST_F(StepLog, a_job_that_steps_in_the_group_of_its_submit_is_written_once) {
  const auto first_step = [&](RunId run) {
    core::JobHead head;
    head.next_activity = 1;
    head.semaphore = core::SemaphoreStep{1, 1, 0, false};
    core::Bundle bundle{run,          epoch_,
                        core::Rev(0), core::BundleId(7),
                        std::move(head), {core::PutActivity{std::nullopt, activity(0, 1'100'000'000'000)},
                                          core::Consume{core::start_message(run, {}).guid}}};
    bundle.with_submit = true;
    return bundle;
  };
  const auto updates = [&](const std::vector<Operation>& group) {
    const std::size_t before = log().size();
    const auto outcomes = store_->commit(group);
    EXPECT_TRUE(outcomes) << to_string(outcomes.error());
    int found = 0;
    for (const std::string& statement : executed_since(before))
      found += statement.find("UPDATE jobs") != std::string::npos ? 1 : 0;
    return std::pair(found, *outcomes);
  };
  RunId next(commit(*store_, submit_of("a")).run().raw() + 1);
  const auto [none, both] = updates({submit_of("b"), first_step(next)});
  EXPECT_EQ(none, 0);
  EXPECT_EQ(both[1].kind, OutcomeKind::committed) << both[1].reason;
  const core::JobRow made = (*store_->read_job(next))->state.job;
  EXPECT_EQ(made.rev, core::Rev(1));
  EXPECT_EQ(made.semaphore, 2);
  EXPECT_EQ(made.next_activity, 1u);
  EXPECT_EQ(commit(*store_, bundle_for(*store_, next, epoch_)).kind, OutcomeKind::committed) << "its next step";
  // A step that was decided for another state is refused, and the job begins as it is submitted.
  next = RunId(next.raw() + 1);
  core::Bundle wrong = first_step(next);
  std::get<core::JobHead>(wrong.head).semaphore->before = 2;
  const auto [tried, outcomes] = updates({submit_of("c"), wrong});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::rejected);
  EXPECT_EQ((*store_->read_job(next))->state.job.rev, core::Rev(0));
}

TEST_F(StepLog, a_group_of_any_size_costs_the_same_number_of_statements_and_two_round_trips) {
  const auto cost = [&](int jobs) {
    std::vector<Operation> group;
    for (int i = 0; i < jobs; ++i) group.emplace_back(closing_bundle(job_before_step_2(format("{} of {}", i, jobs))));
    const Stats before = store_->stats();
    EXPECT_TRUE(store_->commit(group));
    const Stats after = store_->stats();
    EXPECT_EQ(after.round_trips - before.round_trips, 2u);
    return after.statements - before.statements;
  };
  cost(1);
  EXPECT_EQ(cost(2), cost(200));
}

}  // namespace

}  // namespace pawl::store::postgres
