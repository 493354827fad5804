// A large payload is stored once: what is in the file, what readers see, and what happens when it is not there.
#include "base/format.h"
#include "store/sqlite/file_test.h"
#include "store/sqlite/open.h"
#include "store/sqlite/schema.h"

namespace pawl::store::sqlite {

class PayloadsTest : public FileTest {
 protected:
  static constexpr std::uint64_t concluded = 1'111'000'000'001;  // work done
  static Payload large(char byte = 'x', std::size_t bytes = 100'000) { return Payload(std::string(bytes, byte)); }

  static core::Activity answered(std::uint32_t seq, Payload output) {
    core::Activity made = activity(seq, concluded);
    made.status = core::ActivityStatus::completed;
    made.output = std::move(output);
    return made;
  }
  core::WorkItem item(RunId run, std::uint32_t seq, Payload input) const {
    core::WorkItem made = work_item(run, seq);
    made.input = std::move(input);
    return made;
  }
  static core::Activity child_of(std::uint32_t parent, std::uint32_t seq) {
    core::Activity made = activity(seq);
    made.parent = core::ActivitySeq(parent);
    return made;
  }
  // Activity 0 is concluded with `output`, which is the input of activity 1, as a step of a chain commits it.
  RunId hand_on(const std::string& id, const Payload& output) {
    const RunId run = submit(id);
    EXPECT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(0)},
                                        core::PutWork{item(run, 0, "{}")}})),
              OutcomeKind::committed);
    EXPECT_EQ(kind_of(bundle_with(run, {core::PutActivity{activity(0).ledger, answered(0, output)},
                                        core::DropWork{core::ActivitySeq(0), core::WorkToken(0)},
                                        core::PutActivity{std::nullopt, child_of(0, 1)},
                                        core::PutWork{item(run, 1, output)}})),
              OutcomeKind::committed);
    return run;
  }
  std::string at(std::uint32_t seq) const {
    return raw(format("SELECT coalesce(input_at, 'in row') || ' ' || coalesce(length(input), 0) FROM activities"
                      " WHERE seq = {}",
                      seq));
  }
  std::string large_inputs() const { return raw("SELECT count(*) FROM large_inputs"); }
};

TEST_F(PayloadsTest, an_output_that_is_handed_on_is_in_the_file_and_in_its_log_once) {
  open_bench();
  const std::uint64_t before = sqlite().stats().log_bytes;
  const RunId run = hand_on("a", large());
  EXPECT_LT(sqlite().stats().log_bytes - before, 160'000u);
  EXPECT_EQ(at(1), "0 0");
  EXPECT_EQ(large_inputs(), "0");
  const StoredJob read = job(run);
  const core::WorkItem* work = read.state.find_work(core::ActivitySeq(1));
  ASSERT_NE(work, nullptr);
  EXPECT_TRUE(work->input == large());
  EXPECT_EQ(work->input.view().data(), read.state.activities()[0].output.view().data()) << "and in memory once";
  const auto claimed = claim(1);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_TRUE(claimed[0].input == large());
  const auto page = store_->read_work(lane_, {}, 10);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->size(), 1u);
  EXPECT_TRUE(page->front().input == large());
  EXPECT_EQ(raw("SELECT length(input) FROM work_view WHERE activity = 1"), "100000");
  EXPECT_EQ(raw("SELECT sum(length(output)) FROM activity_view"), "100000");
}

TEST_F(PayloadsTest, a_small_one_stays_in_the_row_of_its_work) {
  open_bench();
  const auto newest = [&] {
    return raw("SELECT coalesce(input_at, 'in row') || ' ' || coalesce(length(input), 0) FROM activities"
               " ORDER BY id DESC LIMIT 1");
  };
  hand_on("a", large('x', 64));
  EXPECT_EQ(newest(), "in row 64") << "a reference would not be smaller";
  hand_on("b", large('x', 65));
  EXPECT_EQ(newest(), "0 0");
  const RunId run = submit("c");
  for (std::uint32_t seq = 0; seq < 2; ++seq) {
    ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(seq)},
                                        core::PutWork{item(run, seq, large('x', 1024 + seq))}})),
              OutcomeKind::committed);
    EXPECT_EQ(newest(), seq == 0 ? "in row 1024" : "-1 0") << "an input of its own";
  }
}

TEST_F(PayloadsTest, equal_bytes_of_the_activity_before_are_found_in_the_file) {
  // Without fusion the child begins in a later bundle.
  open_bench();
  const RunId run = submit("a");
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, answered(0, large())}})), OutcomeKind::committed);
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, child_of(0, 1)},
                                      core::PutWork{item(run, 1, large())},
                                      core::PutActivity{std::nullopt, child_of(0, 2)},
                                      core::PutWork{item(run, 2, large('y'))},
                                      core::PutActivity{std::nullopt, child_of(0, 3)}})),
            OutcomeKind::committed);
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutWork{item(run, 3, large())}})), OutcomeKind::committed);
  EXPECT_EQ(at(1), "0 0");
  EXPECT_EQ(at(2), "-1 0") << "other bytes";
  EXPECT_EQ(at(3), "0 0") << "the parent is in the activity's row";
  EXPECT_TRUE(stored_item(run, 2).input == large('y'));
}

TEST_F(PayloadsTest, the_output_of_an_open_activity_is_not_referred_to) {
  open_bench();
  const RunId run = submit("a");
  core::Activity open = activity(0);
  open.output = large();
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, open},
                                      core::PutActivity{std::nullopt, child_of(0, 1)},
                                      core::PutWork{item(run, 1, large())}})),
            OutcomeKind::committed);
  EXPECT_EQ(at(1), "-1 0");
}

TEST_F(PayloadsTest, a_large_input_of_its_own_is_not_written_again_by_a_claim_and_goes_with_its_work) {
  open_bench();
  const RunId run = submit("a");
  std::vector<core::Write> writes;
  for (std::uint32_t seq = 0; seq < 4; ++seq) {
    writes.emplace_back(core::PutActivity{std::nullopt, activity(seq)});
    writes.emplace_back(core::PutWork{item(run, seq, large(static_cast<char>('a' + seq)))});
  }
  ASSERT_EQ(kind_of(bundle_with(run, std::move(writes))), OutcomeKind::committed);
  EXPECT_EQ(large_inputs(), "4");
  const std::uint64_t before = sqlite().stats().log_bytes;
  const auto claimed = claim(4);
  EXPECT_LT(sqlite().stats().log_bytes - before, 40'000u);
  ASSERT_EQ(claimed.size(), 4u);
  for (std::uint32_t seq = 0; seq < 4; ++seq)
    EXPECT_TRUE(claimed[seq].input == large(static_cast<char>('a' + seq))) << seq;
  // A reply from outside, the bundle of a reply, work that is dropped alone, and the end of the job.
  ASSERT_EQ(kind_of(DeliverReply{run, claimed[0].activity, claimed[0].token, answer_to(claimed[0])}),
            OutcomeKind::committed);
  EXPECT_EQ(large_inputs(), "3");
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{activity(1).ledger, answered(1, "out")},
                                      core::DropWork{core::ActivitySeq(1), claimed[1].token}})),
            OutcomeKind::committed);
  EXPECT_EQ(large_inputs(), "2");
  ASSERT_EQ(kind_of(bundle_with(run, {core::DropWork{core::ActivitySeq(2), claimed[2].token}})),
            OutcomeKind::committed);
  EXPECT_EQ(large_inputs(), "1");
  EXPECT_TRUE(stored_item(run, 3).input == large('d'));
  end(run);
  EXPECT_EQ(large_inputs(), "0");
  EXPECT_EQ(raw("SELECT count(*) FROM activities WHERE input_at IS NOT NULL"), "0");
}

TEST_F(PayloadsTest, a_stale_token_leaves_a_large_input_where_it_is) {
  open_bench();
  const RunId run = submit("a");
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(0)},
                                      core::PutWork{item(run, 0, large())}})),
            OutcomeKind::committed);
  const auto claimed = claim(1);
  ASSERT_EQ(claimed.size(), 1u);
  const core::WorkToken other(claimed[0].token.raw() + 1);
  EXPECT_EQ(kind_of(bundle_with(run, {core::PutActivity{activity(0).ledger, answered(0, "out")},
                                      core::DropWork{core::ActivitySeq(0), other}})),
            OutcomeKind::conflict);
  EXPECT_EQ(kind_of(bundle_with(run, {core::DropWork{core::ActivitySeq(0), other}})), OutcomeKind::conflict);
  EXPECT_TRUE(stored_item(run, 0).input == large());
}

TEST_F(PayloadsTest, another_input_takes_the_place_of_the_first) {
  open_bench();
  const RunId run = hand_on("a", large());
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutWork{item(run, 1, large('y'))}})), OutcomeKind::committed);
  EXPECT_TRUE(stored_item(run, 1).input == large('y'));
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutWork{item(run, 1, large())}})), OutcomeKind::committed);
  EXPECT_EQ(at(1), "0 0");
  EXPECT_EQ(large_inputs(), "0");
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutWork{item(run, 1, "small")}})), OutcomeKind::committed);
  EXPECT_TRUE(stored_item(run, 1).input == Payload("small"));
}

TEST_F(PayloadsTest, an_output_that_changes_leaves_the_old_bytes_to_those_who_were_given_them) {
  open_bench();
  const RunId run = hand_on("a", large());
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{answered(0, "").ledger, answered(0, large())}})),
            OutcomeKind::committed);
  EXPECT_EQ(at(1), "0 0") << "the same output";
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{answered(0, "").ledger, answered(0, large('y'))}})),
            OutcomeKind::committed);
  EXPECT_EQ(at(1), "in row 100000");
  EXPECT_TRUE(stored_item(run, 1).input == large());
  EXPECT_TRUE(job(run).state.activities()[0].output == large('y'));
}

TEST_F(PayloadsTest, an_activity_that_opens_again_leaves_them_too) {
  open_bench();
  const RunId run = hand_on("a", large());
  core::Activity again = activity(0);
  again.output = large();
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{answered(0, "").ledger, again}})), OutcomeKind::committed);
  EXPECT_EQ(at(1), "in row 100000");
}

TEST_F(PayloadsTest, a_result_that_is_the_last_output_is_in_the_file_once_and_goes_with_the_job) {
  open_bench();
  const RunId run = hand_on("a", "small");
  core::Bundle last = bundle_with(run, {core::PutActivity{activity(1).ledger, answered(1, large())},
                                        core::DropWork{core::ActivitySeq(1), core::WorkToken(0)}});
  auto& head = std::get<core::JobHead>(last.head);
  head.status = core::JobStatus::completed;
  head.closed_at = clock_.now();
  head.completions = 1;
  head.result = large();
  ASSERT_EQ(kind_of(std::move(last)), OutcomeKind::committed);
  EXPECT_EQ(raw("SELECT result_at || ' ' || coalesce(length(result), 0) FROM jobs"), "1 0");
  EXPECT_EQ(raw("SELECT length(result) FROM job_view"), "100000");
  EXPECT_TRUE(job(run).state.job.result == large());
  const auto row = store_->read_job_row(run);
  ASSERT_TRUE(row && *row);
  EXPECT_TRUE((*row)->result == large());
  const auto list = store_->list_jobs({});
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1u);
  EXPECT_TRUE(list->front().result == large() || list->front().result.empty()) << "as the list asked for";
  raw("UPDATE activities SET output = NULL WHERE seq = 1");
  const auto damaged = store_->read_job(run);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::corrupt);
  ASSERT_EQ(kind_of(RemoveJob{run, Instant()}), OutcomeKind::committed);
  EXPECT_EQ(raw("SELECT count(*) FROM activities"), "0");
}

TEST_F(PayloadsTest, a_missing_payload_is_damage_and_never_an_empty_input) {
  open_bench();
  const RunId given = hand_on("given", large());
  const RunId own = submit("own");
  ASSERT_EQ(kind_of(bundle_with(own, {core::PutActivity{std::nullopt, activity(0)},
                                      core::PutWork{item(own, 0, large())}})),
            OutcomeKind::committed);
  raw(format("UPDATE activities SET output = NULL WHERE run = {} AND seq = 0; DELETE FROM large_inputs", given.raw()));
  for (const RunId run : {given, own}) {
    const auto read = store_->read_job(run);
    ASSERT_FALSE(read) << run.raw();
    EXPECT_EQ(read.error().code, ErrorCode::corrupt);
    EXPECT_NE(read.error().detail.find("work item"), std::string::npos) << read.error().detail;
  }
  EXPECT_TRUE(claim(10).empty());
  const auto page = store_->read_work(lane_, {}, 10);
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->empty());
  EXPECT_EQ(page->damaged.size(), 2u);
}

TEST_F(PayloadsTest, a_file_from_before_is_read_and_its_work_is_ended) {
  const auto steps = migrations();
  std::size_t before = 0;  // the steps before large_inputs
  while (before < steps.size() && std::string_view(steps[before]).find("large_inputs") == std::string_view::npos)
    ++before;
  ASSERT_LT(before, steps.size());
  { ASSERT_TRUE(open_file(path(), {}, steps.first(before))); }
  raw("INSERT INTO pools VALUES ('graphs', 1, 2);"
      "INSERT INTO lanes (lane, pool, epoch, owner, next_run) VALUES (1, 'graphs', 4, '', 9), (2, 'graphs', 2, '', 1);"
      "INSERT INTO start_keys (namespace, job_id, run) VALUES ('default', 'old', (1 << 47) + 1);"
      "INSERT INTO jobs (run, namespace, job_id, graph, version, fingerprint, created_at, rev, bundle, status,"
      " semaphore, threshold, completions, next_activity, closed_at, reason, result) VALUES"
      " ((1 << 47) + 1, 'default', 'old', 'graph', 1, 7, 5, 3, 30, 0, 1, 0, 0, 1, 0, '', zeroblob(50000));"
      "INSERT INTO activities (run, seq, node, place, ledger, status, code, opened_at, closed_at, position, topic,"
      " request, token, worker, epoch, lease_until, runs, input) VALUES"
      " ((1 << 47) + 1, 0, 0, ',0', 1100000000000, 0, 0, 6, 0, 1, 'topic', zeroblob(16), 0, '', 0, 0, 0,"
      " zeroblob(60000));");
  store_ = make({.clock = &clock_});
  ASSERT_NE(store_, nullptr);
  lane_ = core::LaneId(1);
  epoch_ = acquire(lane_, "engine-b");
  const RunId old = core::make_run(core::LaneId(1), 1);
  EXPECT_TRUE(job(old).state.job.result == Payload(std::string(50'000, '\0')));
  const auto claimed = claim(1);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_TRUE(claimed[0].input == Payload(std::string(60'000, '\0')));
  ASSERT_EQ(kind_of(bundle_with(old, {core::PutActivity{activity(0).ledger, answered(0, large())},
                                      core::DropWork{core::ActivitySeq(0), claimed[0].token},
                                      core::PutActivity{std::nullopt, child_of(0, 1)},
                                      core::PutWork{item(old, 1, large())}})),
            OutcomeKind::committed);
  EXPECT_EQ(at(1), "0 0");
  EXPECT_TRUE(stored_item(old, 1).input == large());
}

}  // namespace pawl::store::sqlite
