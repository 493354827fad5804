// Versions of the file: every older one is migrated, each step whole or not at all.
#include "store/sqlite/schema.h"

#include <vector>

#include "store/sqlite/file_test.h"
#include "store/sqlite/open.h"

namespace pawl::store::sqlite {

class SchemaTest : public FileTest {
 protected:
  std::vector<const char*> steps_and(const char* extra) const {
    std::vector<const char*> steps(migrations().begin(), migrations().end());
    steps.push_back(extra);
    return steps;
  }
  static constexpr const char* extra_step = "ALTER TABLE jobs ADD COLUMN extra TEXT NOT NULL DEFAULT 'added later'";
};

TEST_F(SchemaTest, a_new_file_has_the_newest_version_and_our_mark) {
  open_bench();
  EXPECT_EQ(raw("PRAGMA user_version"), std::to_string(migrations().size()));
  EXPECT_EQ(raw("PRAGMA application_id"), std::to_string(application_id));
  EXPECT_EQ(raw("PRAGMA journal_mode"), "wal");
}

TEST_F(SchemaTest, every_older_version_is_brought_forward) {
  // Claim: a file created by any prefix of the steps opens with all of them. Checked for each prefix.
  for (std::size_t version = 1; version <= migrations().size(); ++version) {
    const std::string file = (folder_.path() / ("v" + std::to_string(version))).string();
    { ASSERT_TRUE(open_file(file, {}, migrations().first(version))); }
    const auto opened = Store::open(file, {});
    ASSERT_TRUE(opened) << to_string(opened.error());
    EXPECT_EQ(raw(file, "PRAGMA user_version"), std::to_string(migrations().size()));
  }
}

TEST_F(SchemaTest, a_file_with_jobs_gets_the_next_version_and_keeps_them) {
  open_bench();
  submit("order-1");
  store_.reset();
  const auto steps = steps_and(extra_step);
  const auto opened = open_file(path(), {}, steps);
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_EQ(raw("PRAGMA user_version"), std::to_string(steps.size()));
  EXPECT_EQ(raw("SELECT extra FROM jobs WHERE job_id = 'order-1'"), "added later");
}

TEST_F(SchemaTest, a_step_that_fails_leaves_the_file_at_its_version) {
  open_bench();
  submit("order-1");
  store_.reset();
  const auto steps = steps_and("CREATE TABLE half (a); SELECT no_such_column FROM jobs");
  EXPECT_FALSE(open_file(path(), {}, steps));
  EXPECT_EQ(raw("PRAGMA user_version"), std::to_string(migrations().size()));
  EXPECT_EQ(raw("SELECT count(*) FROM sqlite_schema WHERE name = 'half'"), "0");
  EXPECT_TRUE(Store::open(path(), {}));
}

TEST_F(SchemaTest, an_older_program_refuses_the_newer_file) {
  { ASSERT_TRUE(open_file(path(), {}, steps_and(extra_step))); }
  const auto opened = Store::open(path(), {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::unsupported);
}

TEST_F(SchemaTest, the_views_show_ledgers_as_fifteen_digits) {
  open_bench();
  const RunId run = submit("order-1");
  enqueue(run, 1);
  EXPECT_EQ(raw("SELECT ledger FROM activity_view WHERE job_id = 'order-1'"), "001100000000000");
  EXPECT_EQ(raw("SELECT pool || ' ' || status FROM job_view WHERE job_id = 'order-1'"), "graphs running");
  EXPECT_EQ(raw("SELECT kind FROM inbox_view WHERE job_id = 'order-1'"), "start");
  EXPECT_EQ(raw("SELECT topic FROM work_view WHERE job_id = 'order-1'"), "topic");
  EXPECT_EQ(raw("SELECT count(*) FROM message_view"), "0");
}

}  // namespace pawl::store::sqlite
