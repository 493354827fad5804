// A runtime on a store with SQL, a table of the user in it, and reads of that table from outside.
#pragma once

#include <libpq-fe.h>
#include <sqlite3.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "life.h"
#include "store/postgres/server_test.h"
#include "testing.h"

namespace pawl::testing {

// One server for all tests of the program, a database for each.
class Databases {
 public:
  static Databases& all() {
    static Databases one;
    return one;
  }
  ~Databases() {
    if (server_) server_->remove();
  }
  std::string make() {
    if (!server_) server_ = store::postgres::TestServer::start();
    if (!server_) return "";
    const std::string name = "t" + std::to_string(++made_);
    ask(server_->address(), "CREATE DATABASE " + name);
    return "postgres:///" + name + "?user=postgres&host=" + server_->folder().string();
  }
  // The first value of the first row.
  static std::string ask(const std::string& address, const std::string& sql) {
    PGconn* connection = PQconnectdb(address.c_str());
    PGresult* result = PQexec(connection, sql.c_str());
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) ADD_FAILURE() << PQerrorMessage(connection) << sql;
    std::string value = PQntuples(result) == 0 ? "" : PQgetvalue(result, 0, 0);
    PQclear(result);
    PQfinish(connection);
    return value;
  }

 private:
  std::optional<store::postgres::TestServer> server_;
  int made_ = 0;
};

inline std::string ask_file(const std::string& path, const std::string& sql) {
  sqlite3* file = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &file), SQLITE_OK);
  sqlite3_busy_timeout(file, 20'000);
  std::string value;
  const auto take = [](void* into, int, char** values, char**) {
    *static_cast<std::string*>(into) = values[0] == nullptr ? "" : values[0];
    return 0;
  };
  char* error = nullptr;
  if (sqlite3_exec(file, sql.c_str(), take, &value, &error) != SQLITE_OK) ADD_FAILURE() << error << ": " << sql;
  sqlite3_free(error);
  sqlite3_close(file);
  return value;
}

class TransactionTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    options_.store = is_postgres() ? Databases::all().make() : dir_ / "bank.db";
    if (is_postgres()) {
      ASSERT_FALSE(options_.store.empty());
      options_.lease = 2s * slow_factor;  // so that a transaction has one second, as in a file
    }
    const auto opened = pawl::open(options_);  // makes the file
    ASSERT_TRUE(opened.ok()) << to_string(opened.error());
    look("CREATE TABLE note (id TEXT PRIMARY KEY, attempt INTEGER)");
  }
  void TearDown() override { runtime_.reset(); }

  bool is_postgres() const { return GetParam() == "postgres"; }
  std::string look(const std::string& sql) const {
    return is_postgres() ? Databases::ask(options_.store, sql) : ask_file(options_.store, sql);
  }
  std::string notes() const { return look("SELECT count(*) FROM note"); }
  Duration time_max() const { return is_postgres() ? options_.lease / 2 : Duration(1s); }

  // The graph "step", its topic served with a transaction; and "other", whose worker has none.
  void start(TransactionWorker worker, const std::function<void(GraphBuilder&)>& set = {}) {
    runtime_ = open_with(options_, step_graph(set), {});
    ASSERT_TRUE(runtime_ != nullptr);
    auto other = GraphBuilder("other").trigger("t").worker("act", "other").after("t").build();
    ASSERT_TRUE(runtime_->deploy(std::move(*other)).ok());
    ASSERT_TRUE(runtime_->serve("other", echo).ok());
    const auto served = runtime_->serve_transaction("work", std::move(worker));
    ASSERT_TRUE(served.ok()) << to_string(served.error());
    ASSERT_TRUE(runtime_->launch().ok());
  }
  RunId submit(const std::string& id, const std::string& graph = "step") {
    const auto job = runtime_->start(graph, Payload("\"" + id + "\""), {.id = id});
    EXPECT_TRUE(job.ok()) << to_string(job.error());
    return job ? job->run() : RunId(0);
  }
  JobView end_of(RunId run) {
    std::optional<JobView> end;
    EXPECT_TRUE(comes_true(  // a restarted server does not answer for a while
        [&] {
          const auto waited = runtime_->job(run).wait(1s);
          if (waited) end = *waited;
          return end.has_value();
        },
        60s * slow_factor));
    return end.value_or(JobView{});
  }
  // Writes a row for its work; a second row for the same work would be refused.
  static Result<SqlRows> note(Work& work, Transaction& sql) {
    return sql.execute("INSERT INTO note (id, attempt) VALUES ($1, $2)", {work.key(), work.attempt()});
  }
  static Reply note_once(Work& work, Transaction& sql) {
    const auto noted = note(work, sql);
    return noted ? Reply::success("1") : Reply::error("\"" + noted.error().detail + "\"");
  }

  TempDir dir_;
  RuntimeOptions options_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace pawl::testing
