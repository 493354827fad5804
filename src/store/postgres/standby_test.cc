// A standby takes over. Either it has everything that was acknowledged, or this process notices the loss and does
// nothing more.
#include <thread>

#include "store/postgres/store_test.h"
#include "store/postgres/tail.h"

namespace pawl::store::postgres {

namespace {

class PostgresStandby : public testing::Test {
 protected:
  void SetUp() override {
    primary_ = TestServer::start();
    ASSERT_TRUE(primary_);
    standby_ = primary_->start_standby("second");
    ASSERT_TRUE(standby_);
    admin_ = connect(*primary_);
    auto opened = open();
    ASSERT_TRUE(opened) << to_string(opened.error());
    store_ = std::move(*opened);
    EXPECT_TRUE(commit(*store_, OpenPool{pawl::Pool("graphs"), 1}));
  }
  void TearDown() override {
    store_.reset();
    if (standby_) standby_->remove();
    if (primary_) primary_->remove();
  }
  static std::unique_ptr<Connection> connect(const TestServer& server) {
    auto opened = Connection::open(Address{server.address(), "public"});
    EXPECT_TRUE(opened) << (opened ? "" : to_string(opened.error()));
    return opened ? std::move(*opened) : nullptr;
  }
  // Connects to the server that accepts writes.
  Result<std::unique_ptr<Store>> open() {
    Options options;
    options.connections = 2;
    return Store::open("postgres:///postgres?user=postgres&target_session_attrs=primary&host=" +
                           primary_->folder().string() + "," + standby_->folder().string(),
                       options);
  }
  static Result<std::vector<Outcome>> commit(Store& store, const Operation& operation) {
    return store.commit({&operation, 1});
  }
  static Operation submit(const std::string& id) {
    return Submit{Namespace("default"), JobId(id), core::LaneId(1), {GraphName("g"), 1, 1}, "{}", Instant()};
  }
  void wait_until(Connection& connection, const std::string& sql, const std::string& value) {
    for (int tries = 0; tries < 3000; ++tries) {
      if (const auto said = connection.ask(sql); said && *said == value) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << sql << " never was " << value;
  }
  void wait_caught_up() {
    wait_until(*admin_, "SELECT bool_and(flush_lsn >= pg_current_wal_lsn()) FROM pg_stat_replication", "t");
  }
  // The primary stops, and the standby did not receive its last changes.
  void fail_over() {
    admin_.reset();
    ASSERT_TRUE(primary_->stop("immediate"));
    ASSERT_TRUE(standby_->run_server());
    ASSERT_TRUE(standby_->promote());
    auto promoted = connect(*standby_);
    wait_until(*promoted, "SELECT pg_is_in_recovery()", "f");
  }
  // Tries again, as an engine does.
  Result<std::vector<Outcome>> commit_in_the_end(const std::string& id) {
    auto answer = commit(*store_, submit(id));
    for (int tries = 0; !answer && answer.error().code == ErrorCode::retry_later && tries < 100; ++tries)
      answer = commit(*store_, submit(id));
    return answer;
  }

  std::optional<TestServer> primary_, standby_;
  std::unique_ptr<Connection> admin_;
  std::unique_ptr<Store> store_;
};

TEST_F(PostgresStandby, that_is_synchronous_has_all_that_was_acknowledged) {
  ASSERT_TRUE(admin_->execute("ALTER SYSTEM SET synchronous_standby_names = 'second'"));
  ASSERT_TRUE(admin_->execute("SELECT pg_reload_conf()"));
  wait_until(*admin_, "SELECT string_agg(sync_state, '') FROM pg_stat_replication", "sync");
  ASSERT_TRUE(admin_->execute("CHECKPOINT"));  // the checkpointer has read the setting by then, and commits wait
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(commit(*store_, submit(format("kept {}", i))));
  ASSERT_TRUE(standby_->stop("fast"));
  // The primary writes more that it does not acknowledge to the store. These changes are lost, and that must not count
  // as a loss.
  ASSERT_TRUE(admin_->execute(
      "SET synchronous_commit TO local; CREATE TABLE public.not_promised AS SELECT generate_series(1, 20000) AS n"));
  fail_over();
  const auto after = commit_in_the_end("after");
  ASSERT_TRUE(after) << to_string(after.error());
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ((*commit(*store_, submit(format("kept {}", i))))[0].kind, OutcomeKind::exists) << i;
  EXPECT_EQ((*commit(*store_, submit("after")))[0].kind, OutcomeKind::exists);
}

TEST_F(PostgresStandby, that_was_behind_is_noticed_by_whoever_saw_more) {
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(commit(*store_, submit(format("kept {}", i))));
  wait_caught_up();
  ASSERT_TRUE(standby_->stop("fast"));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(commit(*store_, submit(format("lost {}", i))));
  fail_over();
  // Another process writes meanwhile. So the numbers of the lost transactions are used again, and the log is longer
  // than it was.
  {
    auto unaware = open();
    ASSERT_TRUE(unaware) << "a process that starts later cannot know";
    for (int i = 0; i < 300; ++i) EXPECT_TRUE(commit(**unaware, submit(format("new {}", i))));
    EXPECT_FALSE((*unaware)->find_run(Namespace("default"), JobId("lost 4"))->has_value());
  }
  std::string reported;
  store_->on_problem([&](const std::string& text) { reported += text; });
  const auto refused = commit_in_the_end("after");
  ASSERT_FALSE(refused);
  EXPECT_EQ(reported, to_string(refused.error())) << "once";
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt) << to_string(refused.error());
  EXPECT_NE(refused.error().detail.find("without commits that it had acknowledged"), std::string::npos)
      << refused.error().detail;
  const auto read = store_->find_run(Namespace("default"), JobId("kept 1"));
  ASSERT_FALSE(read) << "it does nothing more";
  EXPECT_EQ(read.error().code, ErrorCode::corrupt);
}

// The standby is started in place of the primary without a promotion, so its timeline is the same.
TEST_F(PostgresStandby, that_is_an_older_copy_of_the_server_is_noticed) {
  EXPECT_TRUE(commit(*store_, submit("kept")));
  wait_caught_up();
  ASSERT_TRUE(standby_->stop("fast"));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(commit(*store_, submit(format("lost {}", i))));
  admin_.reset();
  ASSERT_TRUE(primary_->stop("immediate"));
  std::filesystem::remove(standby_->folder() / "data" / "standby.signal");
  ASSERT_TRUE(standby_->run_server());
  const auto refused = commit_in_the_end("later");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt) << to_string(refused.error());
}

}  // namespace

}  // namespace pawl::store::postgres
