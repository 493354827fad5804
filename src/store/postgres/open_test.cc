// Which servers and schemas are refused, and with which error text.
#include "store/postgres/open.h"

#include "store/postgres/schema.h"
#include "store/postgres/store_test.h"

namespace pawl::store::postgres {

namespace {

class PostgresOpen : public PostgresTest {
 protected:
  Result<std::unique_ptr<Store>> try_open(const std::string& parameters, Options options = {}) {
    options.schema = schema_.name();
    return Store::open(SharedServer::get().address() + parameters, options);
  }
};

TEST_F(PostgresOpen, a_store_that_is_opened_again_is_the_same_one) {
  auto first = open();
  const core::Guid id = first->id();
  const RunId run = commit(*first, submit_of("a")).run();
  first.reset();
  auto again = open();
  EXPECT_EQ(again->id(), id);
  EXPECT_EQ(**again->find_run(Namespace("default"), JobId("a")), run);
  EXPECT_GT(again->connections(), 0u);
  EXPECT_TRUE(again->spans_lanes());
}

TEST_F(PostgresOpen, a_schema_that_is_newer_is_refused_and_left_alone) {
  open();
  auto admin = SharedServer::get().connect(schema_.name());
  ASSERT_TRUE(admin->execute("UPDATE schema_version SET version = 1000, readable_from = 900"));
  const auto refused = try_open("");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().detail.find("version 1000"), std::string::npos) << refused.error().detail;
  ASSERT_TRUE(admin->execute(format("UPDATE schema_version SET version = {}, readable_from = 1", migrations().size())));
  EXPECT_TRUE(try_open(""));
}

TEST_F(PostgresOpen, a_schema_is_brought_forward_step_by_step_and_only_if_that_is_allowed) {
  Options as_it_is;
  as_it_is.migrate = Migrate::no;
  auto admin = SharedServer::get().connect("pawl_steps");
  ASSERT_TRUE(admin->execute("DROP SCHEMA IF EXISTS pawl_steps CASCADE"));
  ASSERT_TRUE(migrate(*admin, "pawl_steps", migrations().first(1)));
  as_it_is.schema = "pawl_steps";
  const auto refused = Store::open(SharedServer::get().address(), as_it_is);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  ASSERT_TRUE(migrate(*admin, "pawl_steps", migrations()));
  EXPECT_TRUE(Store::open(SharedServer::get().address(), as_it_is));
  ASSERT_TRUE(admin->execute("DROP SCHEMA pawl_steps CASCADE"));
}

TEST_F(PostgresOpen, a_server_that_does_not_sync_its_commits_is_refused_unless_that_is_accepted) {
  const auto refused = try_open("&options=-c%20synchronous_commit%3Doff");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().detail.find("synchronous_commit = off"), std::string::npos) << refused.error().detail;
  Options weaker;
  weaker.durability = Durability::as_configured;
  EXPECT_TRUE(try_open("&options=-c%20synchronous_commit%3Doff", weaker));
}

TEST_F(PostgresOpen, no_error_holds_a_password) {
  Options options;
  for (const char* address : {"postgres://me:s3cret@/none?host=/nowhere/at/all", "postgres://me:s3cret@localhost:1/x",
                              "host=/nowhere password=s3cret", "postgres://me:s3cret%zz@host/x", "nonsense=s3cret"}) {
    const auto refused = Store::open(address, options);
    ASSERT_FALSE(refused) << address;
    EXPECT_EQ(refused.error().detail.find("s3cret"), std::string::npos) << refused.error().detail;
    EXPECT_FALSE(refused.error().detail.empty());
  }
}

TEST_F(PostgresOpen, a_name_that_no_schema_should_have_is_refused) {
  for (const std::string& name : {std::string(""), std::string("Pawl"), std::string("a b"), std::string("x\"y"),
                                  std::string("pg_mine"), std::string(limits::schema_name_bytes_max + 1, 'a')})
    EXPECT_FALSE(check_schema_name(name)) << name;
  EXPECT_TRUE(check_schema_name("pawl_2"));
}

TEST_F(PostgresOpen, an_idle_store_sends_no_query) {
  auto store = open("&application_name=idle_one");
  class Deaf final : public Listener {
    void rung(const Change&) override {}
    void owner_gone() override {}
  } deaf;
  store->listen(deaf);
  commit(*store, submit_of("a"));
  auto admin = SharedServer::get().connect();
  const auto last_query = [&] {
    const auto at = admin->ask(
        "SELECT max(query_start) FROM pg_stat_activity WHERE datname = current_database() AND application_name = "
        "'idle_one'");
    return at ? *at : to_string(at.error());
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const std::string before = last_query();
  EXPECT_FALSE(before.empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(last_query(), before);
  store->stop_listening(deaf);
}

}  // namespace

}  // namespace pawl::store::postgres
