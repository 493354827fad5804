// Faults inside of a running server: locks, conflicts, limits, disks, modes. Each time the store must report that
// nothing was done, or that the outcome is unknown, and continue when the cause is gone.
#include <sys/mount.h>

#include <fstream>
#include <thread>

#include "store/postgres/store_test.h"

namespace pawl::store::postgres {

namespace {

class PostgresFaults : public PostgresTest {
 protected:
  // Makes one statement of the store fail once: a trigger on its table raises the error. A sequence remembers that it
  // was raised, because no rollback resets a sequence.
  void raise_once(Connection& admin, const std::string& table, const std::string& event, const std::string& state) {
    ASSERT_TRUE(admin.execute(format(
        "CREATE SEQUENCE raised; CREATE FUNCTION raise_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF nextval('raised') = 1 THEN RAISE EXCEPTION 'injected' USING ERRCODE = '{}'; END IF; RETURN NULL; END $$;"
        " CREATE {} raise_once AFTER {} ON {} {} FOR EACH ROW EXECUTE FUNCTION raise_once()",
        state, event == "COMMIT" ? "CONSTRAINT TRIGGER" : "TRIGGER", event == "COMMIT" ? "INSERT" : event, table,
        event == "COMMIT" ? "DEFERRABLE INITIALLY DEFERRED" : "")));
  }
  void forget_trigger(Connection& admin, const std::string& table) {
    ASSERT_TRUE(
        admin.execute(format("DROP TRIGGER raise_once ON {}; DROP FUNCTION raise_once; DROP SEQUENCE raised", table)));
  }
  static Result<std::vector<Outcome>> try_commit(Store& store, const Operation& operation) {
    return store.commit({&operation, 1});
  }
  // Checks that the commit was refused with this SQLSTATE and that nothing of it is stored.
  static void expect_nothing_done(const Result<std::vector<Outcome>>& answer, const std::string& state) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::retry_later) << to_string(answer.error());
    EXPECT_NE(answer.error().detail.find(state), std::string::npos) << to_string(answer.error());
  }
};

TEST_F(PostgresFaults, deadlocks_and_conflicts_that_the_server_reports_undo_the_group_and_leave_the_connection_good) {
  auto store = open("&application_name=conflicts");
  auto admin = SharedServer::get().connect(schema_.name());
  int number = 0;
  for (const char* state : {"40P01", "40001"})
    for (const char* event : {"INSERT", "COMMIT"}) {
      raise_once(*admin, "start_keys", event, state);
      const Operation submit = submit_of(format("job {}", ++number));
      expect_nothing_done(try_commit(*store, submit), state);
      EXPECT_FALSE(store->find_run(Namespace("default"), JobId(format("job {}", number)))->has_value());
      EXPECT_EQ(commit(*store, submit).kind, OutcomeKind::committed);
      forget_trigger(*admin, "start_keys");
    }
  EXPECT_EQ(store->list_jobs({})->size(), 4u);
  EXPECT_EQ(*admin->ask("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name "
                        "= 'conflicts' AND state <> 'idle'"),
            "0");
}

TEST_F(PostgresFaults, a_statement_that_takes_too_long_is_ended_and_a_lock_is_not_waited_for_for_ever) {
  Options hasty;
  hasty.statement_wait = std::chrono::milliseconds(400);
  auto store = open("", hasty);
  auto other = SharedServer::get().connect(schema_.name());
  ASSERT_TRUE(other->execute("BEGIN; LOCK TABLE start_keys IN ACCESS EXCLUSIVE MODE"));
  expect_nothing_done(try_commit(*store, submit_of("a")), "57014");
  hasty.statement_wait = std::chrono::seconds(30);
  hasty.lock_wait = std::chrono::milliseconds(300);
  auto waits = open("", hasty);
  expect_nothing_done(try_commit(*waits, submit_of("a")), "55P03");
  const auto read = waits->find_run(Namespace("default"), JobId("a"));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::retry_later);
  ASSERT_TRUE(other->execute("COMMIT"));
  EXPECT_EQ(commit(*store, submit_of("a")).kind, OutcomeKind::committed);
  EXPECT_EQ(commit(*waits, submit_of("a")).kind, OutcomeKind::exists);
}

TEST_F(PostgresFaults, a_server_without_room_for_more_connections_is_used_by_those_that_there_are) {
  open();
  auto admin = SharedServer::get().connect(schema_.name());
  const std::string role = schema_.name() + "_few";
  InitOptions options;
  options.schema = schema_.name();
  options.run_role = role;
  ASSERT_TRUE(admin->execute(format("CREATE ROLE {} LOGIN CONNECTION LIMIT 2", role)));
  ASSERT_TRUE(init(SharedServer::get().address(), options));
  Options four;
  four.connections = 4;
  four.migrate = Migrate::no;
  auto store = schema_.open(four, "&user=" + role);
  ASSERT_NE(store, nullptr);
  EXPECT_TRUE(store->list_jobs({})) << "one reads, one commits";
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 10; ++i)
        done += commit(*store, submit_of(format("{} {}", thread, i))).kind == OutcomeKind::committed;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 40);
  const auto one_too_many = Store::open(SharedServer::get().address() + "&user=" + role, four);
  ASSERT_FALSE(one_too_many);
  EXPECT_EQ(one_too_many.error().code, ErrorCode::retry_later) << to_string(one_too_many.error());
  store.reset();
  ASSERT_TRUE(admin->execute(format("DROP OWNED BY {0}; DROP ROLE {0}", role)));
}

TEST_F(PostgresFaults, a_server_that_takes_no_writes_says_so_when_it_is_opened_and_later) {
  auto store = open("&application_name=read_only");
  Options options;
  options.schema = schema_.name();
  const auto refused =
      Store::open(SharedServer::get().address() + "&options=-c%20default_transaction_read_only%3Don", options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().detail.find("default_transaction_read_only"), std::string::npos) << refused.error().detail;
  // Set at run time: new sessions get it.
  auto admin = SharedServer::get().connect();
  const auto end_sessions = [&] {
    EXPECT_TRUE(
        admin->execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = "
                       "current_database() AND application_name = 'read_only'"));
    static_cast<void>(try_commit(*store, submit_of("lost")));
  };
  ASSERT_TRUE(admin->execute(
      "CREATE ROLE reads_only SUPERUSER LOGIN; ALTER ROLE reads_only SET default_transaction_read_only = off"));
  store = open("&application_name=read_only&user=reads_only");
  ASSERT_TRUE(admin->execute("ALTER ROLE reads_only SET default_transaction_read_only = on"));
  end_sessions();
  const auto later = try_commit(*store, submit_of("a"));
  expect_nothing_done(later, "25006");
  EXPECT_NE(later.error().detail.find("default_transaction_read_only"), std::string::npos) << later.error().detail;
  ASSERT_TRUE(admin->execute("ALTER ROLE reads_only SET default_transaction_read_only = off"));
  end_sessions();
  EXPECT_EQ(commit(*store, submit_of("a")).kind, OutcomeKind::committed);
  store.reset();
  ASSERT_TRUE(
      admin->execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'reads_only'; DROP "
                     "ROLE reads_only"));
}

// The server stops waiting for a standby that does not answer. The commit is done on this server and may be lost with
// it.
TEST_F(PostgresFaults, a_commit_that_no_standby_has_is_not_called_done) {
  auto server = TestServer::start();
  ASSERT_TRUE(server);
  auto store = Store::open(server->address(), {});
  ASSERT_TRUE(store) << to_string(store.error());
  EXPECT_EQ(commit(**store, OpenPool{pawl::Pool("graphs"), 1}).kind, OutcomeKind::committed);
  auto admin = Connection::open(Address{server->address(), "pawl"});
  for (const char* said : {"SET synchronous_commit TO local", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
                           "SELECT pg_reload_conf()"})
    ASSERT_TRUE((*admin)->execute(said));
  std::atomic<int> last{-1};
  std::optional<Error> error;
  std::thread commits([&] {
    while (!error && last < 10'000) {  // the first ones may commit before the setting takes effect
      const auto answer = try_commit(**store, submit_of(std::to_string(++last)));
      if (!answer) error = answer.error();
    }
  });
  // An operator ends the wait.
  const auto ended = [&] {
    const auto pids =
        (*admin)->ask("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    return !pids || *pids != "0";
  };
  while (!ended()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  commits.join();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::outcome_unknown) << to_string(*error);
  for (const char* said : {"ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()"})
    ASSERT_TRUE((*admin)->execute(said));
  EXPECT_EQ(commit(**store, submit_of(std::to_string(last))).kind, OutcomeKind::exists) << "it was done after all";
  store->reset();
  server->remove();
}

// The tables are on a small disk of their own. The log of the server is elsewhere.
TEST_F(PostgresFaults, a_full_disk_refuses_what_does_not_fit_and_goes_on_when_there_is_room) {
  std::string disk = (std::filesystem::temp_directory_path() / "pawl-disk-XXXXXX").string();
  ASSERT_NE(mkdtemp(disk.data()), nullptr);
  const passwd* user = getpwnam("postgres");
  if (geteuid() != 0 || user == nullptr || mount("none", disk.c_str(), "tmpfs", 0, "size=24m") != 0) {
    std::filesystem::remove(disk);
    GTEST_SKIP() << "a small tmpfs cannot be mounted here: " << strerror(errno);
  }
  const std::string place = disk + "/tables";
  std::filesystem::create_directory(place);
  ASSERT_EQ(chown(place.c_str(), user->pw_uid, user->pw_gid), 0);
  auto server = TestServer::start();
  ASSERT_TRUE(server);
  auto admin = Connection::open(Address{server->address(), "public"});
  ASSERT_TRUE(admin) << to_string(admin.error());
  ASSERT_TRUE((*admin)->execute(format("CREATE TABLESPACE small LOCATION '{}'", place)));
  auto store = Store::open(server->address() + "&options=-c%20default_tablespace%3Dsmall", {});
  ASSERT_TRUE(store) << to_string(store.error());
  EXPECT_EQ(commit(**store, OpenPool{pawl::Pool("graphs"), 1}).kind, OutcomeKind::committed);
  {
    std::ofstream balloon(disk + "/balloon", std::ios::binary);
    const std::string megabyte(1 << 20, 'b');
    while (balloon.write(megabyte.data(), 1 << 20).flush()) {
    }
  }
  // Fill it until a commit does not fit. The payloads are random bytes, so they cannot be compressed.
  Random random(7);
  const auto large = [&](int number) {
    Submit submit = submit_of(format("job {}", number));
    std::string noise(200'000, ' ');
    for (char& c : noise) c = static_cast<char>(random.below(256));
    submit.input = Payload(noise);
    return submit;
  };
  int accepted = 0;
  Result<std::vector<Outcome>> answer = try_commit(**store, large(0));
  while (answer && ++accepted < 1000) answer = try_commit(**store, large(accepted));
  expect_nothing_done(answer, "53100");
  std::filesystem::remove(disk + "/balloon");
  EXPECT_EQ(commit(**store, large(accepted)).kind, OutcomeKind::committed);
  for (int number = 0; number <= accepted; ++number)
    EXPECT_TRUE((*store)->find_run(Namespace("default"), JobId(format("job {}", number)))->has_value()) << number;
  store->reset();
  server->remove();
  EXPECT_EQ(umount2(disk.c_str(), MNT_DETACH), 0);
  std::filesystem::remove(disk);
}

}  // namespace

}  // namespace pawl::store::postgres
