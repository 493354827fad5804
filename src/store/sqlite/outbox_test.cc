// What the layout of outboxes promises: files of version 7 still work, and rows survive a reopening with either way of
// sending.
#include "store/sqlite/file_test.h"
#include "store/sqlite/open.h"
#include "store/sqlite/schema.h"

namespace pawl::store::sqlite {

class OutboxTest : public FileTest {
 protected:
  core::Send send_to(RunId run, std::uint64_t number) { return core::Send{{run, start_message(number)}}; }
};

// That version had one count for all targets, and no row was ever numbered by it.
TEST_F(OutboxTest, a_file_of_version_7_begins_to_count_anew) {
  { ASSERT_TRUE(open_file(path(), {}, migrations().first(7))); }
  raw("INSERT INTO source_lanes VALUES (2, 12)");
  open_bench();
  EXPECT_EQ(raw("PRAGMA user_version"), std::to_string(migrations().size()));
  EXPECT_EQ(raw("SELECT count(*) FROM sqlite_schema WHERE name = 'source_lanes'"), "0");
  const RunId run = submit("a");
  EXPECT_EQ(kind_of(to_run(run, start_message(1), Deliver::Source{other_lane_, 1})), OutcomeKind::committed);
  EXPECT_EQ(kind_of(to_run(run, start_message(2), Deliver::Source{other_lane_, 3})), OutcomeKind::conflict);
  EXPECT_TRUE(sqlite().verify());
}

TEST_F(OutboxTest, rows_that_wait_are_there_when_the_file_is_opened_again_to_send_directly) {
  open_bench({.sends_directly = false});
  const RunId from = submit("from");
  const RunId to = submit_to(other_lane_, "to");
  EXPECT_EQ(kind_of(bundle_with(from, {send_to(to, 1), send_to(to, 2)})), OutcomeKind::committed);
  store_.reset();
  store_ = make({.clock = &clock_});
  ASSERT_NE(store_, nullptr);
  epoch_ = acquire(lane_, "engine-a");
  other_epoch_ = acquire(other_lane_, "engine-a");
  EXPECT_EQ(kind_of(bundle_with(from, {send_to(to, 3)})), OutcomeKind::committed);
  EXPECT_EQ(deliver_outboxes().size(), 0u) << "runs are named by their own number";
  EXPECT_EQ(job(to).inbox.size(), 4u);
  EXPECT_EQ(raw("SELECT count(*) FROM outbox"), "0");
  EXPECT_EQ(raw("SELECT source || target || last_seq || dropped FROM outbox_routes"), "1222");
}

TEST_F(OutboxTest, a_damaged_row_is_named_and_holds_up_its_own_route_only) {
  const std::pair<const char*, const char*> damages[] = {
      {"UPDATE outbox SET envelope = x'ff' WHERE target = 2 AND seq = 2", "row 2 from lane 1 to lane 2 is malformed"},
      {"UPDATE outbox SET envelope = 'text' WHERE target = 2 AND seq = 2", "row 2 from lane 1 to lane 2 is malformed"},
      {"DELETE FROM outbox WHERE target = 2 AND seq = 2", "row 2 from lane 1 to lane 2 is missing"},
  };
  open_bench({.sends_directly = false});
  const RunId from = submit("from");
  const RunId here = submit("here");
  const RunId there = submit_to(other_lane_, "there");
  for (std::uint64_t i = 1; i <= 3; ++i)
    EXPECT_EQ(kind_of(bundle_with(from, {send_to(there, i), send_to(here, 10 + i)})), OutcomeKind::committed);
  raw("CREATE TABLE kept AS SELECT * FROM outbox");
  for (const auto& [sql, says] : damages) {
    raw("DELETE FROM outbox; INSERT INTO outbox SELECT * FROM kept");
    ASSERT_EQ(store_->read_outbox(lane_, 10)->size(), 6u);
    raw(sql);
    const auto page = store_->read_outbox(lane_, 10);
    ASSERT_TRUE(page) << to_string(page.error());
    EXPECT_EQ(page->size(), 4u) << "one before it, three beside it";
    ASSERT_EQ(page->damaged.size(), 1u);
    EXPECT_EQ(page->damaged[0].what, says);
  }
  raw("DROP TABLE kept");
}

}  // namespace pawl::store::sqlite
