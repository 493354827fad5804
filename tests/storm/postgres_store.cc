#include <cstdlib>
#include <utility>

#include "store/postgres/server_test.h"
#include "storm_store.h"

namespace storm {

namespace {

using pawl::store::postgres::TestServer;

// The check of the indexes fails by an error, which ends psql.
constexpr const char* dump_script = R"sql(
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA public;
SET search_path = pawl;
SELECT 'job|'||run||'|'||job_id||'|'||graph||'|'||status||'|'||semaphore||'|'||completions
  ||'|'||coalesce(convert_from(result, 'UTF8'), '')||'|'||reason FROM jobs;
SELECT 'activity|'||run||'|'||seq||'|'||node||'|'||place||'|'||lpad(ledger::text, 15, '0')
  ||'|'||status||'|'||code||'|'||coalesce(convert_from(output, 'UTF8'), '') FROM activities;
SELECT 'message|'||run||'|'||activity||'|'||ledger FROM message_view;
SELECT 'inbox|'||(SELECT count(*) FROM inbox_view) + (SELECT count(*) FROM outbox);
SELECT 'work|'||count(*) FROM work_view;
SELECT 'mailbox|'||count(*) FROM mailbox_entries;
SELECT 'integrity|'||CASE WHEN count(public.bt_index_check(c.oid, true)::text) > 0 THEN 'ok' ELSE 'there are no indexes' END
  FROM pg_class c JOIN pg_am m ON m.oid = c.relam
  WHERE m.amname = 'btree' AND c.relkind = 'i' AND c.relnamespace = 'pawl'::regnamespace;
)sql";

class PostgresStore final : public StormStore {
 public:
  explicit PostgresStore(TestServer server) : server_(std::move(server)) {}
  ~PostgresStore() override { server_.remove(); }

  std::string address() const override { return server_.address(); }
  // Each time the server goes down in another way.
  std::optional<std::string> crash() override {
    switch (crashes_++ % 5) {
      case 0:
        return started_again(server_.stop("immediate"));
      case 1:
        return started_again(server_.stop("fast"));
      case 2:
        return started_again(server_.kill_postmaster());
      // A session that is killed takes the server down with it; one that is ended does not.
      case 3:
        return kill_a_session();
      default:
        return done_by(psql() + " -c \"SELECT pg_terminate_backend(pid) FROM (" + all_sessions + ") a\" > /dev/null");
    }
  }
  std::optional<std::string> dump(const std::string& dir) override {
    if (auto problem = started_again(server_.stop("immediate"))) return problem;
    write_text(dir + "/dump.sql", dump_script);
    return done_by(psql() + " -v ON_ERROR_STOP=1 -f '" + dir + "/dump.sql' > '" + dir + "/dump.txt'");
  }

 private:
  static constexpr const char* all_sessions = "SELECT pid FROM pg_stat_activity WHERE application_name = 'pawl'";
  static constexpr const char* one_session =
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'pawl' ORDER BY query_start DESC LIMIT 1";

  // Returns when the server has recovered: no earlier session is left, and it takes new ones.
  std::optional<std::string> kill_a_session() const {
    return done_by("before=$(" + psql() + " -c 'SELECT clock_timestamp()') && " + psql() + " -c \"" + one_session +
                   "\" | xargs -r kill -9; for i in $(seq 200); do [ \"$(" + psql() + " -c \"SELECT count(*) FROM (" +
                   all_sessions +
                   " AND backend_start < '$before') a\" 2> /dev/null)\" = 0 ] && exit 0; sleep 0.05; done; true");
  }
  std::optional<std::string> started_again(bool stopped) const {
    if (!stopped || !server_.run_server()) return "PostgreSQL did not start again after a crash";
    return std::nullopt;
  }
  std::string psql() const {
    return "'" + (TestServer::programs() / "psql").string() + "' -X -q -A -t -h '" + server_.folder().string() +
           "' -U postgres -d postgres";
  }
  static std::optional<std::string> done_by(const std::string& command) {
    if (std::system(command.c_str()) != 0) return "this failed: " + command;
    return std::nullopt;
  }

  TestServer server_;
  int crashes_ = 0;
};

}  // namespace

std::unique_ptr<StormStore> postgres_store() {
  auto server = TestServer::start();
  if (!server) return nullptr;
  return std::make_unique<PostgresStore>(std::move(*server));
}

}  // namespace storm
