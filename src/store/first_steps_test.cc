// FirstSteps alone; with a store, in conformance/first_step_test.cc.
#include <gtest/gtest.h>

#include <vector>

#include "store/rules.h"

namespace pawl::store {

namespace {

std::vector<Operation> submit_and_step(RunId run) {
  core::Bundle step;
  step.entity = run;
  step.with_submit = true;
  return {Submit{}, std::move(step)};
}

Outcome made(RunId run) {
  Outcome outcome;
  outcome.answer = answer::Run{run};
  return outcome;
}

TEST(FirstStepsTest, a_step_is_allowed_behind_the_submit_that_made_its_job) {
  const auto group = submit_and_step(RunId(5));
  FirstSteps steps;
  EXPECT_FALSE(steps.refusal_of(group[0]));
  steps.applied(group[0], made(RunId(5)));
  EXPECT_FALSE(steps.refusal_of(group[1]));
}

TEST(FirstStepsTest, a_group_that_is_applied_again_begins_with_nothing) {
  const auto group = submit_and_step(RunId(5));
  FirstSteps steps;
  EXPECT_FALSE(steps.refusal_of(group[0]));
  steps.applied(group[0], made(RunId(5)));
  // The transaction is rolled back and tried again. Another process has made this job in the meantime.
  EXPECT_FALSE(steps.refusal_of(group[0]));
  Outcome refused = made(RunId(5));
  refused.kind = OutcomeKind::already_done;
  steps.applied(group[0], refused);
  EXPECT_TRUE(steps.refusal_of(group[1])) << "the job is another's";
}

}  // namespace

}  // namespace pawl::store
