// A schema for each test, on a server that all tests of the process share.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/format.h"
#include "store/postgres/connection.h"
#include "store/postgres/init.h"
#include "store/postgres/server_test.h"
#include "store/postgres/store.h"

namespace pawl::store::postgres {

// The server of this test run, or one that this process starts. On a shared server the process has its own database:
// this separates it from sessions that other tests end, transactions that block a vacuum, and log lines of others.
class SharedServer {
 public:
  static SharedServer& get() {
    static SharedServer one;
    return one;
  }
  std::string address() const { return server_ ? server_->address(database_) : std::string(); }
  const std::string& database() const { return database_; }
  const std::optional<TestServer>& server() const { return server_; }

  // A session for what a test does beside the store.
  std::unique_ptr<Connection> connect(const std::string& schema = "public") const {
    auto opened = Connection::open(Address{address(), schema});
    if (opened) return std::move(*opened);
    ADD_FAILURE() << to_string(opened.error());
    return nullptr;
  }

  // Deletes all rows of a schema and keeps its tables.
  void empty(const std::string& schema) { wipe(schema); }

  // A role for all tests. It may run stores and owns nothing.
  static constexpr const char* runner = "pawl_runner";
  Status let_run(const std::string& schema) {
    if (!let_run_.insert(schema).second) return {};
    const auto made = run(format(
        "DO $$ BEGIN CREATE ROLE {} LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$",
        runner));
    if (!made) return made;
    InitOptions options;
    options.schema = schema;
    options.run_role = runner;
    const auto done = init(address(), options);
    return done ? Status{} : Status{done.error()};
  }

  // Returns an empty schema. A used one is wiped, because that is faster than creating one.
  std::string take_schema() {
    if (free_.empty()) return format("t{}_{}", getpid(), ++made_);
    std::string schema = std::move(free_.back());
    free_.pop_back();
    return schema;
  }
  void give_back(const std::string& schema) {
    if (wipe(schema)) free_.push_back(schema);
  }

 private:
  SharedServer() {
    if (const char* file = getenv("PAWL_TEST_POSTGRES")) {
      std::string folder;
      std::ifstream(file) >> folder;
      if (!folder.empty()) server_ = TestServer::at(folder);
    }
    if (server_) {
      const std::string own = format("t{}", getpid());
      const auto made = run_outside("CREATE DATABASE " + own);
      if (!made) ADD_FAILURE() << to_string(made.error());
      database_ = own;
      return;
    }
    server_ = TestServer::start({"max_wal_size=256MB"}, TestServer::Keeps::in_memory);
    is_own_ = true;
    if (!server_) ADD_FAILURE() << "no PostgreSQL server could be started; scripts/setup installs one";
  }
  ~SharedServer() {
    if (is_own_ && server_) server_->remove();
    if (is_own_ || !server_) return;
    admin_.reset();
    if (const auto dropped = run_outside("DROP DATABASE IF EXISTS " + database_ + " WITH (FORCE)"); !dropped)
      fprintf(stderr, "%s\n", to_string(dropped.error()).c_str());
  }

  // Runs outside of the process's own database.
  Status run_outside(const std::string& sql) const {
    const auto opened = Connection::open(Address{server_->address(), "public"});
    return opened ? (*opened)->execute(sql) : Status{opened.error()};
  }

  Status run(const std::string& sql) {
    if (!admin_ || admin_->is_lost()) {
      auto opened = Connection::open(Address{address(), "public"});
      if (!opened) return opened.error();
      admin_ = std::move(*opened);
    }
    return admin_->execute(sql);
  }
  bool wipe(const std::string& schema) {
    const auto wiped =
        run(format("DO $$ DECLARE one text; BEGIN FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = '{0}' "
                   "AND tablename NOT IN"
                   " ('schema_version', 'store_state') LOOP EXECUTE 'DELETE FROM {0}.' || quote_ident(one); END LOOP;"
                   " IF to_regclass('{0}.store_state') IS NOT NULL THEN UPDATE {0}.store_state SET store_id = "
                   "uuid_send(gen_random_uuid());"
                   " END IF; END $$",
                   schema));
    EXPECT_TRUE(wiped) << to_string(wiped.error());
    return wiped.ok();
  }

  std::optional<TestServer> server_;
  std::string database_ = "postgres";
  bool is_own_ = false;
  std::unique_ptr<Connection> admin_;
  std::vector<std::string> free_;
  std::set<std::string> let_run_;  // schemas that the role may run
  int made_ = 0;
};

// A store in its own schema, which is given back at the end.
class TestSchema {
 public:
  TestSchema() : name_(SharedServer::get().take_schema()) {}
  ~TestSchema() { SharedServer::get().give_back(name_); }
  TestSchema(const TestSchema&) = delete;
  TestSchema& operator=(const TestSchema&) = delete;
  const std::string& name() const { return name_; }

  // Opens it as a role that has only the rights to run the store. The owner creates the schema first.
  std::unique_ptr<Store> open_as_runner(Options options) const {
    const auto made = SharedServer::get().let_run(name_);
    EXPECT_TRUE(made) << (made ? "" : to_string(made.error()));
    options.migrate = Migrate::no;
    return open(std::move(options), format("&user={}", SharedServer::runner));
  }
  // `parameters`: more of the address, such as "&options=-c%20log_statement%3Dall".
  std::unique_ptr<Store> open(Options options, const std::string& parameters = {}) const {
    options.schema = name_;
    auto opened = Store::open(SharedServer::get().address() + parameters, options);
    if (opened) return std::move(*opened);
    ADD_FAILURE() << to_string(opened.error());
    return nullptr;
  }

 private:
  const std::string name_;
};

}  // namespace pawl::store::postgres
