#include "store/change.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace pawl::store {
namespace {

Outcome of_run(std::uint64_t run) {
  Outcome outcome;
  outcome.answer = answer::Run{RunId(run)};
  return outcome;
}

TEST(Change, names_the_runs_that_a_group_touched) {
  Submit submit;
  DeliverReply delivery;
  delivery.run = RunId(8);
  Deliver deliver;
  deliver.envelope.to = core::Target(RunId(9));
  const std::vector<Operation> group = {submit, delivery, deliver, submit};
  std::vector<Outcome> outcomes = {of_run(7), Outcome{}, Outcome{}, of_run(5)};
  outcomes[3].kind = OutcomeKind::exists;
  const Change change = changed_by(group, outcomes);
  EXPECT_EQ(change.runs, (std::vector<RunId>{RunId(7), RunId(8), RunId(9)})) << "a taken id changes nothing";
  EXPECT_FALSE(change.inboxes || change.work || change.topics || change.graphs || change.duplex);
}

TEST(Change, says_what_has_no_run) {
  const std::vector<Outcome> done(1);
  EXPECT_TRUE(changed_by(std::vector<Operation>{PauseTopic{}}, done).topics);
  EXPECT_TRUE(changed_by(std::vector<Operation>{PutApp{}}, done).graphs);
  EXPECT_TRUE(changed_by(std::vector<DuplexOutcome>(1)).duplex);
  EXPECT_TRUE(changed_by(std::vector<Operation>{RemoveJob{}}, done).times);
  EXPECT_TRUE(changed_by(std::vector<Operation>{ReleaseWork{}}, done).work);
  EXPECT_TRUE(changed_by(std::vector<Operation>{ReleaseLane{}}, done).lanes);
  EXPECT_TRUE(changed_by(std::vector<Operation>{AcquireLane{}}, done).empty());
  BeatEngine alive;
  EXPECT_TRUE(changed_by(std::vector<Operation>{alive}, done).lanes) << "it has just come";
  alive.holds.emplace();
  EXPECT_TRUE(changed_by(std::vector<Operation>{alive}, done).empty());
  alive.leaving = true;
  EXPECT_TRUE(changed_by(std::vector<Operation>{alive}, done).empty()) << "two that leave would never be done";
  EXPECT_TRUE(changed_by(std::vector<Operation>{LeaveEngine{}}, done).lanes);
}

TEST(Change, of_too_many_runs_names_none_and_says_so) {
  Change change;
  for (std::uint64_t run = 1; run <= limits::changed_runs_max; ++run) change.add(RunId(run));
  EXPECT_FALSE(change.inboxes);
  change.add(RunId(1));
  EXPECT_EQ(change.runs.size(), limits::changed_runs_max) << "the same one again";
  change.add(RunId(1'000'000));
  EXPECT_TRUE(change.inboxes && change.times);
  EXPECT_TRUE(change.runs.empty());
}

TEST(Change, comes_back_from_its_bytes) {
  Change change;
  change.topics = true;
  change.add(RunId(0x8000'0000'0000'0001));
  change.add(RunId(2));
  for (const Change& one : {Change{}, change, Change::everything()}) {
    const auto back = decode_change(encode(one));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, one);
  }
  EXPECT_FALSE(decode_change(""));
  EXPECT_FALSE(decode_change("\x80")) << "of an older program";
  EXPECT_FALSE(decode_change(std::string("\x00\x80", 2))) << "of a newer one";
  EXPECT_FALSE(decode_change(encode(change) + "x"));
}

}  // namespace
}  // namespace pawl::store
