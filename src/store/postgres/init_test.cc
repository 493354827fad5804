// Which role creates a schema, which role runs it, and how it is migrated while programs of two versions share it.
#include "store/postgres/init.h"

#include "store/postgres/schema.h"
#include "store/postgres/store_test.h"

namespace pawl::store::postgres {

namespace {

// The next two versions of the program. The first only adds, the second breaks older programs.
constexpr const char* adds = "CREATE TABLE added (id bigint);";
constexpr const char* breaks = "ALTER TABLE labels RENAME TO renamed_labels;";
std::vector<Step> next_version() {
  std::vector<Step> steps(migrations().begin(), migrations().end());
  steps.emplace_back(adds);
  return steps;
}
std::vector<Step> version_after() {
  std::vector<Step> steps = next_version();
  steps.emplace_back(breaks, Step::Older::break_);
  return steps;
}

// Its schemas are dropped after the test, because other tests need another layout.
class PostgresInit : public testing::Test {
 protected:
  void SetUp() override {
    static int made = 0;
    name_ = format("init{}_{}", getpid(), ++made);
    admin_ = SharedServer::get().connect(name_);
    ASSERT_TRUE(admin_->execute(format("DROP ROLE IF EXISTS {0}_run; CREATE ROLE {0}_run LOGIN", name_)));
  }
  void TearDown() override {
    EXPECT_TRUE(admin_->execute(format("DROP SCHEMA IF EXISTS {0} CASCADE; DROP ROLE {0}_run", name_)));
  }
  InitOptions wanted() const {
    InitOptions options;
    options.schema = name_;
    return options;
  }
  static std::string address() { return SharedServer::get().address(); }
  Result<std::unique_ptr<Store>> open(const std::vector<Step>& steps = {}, const std::string& parameters = {}) {
    Options options;
    options.schema = name_;
    if (!steps.empty()) options.steps = steps;
    return Store::open(address() + parameters, options);
  }
  Result<std::unique_ptr<Store>> open_as_runner(const std::vector<Step>& steps = {}) {
    return open(steps, format("&user={}_run", name_));
  }
  std::string version() { return *admin_->ask("SELECT version || ' from ' || readable_from FROM schema_version"); }
  static Outcome commit(Store& store, const Operation& operation) {
    auto outcomes = store.commit({&operation, 1});
    if (outcomes) return outcomes->front();
    ADD_FAILURE() << to_string(outcomes.error());
    return {};
  }
  static void expect_said(const Status& refused, ErrorCode code, std::initializer_list<const char*> words) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, code) << to_string(refused.error());
    for (const char* word : words)
      EXPECT_NE(refused.error().detail.find(word), std::string::npos) << refused.error().detail;
  }
  template <class T>
  static Status status_of(const Result<T>& result) {
    return result ? Status{} : Status{result.error()};
  }

  std::string name_;
  std::unique_ptr<Connection> admin_;
};

TEST_F(PostgresInit, a_role_without_rights_is_told_what_its_owner_has_to_do) {
  expect_said(status_of(open_as_runner()), ErrorCode::unsupported, {"there is no store", "pawl init"});
  ASSERT_TRUE(init(address(), wanted()));
  expect_said(status_of(open_as_runner()), ErrorCode::unsupported, {"may not use the schema", "--run-role"});
  InitOptions with_role = wanted();
  with_role.run_role = name_ + "_run";
  ASSERT_TRUE(init(address(), with_role));
  EXPECT_TRUE(open_as_runner());
  expect_said(status_of(open_as_runner(next_version())), ErrorCode::unsupported,
              {"version", "pawl init", "owns the schema"});
}

TEST_F(PostgresInit, whoever_could_run_the_old_layout_can_run_the_new_one) {
  InitOptions with_role = wanted();
  with_role.run_role = name_ + "_run";
  ASSERT_TRUE(init(address(), with_role));
  ASSERT_TRUE(migrate(*admin_, name_, next_version()));
  EXPECT_EQ(*admin_->ask(format("SELECT has_table_privilege('{}_run', 'added', 'INSERT')", name_)), "t");
  EXPECT_EQ(*admin_->ask(format("SELECT has_table_privilege('{}_run', 'job_view', 'INSERT')", name_)), "f");
  EXPECT_TRUE(open_as_runner(next_version()));
}

TEST_F(PostgresInit, programs_of_two_versions_share_a_schema_when_the_step_between_them_only_adds) {
  auto older = open();
  ASSERT_TRUE(older) << to_string(older.error());
  ASSERT_EQ(commit(**older, OpenPool{pawl::Pool("graphs"), 1}).kind, OutcomeKind::committed);
  ASSERT_EQ(commit(**older, BeatEngine{pawl::Pool("graphs"), "old engine", std::chrono::seconds(30)}).kind,
            OutcomeKind::committed);
  auto newer = open(next_version());
  ASSERT_TRUE(newer) << to_string(newer.error());
  EXPECT_EQ(version(), format("{} from 1", migrations().size() + 1));
  EXPECT_TRUE(open()) << "an older one may also begin there";
  for (Store* store : {older->get(), newer->get()})
    EXPECT_EQ(commit(*store, Submit{Namespace("default"),
                                    JobId(store == older->get() ? "a" : "b"),
                                    core::LaneId(1),
                                    {GraphName("g"), 1, 1},
                                    "{}",
                                    Instant()})
                  .kind,
              OutcomeKind::committed);
}

TEST_F(PostgresInit, a_step_that_breaks_older_programs_waits_until_none_of_them_runs) {
  auto older = open();
  ASSERT_TRUE(older) << to_string(older.error());
  ASSERT_EQ(commit(**older, OpenPool{pawl::Pool("graphs"), 1}).kind, OutcomeKind::committed);
  ASSERT_EQ(commit(**older, BeatEngine{pawl::Pool("graphs"), "old engine", std::chrono::seconds(30)}).kind,
            OutcomeKind::committed);
  const std::string before = version();
  expect_said(status_of(open(version_after())), ErrorCode::conflict, {"breaks older programs", "old engine"});
  // An engine that was killed, or has lost its connections for a moment.
  older->reset();
  expect_said(status_of(open(version_after())), ErrorCode::conflict, {"old engine"});
  // A program that runs no engine.
  older = open();
  ASSERT_EQ(commit(**older, LeaveEngine{pawl::Pool("graphs"), "old engine"}).kind, OutcomeKind::committed);
  expect_said(status_of(open(version_after())), ErrorCode::conflict, {"have it open"});
  EXPECT_EQ(version(), before);
  older->reset();
  auto newer = open(version_after());
  for (int tries = 0; !newer && tries < 1000; ++tries) {  // the server needs a moment to notice that a session ended
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    newer = open(version_after());
  }
  ASSERT_TRUE(newer) << to_string(newer.error());
  EXPECT_EQ(version(), format("{0} from {0}", migrations().size() + 2));
  expect_said(status_of(open()), ErrorCode::unsupported, {"use a newer program"});
  expect_said(status_of(open(next_version())), ErrorCode::unsupported, {"use a newer program"});
}

// A program that was disconnected while the layout changed cannot use the store again.
TEST_F(PostgresInit, a_connection_that_is_made_later_looks_at_the_layout_again) {
  auto older = open({}, "&application_name=away");
  ASSERT_TRUE(older) << to_string(older.error());
  ASSERT_TRUE(
      admin_->execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() "
                      "AND application_name = 'away'"));
  ASSERT_TRUE(migrate(*admin_, name_, version_after()));
  const Operation pool = OpenPool{pawl::Pool("graphs"), 1};
  Result<std::vector<Outcome>> refused = (*older)->commit({&pool, 1});  // the first commit finds that its session ended
  if (!refused && refused.error().code == ErrorCode::retry_later) refused = (*older)->commit({&pool, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported) << to_string(refused.error());
  EXPECT_EQ(*admin_->ask("SELECT count(*) FROM pools"), "0");
}

TEST_F(PostgresInit, a_role_that_could_do_everything_is_no_run_role) {
  InitOptions with_role = wanted();
  with_role.run_role = "postgres";
  expect_said(status_of(init(address(), with_role)), ErrorCode::invalid, {"superuser"});
  with_role.run_role = "nobody'; DROP SCHEMA public; --";
  expect_said(status_of(init(address(), with_role)), ErrorCode::not_found, {"CREATE ROLE"});
}

}  // namespace

}  // namespace pawl::store::postgres
