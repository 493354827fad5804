// What a worker writes in the transaction of its reply counts once: with the reply, or not at all.
#include "transactions/fixture.h"

namespace pawl::testing {
namespace {

TEST_P(TransactionTest, what_it_writes_is_there_when_its_answer_is) {
  start(note_once);
  std::vector<RunId> runs;
  for (int i = 0; i < 20; ++i) runs.push_back(submit("j" + std::to_string(i)));
  for (const RunId run : runs) EXPECT_EQ(end_of(run).status, JobStatus::completed);
  EXPECT_EQ(notes(), "20");
  EXPECT_EQ(look("SELECT max(attempt) FROM note"), "1");
}

TEST_P(TransactionTest, several_of_one_job_side_by_side) {
  runtime_ = open_with(options_, step_graph(), {});
  GraphBuilder wide("wide");
  wide.trigger("t");
  for (const std::string i : {"0", "1", "2", "3", "4", "5"})
    wide.worker("a" + i, "work").after("t").worker("b" + i, "work").after("a" + i);
  ASSERT_TRUE(runtime_->deploy(std::move(*wide.build())).ok());
  ASSERT_TRUE(runtime_->serve_transaction("work", note_once).ok());
  ASSERT_TRUE(runtime_->launch().ok());
  EXPECT_EQ(end_of(submit("w", "wide")).status, JobStatus::completed);
  EXPECT_EQ(notes(), "12");
  EXPECT_EQ(look("SELECT max(attempt) FROM note"), "1");  // none blocked another
}

TEST_P(TransactionTest, without_fusion_too) {
  options_.fusion = false;
  start(note_once);
  EXPECT_EQ(end_of(submit("a")).status, JobStatus::completed);
  EXPECT_EQ(notes(), "1");
}

TEST_P(TransactionTest, an_error_or_an_exception_undoes_it_and_is_tried_again) {
  start(
      [](Work& work, Transaction& sql) {
        const Reply noted = note_once(work, sql);
        if (work.attempt() == 1) return Reply::error("\"declined\"", 402);
        if (work.attempt() == 2) throw std::runtime_error("boom");
        return noted;
      },
      [](GraphBuilder& graph) { graph.retry(Retry().attempts(3).first_delay(1ms)); });
  EXPECT_EQ(end_of(submit("a")).status, JobStatus::completed);
  EXPECT_EQ(look("SELECT attempt FROM note"), "3");
  EXPECT_EQ(notes(), "1");
}

TEST_P(TransactionTest, a_statement_that_fails_ends_it_whatever_the_worker_answers) {
  start([](Work& work, Transaction& sql) {
    note_once(work, sql);
    EXPECT_FALSE(sql.execute("INSERT INTO nowhere VALUES (1)").ok());
    EXPECT_FALSE(sql.execute("SELECT 1").ok());
    return Reply::success("1");
  });
  const JobView end = end_of(submit("a"));
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_NE(end.reason.find("nowhere"), std::string::npos) << end.reason;
  EXPECT_EQ(notes(), "0");
  EXPECT_EQ(end_of(submit("b", "other")).status, JobStatus::completed);
}

TEST_P(TransactionTest, it_cannot_be_ended_from_inside) {
  std::atomic<int> refused{0};
  start([&](Work& work, Transaction& sql) {
    note_once(work, sql);
    const std::vector<std::string> ends{"COMMIT", "ROLLBACK", " /* a */ -- b\n commit", "SAVEPOINT s", "BEGIN", "END"};
    const auto ended = sql.execute(ends[std::stoul(work.input().str().substr(1, 1))]);
    if (!ended && ended.error().detail.find("refused") != std::string::npos) ++refused;
    return Reply::success("1");
  });
  std::vector<RunId> runs;
  for (int i = 0; i < 6; ++i) runs.push_back(submit(std::to_string(i)));
  for (const RunId run : runs) EXPECT_EQ(end_of(run).status, JobStatus::failed);
  EXPECT_EQ(refused, 6);
  EXPECT_EQ(notes(), "0");
}

TEST_P(TransactionTest, nor_by_the_handle_of_the_session) {
  start([&](Work& work, Transaction& sql) {
    note_once(work, sql);
    const bool commits = work.input().view() == "\"commit\"";
    if (sql.kind() == Transaction::Kind::postgres) {
      auto* session = static_cast<PGconn*>(sql.handle());
      PQclear(PQexec(session, commits ? "COMMIT" : "ROLLBACK"));
      PQclear(PQexec(session, "INSERT INTO note VALUES ('outside', 0)"));
    } else {
      auto* session = static_cast<sqlite3*>(sql.handle());
      EXPECT_NE(sqlite3_exec(session, commits ? "COMMIT" : "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
      EXPECT_NE(sqlite3_exec(session, "PRAGMA journal_mode = OFF", nullptr, nullptr, nullptr), SQLITE_OK);
      return Reply::error("\"refused\"");
    }
    return Reply::success("1");
  });
  EXPECT_EQ(end_of(submit("commit")).status, JobStatus::failed);
  EXPECT_EQ(end_of(submit("rollback")).status, JobStatus::failed);
  EXPECT_EQ(notes(), "0");
  EXPECT_EQ(end_of(submit("b", "other")).status, JobStatus::completed);
}

TEST_P(TransactionTest, the_handle_of_the_session_is_inside_of_it) {
  start([](Work&, Transaction& sql) {
    const char* insert = "INSERT INTO note VALUES ('by hand', 1)";
    if (sql.kind() == Transaction::Kind::postgres)
      PQclear(PQexec(static_cast<PGconn*>(sql.handle()), insert));
    else
      sqlite3_exec(static_cast<sqlite3*>(sql.handle()), insert, nullptr, nullptr, nullptr);
    return Reply::success("1");
  });
  EXPECT_EQ(end_of(submit("a")).status, JobStatus::completed);
  EXPECT_EQ(notes(), "1");
}

TEST_P(TransactionTest, values_come_back_as_they_went) {
  std::string seen;
  start([&](Work&, Transaction& sql) {
    if (!sql.execute("CREATE TABLE kept (a BIGINT, b DOUBLE PRECISION, c TEXT, d TEXT)")) return Reply::error("1");
    const auto put =
        sql.execute("INSERT INTO kept VALUES ($1, $2, $3, $4), ($1, $2, $3, $4)", {7, 0.5, "it's", nullptr});
    const auto got = sql.execute("SELECT a, b, c, d, (SELECT count(*) FROM kept) FROM kept WHERE a = $1 LIMIT 1", {7});
    if (!put || !got) return Reply::error("1");
    seen = std::to_string(put->changed) + " " + got->columns.at(2) + " " + got->at(0, 0).text() + " " +
           got->at(0, 1).text() + " " + got->at(0, 2).text() + " " + (got->at(0, 3).is_null() ? "null " : "? ") +
           std::to_string(got->at(0, 4).integer());
    return Reply::success("1");
  });
  EXPECT_EQ(end_of(submit("a")).status, JobStatus::completed);
  EXPECT_EQ(seen, "2 c 7 0.5 it's null 2");
}

TEST_P(TransactionTest, a_rule_that_is_broken_at_its_end_is_a_failed_try) {
  look("CREATE TABLE book (id INTEGER PRIMARY KEY, of TEXT REFERENCES note (id) DEFERRABLE INITIALLY DEFERRED)");
  start([](Work&, Transaction& sql) {
    EXPECT_TRUE(sql.execute("INSERT INTO book VALUES (1, 'nobody')").ok());
    return Reply::success("1");
  });
  const JobView end = end_of(submit("a"));
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_NE(end.reason.find("foreign key"), std::string::npos) << end.reason;
  EXPECT_EQ(look("SELECT count(*) FROM book"), "0");
}

TEST_P(TransactionTest, it_answers_once_and_when_it_returns) {
  start([](Work& work, Transaction&) {
    if (work.input().view() == "\"later\"") return Reply::later();
    work.pending(Payload("1"));
    return Reply::success("2");
  });
  for (const char* id : {"later", "pending"}) {
    const JobView end = end_of(submit(id));
    EXPECT_EQ(end.status, JobStatus::failed);
    EXPECT_NE(end.reason.find("with a transaction"), std::string::npos) << end.reason;
  }
}

TEST_P(TransactionTest, an_app_in_yaml_does_not_know) {
  write_file(dir_ / "app.yaml", R"(app:
  id: bank
  version: "1"
  graphs:
    - subscribes: bank.move
      activities:
        t: {type: trigger}
        act: {type: worker, topic: work, job: {maps: {done: "{$self.output.data.done}"}}}
      transitions: {t: [{to: act}]}
)");
  start([](Work& work, Transaction& sql) {
    return note(work, sql) ? Reply::success("{\"done\": true}") : Reply::error("1");
  });
  ASSERT_TRUE(runtime_->deploy(AppFile{dir_ / "app.yaml"}).ok());
  const auto job = runtime_->start("bank.move", Payload("{}"), {.id = "y"});
  ASSERT_TRUE(job.ok()) << to_string(job.error());
  EXPECT_EQ(end_of(job->run()).status, JobStatus::completed);
  EXPECT_EQ(notes(), "1");
}

TEST_P(TransactionTest, graphs_under_collation_duplex_are_refused) {
  start(note_once);
  const auto duplex = [](const std::string& topic) {
    return std::move(
        *GraphBuilder("dup").collation(Collation::duplex).trigger("t").worker("a", topic).after("t").build());
  };
  EXPECT_TRUE(fails_with(runtime_->deploy(duplex("work")), ErrorCode::unsupported, {"work", "duplex"}));
  ASSERT_TRUE(runtime_->deploy(duplex("elsewhere")).ok());
  EXPECT_TRUE(
      fails_with(runtime_->serve_transaction("elsewhere", note_once), ErrorCode::unsupported, {"elsewhere", "duplex"}));
  EXPECT_TRUE(fails_with(runtime_->serve("work", echo), ErrorCode::invalid, {"work"}));
}

INSTANTIATE_TEST_SUITE_P(stores, TransactionTest, ::testing::Values("sqlite", "postgres"),
                         [](const auto& one) { return one.param; });

TEST(NoTransactions, a_store_without_sql_says_so) {
  auto runtime = pawl::open({.store = ":memory:"});
  ASSERT_TRUE(runtime.ok());
  const auto served = runtime->serve_transaction("t", [](Work&, Transaction&) { return Reply::success(); });
  EXPECT_TRUE(fails_with(served, ErrorCode::unsupported, {"SQLite", "postgres://"}));
}

}  // namespace
}  // namespace pawl::testing
