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
