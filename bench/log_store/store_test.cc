// What the contract does not ask: a process that dies between two commits, a row that is cut, and the archive.
#include <sys/wait.h>
#include <unistd.h>

#include "log_store/group_codec.h"
#include "log_store/store.h"
#include "store/conformance/conformance.h"

namespace pawl::log_store {

namespace {

using store::Operation;

class LogStore : public store::Bench {
 protected:
  void SetUp() override {
    use({"log", [](const Clock& clock, const std::filesystem::path& folder) {
           return *Store::open((folder / "log.db").string(), {.clock = &clock});
         }});
  }
  Store& log() { return dynamic_cast<Store&>(*store_); }
  std::string path() const { return (folder_.path() / "log.db").string(); }
  std::int64_t ask(const char* sql) {
    using store::sqlite::Connection;
    const auto shell = Connection::open({path(), Connection::Mode::existing, "", std::chrono::seconds(1)});
    const auto found = (*shell)->read_number(sql);
    EXPECT_TRUE(found) << to_string(found.error());
    return found ? *found : -1;
  }
};

TEST_F(LogStore, a_killed_process_leaves_every_commit_that_it_was_told_of) {
  // The child commits and dies without closing anything; the parent opens the file and compares.
  store_.reset();
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto opened = Store::open(path(), {.clock = &clock_});
    std::uint32_t committed = 0;
    for (std::uint32_t i = 0; i < 20; ++i) {
      const Operation one = store::Submit{Namespace("default"), JobId(format("killed-{}", i)), lane_};
      if (const auto outcomes = (*opened)->commit({&one, 1}); outcomes && outcomes->front().done()) ++committed;
    }
    if (write(told[1], &committed, sizeof committed) != sizeof committed) _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  std::uint32_t committed = 0;
  ASSERT_EQ(read(told[0], &committed, sizeof committed), static_cast<ssize_t>(sizeof committed));
  EXPECT_EQ(committed, 20U);
  auto opened = Store::open(path(), {.clock = &clock_});
  ASSERT_TRUE(opened) << to_string(opened.error());
  for (std::uint32_t i = 0; i < committed; ++i)
    EXPECT_TRUE((*opened)->find_run(Namespace("default"), JobId(format("killed-{}", i)))->has_value());
}

TEST_F(LogStore, every_cut_of_a_row_is_refused) {
  const std::vector<Operation> group = {bundle_for(submit("a")), to_run(submit("b"), start_message(7)),
                                        store::ClaimWork{{Topic("topic")}, 1, "w", lease}};
  const std::string bytes = encode_group(group);
  ASSERT_TRUE(decode_group(bytes));
  EXPECT_EQ(encode_group(*decode_group(bytes)), bytes);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_FALSE(decode_group(bytes.substr(0, cut))) << cut;
}

TEST_F(LogStore, a_finished_job_can_be_queried_and_one_that_is_removed_cannot) {
  const RunId run = submit("a");
  submit("open");
  end(run);
  ASSERT_TRUE(log().flush());
  EXPECT_EQ(ask("SELECT count(*) FROM archive WHERE id = 'a' AND status = 1"), 1);
  EXPECT_EQ(ask("SELECT count(*) FROM archive"), 1);
  ASSERT_EQ(kind_of(store::RemoveJob{run, {}}), store::OutcomeKind::committed);
  ASSERT_TRUE(log().flush());
  EXPECT_EQ(ask("SELECT count(*) FROM archive"), 0);
}

TEST_F(LogStore, a_crash_before_the_archive_row_is_made_good_at_the_next_start) {
  const RunId run = submit("a");
  end(run);
  EXPECT_EQ(ask("SELECT count(*) FROM archive"), 0);
  ASSERT_TRUE(log().recover());
  submit("next");
  EXPECT_EQ(ask("SELECT count(*) FROM archive"), 1);
}

}  // namespace

}  // namespace pawl::log_store
