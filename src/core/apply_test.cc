// check() refuses every wrong before-value and every bundle that apply() could not apply.
#include "core/apply.h"

#include <gtest/gtest.h>

#include <functional>

namespace pawl::core {

namespace {

ledger::ActivityLedger activity_digits(std::uint64_t digits) { return *ledger::ActivityLedger::decode(digits); }
ledger::MessageLedger message_digits(std::uint64_t digits) { return *ledger::MessageLedger::decode(digits); }

Activity activity(std::uint32_t seq, std::uint64_t digits) {
  Activity made;
  made.seq = ActivitySeq(seq);
  made.node = seq;
  made.ledger = activity_digits(digits);
  return made;
}

// A running job with activities 0 and 1, one message ledger and one work item.
JobState scene() {
  JobState state;
  state.job.run = RunId(7);
  state.job.rev = Rev(3);
  state.job.semaphore = 2;
  state.job.next_activity = 2;
  state.put(activity(0, 1'111'000'000'001));
  state.put(activity(1, 1'100'000'000'000));
  state.put(MessageRecord{Guid{1, 1}, ActivitySeq(1), message_digits(10'000'000'001)});
  WorkItem item;
  item.run = RunId(7);
  item.activity = ActivitySeq(1);
  state.put(item);
  return state;
}

// A bundle for the scene that check() accepts, with a write of every kind that has a before-value.
Bundle good() {
  JobHead head;
  head.semaphore = SemaphoreStep{2, 1, 0, false};
  head.next_activity = 3;
  WorkItem item;
  item.run = RunId(7);
  item.activity = ActivitySeq(2);
  Bundle bundle;
  bundle.entity = RunId(7);
  bundle.rev_before = Rev(3);
  bundle.id = BundleId(50);
  bundle.head = head;
  bundle.writes = {
      PutActivity{activity_digits(1'100'000'000'000), activity(1, 1'110'000'000'001)},
      PutRecord{message_digits(10'000'000'001), {Guid{1, 1}, ActivitySeq(1), message_digits(11'000'000'001)}},
      PutActivity{std::nullopt, activity(2, 1'100'000'000'000)},
      PutRecord{std::nullopt, {Guid{2, 2}, ActivitySeq(2), message_digits(1)}}, PutWork{item}};
  return bundle;
}

JobHead& head_of(Bundle& bundle) { return std::get<JobHead>(bundle.head); }
template <class W>
W& nth(Bundle& bundle, std::size_t index) {
  return std::get<W>(bundle.writes[index]);
}

struct Wrong {
  std::string name;
  std::function<void(Bundle&)> spoil;
};
class Check : public testing::TestWithParam<Wrong> {};

TEST(check, accepts_a_bundle_whose_before_values_hold) { EXPECT_TRUE(check(scene(), good())); }

TEST_P(Check, refuses_it) {
  Bundle bundle = good();
  GetParam().spoil(bundle);
  const auto checked = check(scene(), bundle);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code,
            GetParam().name == "semaphore_above_the_ceiling" ? ErrorCode::over_limit : ErrorCode::corrupt);
  EXPECT_FALSE(checked.error().detail.empty());
}

INSTANTIATE_TEST_SUITE_P(
    wrong, Check,
    testing::Values(
        Wrong{"a_mailbox_head", [](Bundle& b) { b.head = MailboxHead{}; }},
        Wrong{"activity_ledger_behind",
              [](Bundle& b) { nth<PutActivity>(b, 0).before = activity_digits(1'000'000'000'000); }},
        Wrong{"activity_ledger_ahead",
              [](Bundle& b) { nth<PutActivity>(b, 0).before = activity_digits(1'110'000'000'001); }},
        Wrong{"activity_said_to_be_new", [](Bundle& b) { nth<PutActivity>(b, 0).before.reset(); }},
        Wrong{"activity_said_to_be_known", [](Bundle& b) { nth<PutActivity>(b, 2).before = activity_digits(0); }},
        Wrong{"a_gap_in_the_numbers", [](Bundle& b) { nth<PutActivity>(b, 2).after.seq = ActivitySeq(3); }},
        Wrong{"two_new_activities_of_one_number",
              [](Bundle& b) {
                b.writes.push_back(b.writes[2]);
                head_of(b).next_activity = 4;
              }},
        Wrong{"next_activity_too_low", [](Bundle& b) { head_of(b).next_activity = 2; }},
        Wrong{"next_activity_too_high", [](Bundle& b) { head_of(b).next_activity = 4; }},
        Wrong{"record_ledger_behind", [](Bundle& b) { nth<PutRecord>(b, 1).before = message_digits(1); }},
        Wrong{"record_ledger_ahead", [](Bundle& b) { nth<PutRecord>(b, 1).before = message_digits(11'000'000'001); }},
        Wrong{"record_said_to_be_new", [](Bundle& b) { nth<PutRecord>(b, 1).before.reset(); }},
        Wrong{"record_said_to_be_known", [](Bundle& b) { nth<PutRecord>(b, 3).before = message_digits(1); }},
        Wrong{"semaphore_before", [](Bundle& b) { head_of(b).semaphore->before = 3; }},
        Wrong{"a_hit_that_is_none", [](Bundle& b) { head_of(b).semaphore->hit = true; }},
        Wrong{"a_hit_that_is_denied", [](Bundle& b) { head_of(b).semaphore->delta = -2; }},
        Wrong{"another_threshold", [](Bundle& b) { head_of(b).semaphore->threshold = 3; }},
        Wrong{"semaphore_below_zero", [](Bundle& b) { head_of(b).semaphore->delta = -3; }},
        Wrong{"semaphore_above_the_ceiling",
              [](Bundle& b) { head_of(b).semaphore->delta = ledger::Semaphore::open_max; }},
        Wrong{"completions_before", [](Bundle& b) { head_of(b).completions_before = 1; }},
        Wrong{"work_of_another_run", [](Bundle& b) { nth<PutWork>(b, 4).item.run = RunId(8); }},
        Wrong{"a_mailbox_put", [](Bundle& b) { b.writes.emplace_back(PutEntry{}); }},
        Wrong{"a_mailbox_drop", [](Bundle& b) { b.writes.emplace_back(DropEntry{}); }}),
    [](const auto& one) { return one.param.name; });

TEST(check, refuses_to_open_a_closed_job_again) {
  for (const JobStatus closed : {JobStatus::completed, JobStatus::failed, JobStatus::interrupted})
    for (const JobStatus next : {JobStatus::running, JobStatus::parked, JobStatus::completed, JobStatus::failed}) {
      JobState state = scene();
      state.job.status = closed;
      Bundle bundle = good();
      head_of(bundle).status = next;
      EXPECT_EQ(check(state, bundle).ok(), closed == next) << name_of(closed) << " to " << name_of(next);
    }
}

TEST(check, lets_a_parked_job_run_again) {
  JobState state = scene();
  state.job.status = JobStatus::parked;
  EXPECT_TRUE(check(state, good()));
}

TEST(apply, moves_every_row_the_bundle_names) {
  JobState state = scene();
  apply(state, good());
  EXPECT_EQ(state.job.rev, Rev(4));
  EXPECT_EQ(state.job.bundle, BundleId(50));
  EXPECT_EQ(state.job.semaphore, 3);
  EXPECT_EQ(state.job.next_activity, 3u);
  EXPECT_EQ(state.find(ActivitySeq(1))->ledger.digits(), "001110000000001");
  EXPECT_EQ(state.find(2, ledger::Dimensions())->seq, ActivitySeq(2));
  EXPECT_EQ(state.find_message(Guid{1, 1})->ledger.digits(), "000011000000001");
  EXPECT_NE(state.find_work(ActivitySeq(2)), nullptr);
  EXPECT_EQ(state.find_work(ActivitySeq(1)), nullptr) << "what is answered is no longer work";
}

TEST(apply, rule_a_a_state_moved_on_never_passes_the_same_check_again) {
  // Ledgers only grow, so the same bundle cannot be added twice.
  JobState state = scene();
  apply(state, good());
  EXPECT_FALSE(check(state, good()));
}

TEST(apply, a_closed_job_owes_nothing) {
  for (const JobStatus status : {JobStatus::completed, JobStatus::failed, JobStatus::interrupted}) {
    JobState state = scene();
    Bundle bundle = good();
    head_of(bundle).status = status;
    apply(state, bundle);
    EXPECT_EQ(state.job.semaphore, 0);
  }
}

TEST(apply, drops_work_by_item_and_by_sweep) {
  for (const Write& write : {Write(DropWork{ActivitySeq(1), WorkToken(0)}), Write(Sweep{std::nullopt})}) {
    JobState state = scene();
    Bundle bundle = good();
    head_of(bundle).next_activity = 2;
    bundle.writes = {write};
    ASSERT_TRUE(check(state, bundle));
    apply(state, bundle);
    EXPECT_TRUE(state.work().empty());
  }
}

TEST(job_state, knows_the_message_between_its_steps_1_and_2) {
  JobState state;
  const Guid guid{5, 5};
  state.put(MessageRecord{guid, ActivitySeq(0), message_digits(1)});
  EXPECT_EQ(state.half_done(), std::nullopt);
  state.put(MessageRecord{guid, ActivitySeq(0), message_digits(10'000'000'001)});
  EXPECT_EQ(state.half_done(), guid);
  state.put(MessageRecord{Guid{6, 6}, ActivitySeq(0), message_digits(2)});
  EXPECT_EQ(state.half_done(), guid);
  state.put(MessageRecord{guid, ActivitySeq(0), message_digits(11'000'000'001)});
  EXPECT_EQ(state.half_done(), std::nullopt);
}

TEST(check_mailbox, accepts_and_refuses_entries) {
  MailboxState state;
  state.next_entry = 5;
  state.entries = {MailboxEntry{3, Guid{1, 1}, Signal{"x"}}};
  const auto checked = [&](std::uint64_t next_entry, std::vector<Write> writes) {
    Bundle bundle;
    bundle.head = MailboxHead{next_entry};
    bundle.writes = std::move(writes);
    return check(state, bundle).ok();
  };
  const auto entry = [](std::uint64_t seq) { return PutEntry{MailboxEntry{seq, Guid{seq, 2}, Signal{"y"}}}; };
  EXPECT_TRUE(checked(5, {DropEntry{3}, Consume{Guid{9, 9}}}));
  EXPECT_TRUE(checked(7, {entry(5), entry(6)}));
  EXPECT_TRUE(checked(7, {entry(6)})) << "5 came and went within the bundle";
  EXPECT_FALSE(checked(5, {DropEntry{4}})) << "missing";
  EXPECT_FALSE(checked(4, {})) << "numbers only grow";
  EXPECT_FALSE(checked(5, {entry(5)})) << "beyond the head";
  EXPECT_FALSE(checked(6, {entry(4)})) << "taken before";
  EXPECT_FALSE(checked(7, {entry(6), entry(5)})) << "out of order";
  EXPECT_FALSE(checked(5, {Sweep{}})) << "a job's write";
  EXPECT_FALSE(checked(5, {PutWork{}})) << "a job's write";
}

TEST(check_mailbox, refuses_a_jobs_head) {
  Bundle bundle;
  bundle.head = JobHead{};
  EXPECT_FALSE(check(MailboxState{}, bundle));
}

}  // namespace

}  // namespace pawl::core
