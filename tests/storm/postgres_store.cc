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
  std::optional<std::string> crash() override {
    if (!server_.stop("immediate") || !server_.run_server()) return "PostgreSQL did not start again after a crash";
    return std::nullopt;
  }
  std::optional<std::string> dump(const std::string& dir) override {
    if (auto problem = crash()) return problem;
    write_text(dir + "/dump.sql", dump_script);
    const std::string command = "'" + (TestServer::programs() / "psql").string() + "' -X -q -A -t -v ON_ERROR_STOP=1 -h '" +
                                server_.folder().string() + "' -U postgres -d postgres -f '" + dir + "/dump.sql' > '" + dir +
                                "/dump.txt'";
    if (std::system(command.c_str()) != 0) return "psql could not dump the store";
    return std::nullopt;
  }

 private:
  TestServer server_;
};

}  // namespace

std::unique_ptr<StormStore> postgres_store() {
  auto server = TestServer::start();
  if (!server) return nullptr;
  return std::make_unique<PostgresStore>(std::move(*server));
}

}  // namespace storm
