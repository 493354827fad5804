// The ids that are taken: in parts, with filters that only save time.
#include "store/sqlite/start_keys.h"

#include <algorithm>
#include <string_view>
#include <thread>

#include "store/sqlite/fault_vfs.h"
#include "store/sqlite/file_test.h"
#include "store/sqlite/open.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/schema_start_keys.h"

namespace pawl::store::sqlite {
namespace {

Bits128 some_hash(std::uint64_t number) { return {Random::mix(number), Random::mix(number + 77'777)}; }

TEST(key_filter, never_denies_what_was_added_and_denies_nearly_all_else) {
  constexpr std::uint64_t keys = 100'000;
  KeyFilter filter(keys);
  for (std::uint64_t i = 0; i < keys; ++i) filter.add(some_hash(i));
  for (std::uint64_t i = 0; i < keys; ++i) ASSERT_TRUE(filter.may_have(some_hash(i)));
  int wrong = 0;
  for (std::uint64_t i = keys; i < 2 * keys; ++i) wrong += filter.may_have(some_hash(i)) ? 1 : 0;
  EXPECT_LT(wrong, keys / 200);
}

TEST(key_filter, is_read_as_it_was_written_or_not_at_all) {
  const Bits128 file{1, 2};
  KeyFilter filter(1000);
  filter.add(some_hash(5));
  std::string text = filter.text(file);
  const auto read = KeyFilter::parse(text, file);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->may_have(some_hash(5)));
  EXPECT_EQ(read->text(file), text);
  EXPECT_FALSE(KeyFilter::parse(text, Bits128{1, 3})) << "of another file";
  EXPECT_FALSE(KeyFilter::parse(text.substr(8), file));
  EXPECT_FALSE(KeyFilter::parse("", file));
  text[17] = static_cast<char>(text[17] ^ 1);
  EXPECT_FALSE(KeyFilter::parse(text, file));
}

class StartKeysTest : public FileTest {
 protected:
  static constexpr int old_ids = 40;

  void SetUp() override {
    test::FaultVfs::install();
    open_bench();
    for (int i = 0; i < old_ids; ++i) old_.push_back(submit("old-" + std::to_string(i)));
  }
  void TearDown() override { test::set_fault_plan(nullptr); }
  void open_again() {
    store_.reset();
    store_ = make({.clock = &clock_, .vfs = test::FaultVfs::name});
    ASSERT_NE(store_, nullptr);
    epoch_ = acquire(lane_, "engine-a");
  }
  // The lane's next run is the first of this part, counted from the lane's first.
  void go_to_part(int part) {
    store_.reset();
    raw(format("UPDATE lanes SET next_run = {} WHERE lane = {}", std::uint64_t(part) << part_bits, lane_.raw()));
    open_again();
  }
  Outcome again(const std::string& id, Reuse reuse = Reuse::never) {
    Submit one = a_submit(lane_, id);
    one.reuse = reuse;
    return commit(one);
  }
  void expect_old_ids_taken() {
    for (int i = 0; i < old_ids; ++i) {
      const Outcome outcome = again("old-" + std::to_string(i));
      EXPECT_EQ(outcome.kind, OutcomeKind::exists) << i;
      EXPECT_EQ(outcome.run(), old_[static_cast<std::size_t>(i)]) << i;
      EXPECT_EQ(*store_->find_run(Namespace("default"), JobId("old-" + std::to_string(i))),
                old_[static_cast<std::size_t>(i)]);
    }
  }
  std::string filters() { return raw("SELECT count(*) FROM key_filters"); }

  std::vector<RunId> old_;
};

TEST_F(StartKeysTest, ids_of_full_parts_stay_taken) {
  go_to_part(1);
  EXPECT_EQ(filters(), "0");
  submit("new-1");
  EXPECT_EQ(filters(), "1") << "the first commit behind a full part makes its filter";
  expect_old_ids_taken();
  EXPECT_EQ(part_of(submit("new-2")), part_of(old_[0]) + 1);
  EXPECT_EQ(again("new-1").kind, OutcomeKind::exists);
  open_again();
  expect_old_ids_taken();
  go_to_part(4);  // parts without any key are between
  expect_old_ids_taken();
  submit("new-3");
  EXPECT_EQ(again("new-1").kind, OutcomeKind::exists);
  EXPECT_TRUE(sqlite().verify());
}

TEST_F(StartKeysTest, a_part_that_is_filled_by_one_transaction_goes_on_in_the_next_part) {
  store_.reset();
  raw(format("UPDATE lanes SET next_run = {} WHERE lane = {}", (1u << part_bits) - 2, lane_.raw()));
  open_again();
  std::vector<Operation> group;
  for (int i = 0; i < 5; ++i) group.push_back(a_submit(lane_, "new-" + std::to_string(i)));
  group.push_back(a_submit(lane_, "new-0"));
  group.push_back(a_submit(lane_, "new-4"));
  const auto outcomes = commit_all(group);
  EXPECT_EQ(part_of(outcomes[1].run()) + 1, part_of(outcomes[2].run()));
  EXPECT_EQ(outcomes[5].kind, OutcomeKind::exists);
  EXPECT_EQ(outcomes[6].kind, OutcomeKind::exists);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(again("new-" + std::to_string(i)).kind, OutcomeKind::exists) << i;
  EXPECT_EQ(filters(), "1");
}

TEST_F(StartKeysTest, a_damaged_filter_is_made_again) {
  go_to_part(1);
  submit("new-1");
  store_.reset();
  raw("UPDATE key_filters SET filter = zeroblob(length(filter))");
  open_again();
  expect_old_ids_taken();
  EXPECT_EQ(raw("SELECT filter = zeroblob(length(filter)) FROM key_filters"), "0");
}

TEST_F(StartKeysTest, an_id_that_is_used_again_has_one_key) {
  end(old_[3]);
  go_to_part(1);
  submit("new-1");
  const Outcome reused = again("old-3", Reuse::after_close);
  ASSERT_EQ(reused.kind, OutcomeKind::committed);
  EXPECT_EQ(raw("SELECT count(*) || ' ' || max(run) FROM start_keys WHERE job_id = 'old-3'"),
            "1 " + std::to_string(reused.run().raw()));
  EXPECT_EQ(again("old-3").run(), reused.run());
  EXPECT_EQ(*store_->find_run(Namespace("default"), JobId("old-3")), reused.run());
}

TEST_F(StartKeysTest, a_filter_leaves_with_the_last_key_of_the_oldest_part) {
  go_to_part(1);
  submit("new-1");
  ASSERT_EQ(filters(), "1");
  const Instant soon = clock_.now() + std::chrono::seconds(1);
  for (const RunId run : old_) {
    end(run);
    ASSERT_EQ(kind_of(RemoveJob{run, soon}), OutcomeKind::committed);
  }
  EXPECT_EQ(again("old-1").kind, OutcomeKind::exists) << "its key is kept for a while";
  clock_.advance(std::chrono::seconds(2));
  ASSERT_EQ(kind_of(DropKeys{clock_.now(), 1000, lane_}), OutcomeKind::committed);
  EXPECT_EQ(filters(), "0");
  EXPECT_EQ(again("old-1").kind, OutcomeKind::committed);
}

TEST_F(StartKeysTest, what_another_process_filled_is_found) {
  go_to_part(1);
  submit("new-1");
  // As if another one had made a run in each of the next parts.
  raw(format("INSERT INTO start_keys (part, namespace, job_id, run) VALUES ({0} + 1, 'default', 'theirs', ({0} + 1) << "
             "{1}), ({0} + 2, 'default', 'theirs-too', ({0} + 2) << {1});"
             "UPDATE lanes SET next_run = (3 << {1}) + 9 WHERE lane = {2}",
             part_of(old_[0]) + 1, part_bits, lane_.raw()));
  EXPECT_EQ(again("theirs").kind, OutcomeKind::exists);
  EXPECT_EQ(again("theirs-too").kind, OutcomeKind::exists);
  EXPECT_EQ(again("new-2").kind, OutcomeKind::committed);
  expect_old_ids_taken();
}

TEST_F(StartKeysTest, a_removal_that_is_undone_leaves_the_id_taken) {
  // Claim: the filter of a full part has the key whose removal was in the same group and failed with it.
  for (const bool of_job : {true, false}) {
    const RunId run = old_[of_job ? 3 : 4];
    const std::string id = of_job ? "old-3" : "old-4";
    end(run);
    if (!of_job) {
      ASSERT_EQ(kind_of(RemoveJob{run, clock_.now()}), OutcomeKind::committed);
    }
    go_to_part(of_job ? 1 : 2);
    raw("DELETE FROM key_filters");
    std::vector<Operation> group;
    if (of_job)
      group.push_back(RemoveJob{run});
    else
      group.push_back(DropKeys{clock_.now(), 1000, lane_});
    Submit next = a_submit(lane_, "next-of-" + id);
    next.follows = RunId(77);  // looks at the ids, and writes nothing
    group.push_back(next);
    test::set_fault_plan([](test::Call call, std::string_view file) {
      return call == test::Call::write && file.ends_with("-wal") ? SQLITE_IOERR_WRITE : SQLITE_OK;
    });
    const auto failed = store_->commit(group);
    test::set_fault_plan(nullptr);
    ASSERT_FALSE(failed);
    ASSERT_EQ(failed.error().code, ErrorCode::retry_later);
    EXPECT_EQ(again(id, of_job ? Reuse::never : Reuse::after_close).kind,
              of_job ? OutcomeKind::exists : OutcomeKind::committed);
    EXPECT_EQ(raw("SELECT count(*) FROM start_keys WHERE job_id = '" + id + "'"), "1");
  }
}

TEST_F(StartKeysTest, a_read_that_fails_for_a_filter_never_takes_the_group_apart) {
  // Claim: what is reported as committed is in the file, whichever read fails while a filter is loaded or made.
  go_to_part(1);
  bool fired = true;
  for (int nth = 0; fired; ++nth) {
    ASSERT_LT(nth, 500);
    SCOPED_TRACE(nth);
    store_.reset();
    raw("DELETE FROM key_filters");
    open_again();
    const core::Bundle step = bundle_for(old_[5]);
    const std::string id = "new-" + std::to_string(nth);
    const std::vector<Operation> group = {step, a_submit(lane_, id)};
    fired = false;
    test::set_fault_plan([&, left = nth, self = std::this_thread::get_id()](test::Call call, std::string_view) mutable {
      if (call != test::Call::read || std::this_thread::get_id() != self || left-- != 0) return SQLITE_OK;
      fired = true;
      return SQLITE_IOERR_READ;
    });
    const auto outcomes = store_->commit(group);
    test::set_fault_plan(nullptr);
    const auto found = store_->find_run(Namespace("default"), JobId(id));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->has_value(), outcomes.ok());
    EXPECT_EQ(job(old_[5]).state.job.rev, outcomes ? core::next(step.rev_before) : step.rev_before);
    if (!outcomes) {
      EXPECT_EQ(outcomes.error().code, ErrorCode::retry_later);
      continue;
    }
    for (const Outcome& outcome : *outcomes) EXPECT_EQ(outcome.kind, OutcomeKind::committed);
  }
}

TEST_F(StartKeysTest, keys_of_an_older_file_come_into_their_parts) {
  const std::string file = (folder_.path() / "older.db").string();
  const Migrations all = migrations();
  const auto steps_before =
      static_cast<std::size_t>(std::find(all.begin(), all.end(), std::string_view(start_keys_schema)) - all.begin());
  ASSERT_LT(steps_before, all.size());
  { ASSERT_TRUE(open_file(file, {}, all.first(steps_before))); }
  raw(file, "INSERT INTO pools VALUES ('graphs', 1, 1);"
            "INSERT INTO lanes (lane, pool, epoch, owner, next_run) VALUES (1, 'graphs', 4, '', (1 << 18) + 5);"
            "INSERT INTO start_keys VALUES ('default', 'a', (1 << 47) + 7, 0),"
            " ('default', 'b', (1 << 47) + (1 << 17), 0), ('default', 'gone', (1 << 47) + 8, 99);"
            // A worker's own: SQLite refuses to rename a table beside them unless it is told not to look.
            "CREATE TABLE mine (x); CREATE VIEW of_mine AS SELECT * FROM mine; DROP TABLE mine;"
            "CREATE TABLE orders (x);"
            "CREATE TRIGGER of_orders AFTER INSERT ON orders BEGIN INSERT INTO mine VALUES (1); END");
  auto opened = Store::open(file, {.clock = &clock_});
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_EQ(raw(file, "SELECT count(*) FROM start_keys WHERE part = run >> 17"), "3");
  EXPECT_EQ(raw(file, "SELECT expires_at FROM start_keys WHERE job_id = 'gone'"), "99");
  store_ = std::move(*opened);
  for (const char* id : {"a", "b"}) {
    const Outcome outcome = commit(a_submit(core::LaneId(1), id));
    EXPECT_EQ(outcome.kind, OutcomeKind::exists) << id;
  }
  EXPECT_EQ(kind_of(a_submit(core::LaneId(1), "c")), OutcomeKind::committed);
}

}  // namespace
}  // namespace pawl::store::sqlite
