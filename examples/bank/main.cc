// A bank in the user's own tables, beside the jobs that move its money (docs/TRANSACTIONS.md). Each transfer takes,
// gives and books in the transaction that commits the reply of its step: kill this program at any moment, run the same
// command again, and no money is lost, made or moved twice.
//
//   bank_example STORE [TRANSFERS]      STORE: a file, or postgres://...
#include <pawl/pawl.h>
#include <pawl_boost/json.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace std::chrono_literals;

struct Transfer {
  int number = 0;
  int source = 0;
  int target = 0;
  int amount = 0;
};
BOOST_DESCRIBE_STRUCT(Transfer, (), (number, source, target, amount))

struct Audit {
  std::int64_t sum = 0;
  std::int64_t transfers = 0;
};
BOOST_DESCRIBE_STRUCT(Audit, (), (sum, transfers))

namespace {

constexpr int accounts = 10;
constexpr int first_balance = 1000;

void check(const pawl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", to_string(status.error()).c_str());
  std::exit(1);
}

template <class Value>
Value check(pawl::Result<Value> result) {
  if (!result) check(pawl::Status(result.error()));
  return std::move(*result);
}

pawl::AppText one_step(const std::string& name, const std::string& topic) {
  return check(pawl::GraphBuilder(name)
                   .trigger("asked")
                   .worker("act", topic)
                   .after("asked")
                   .retry(pawl::Retry().attempts(1000).first_delay(10ms).longest_delay(1s))
                   .build());
}

// What a statement answers; a failed one ends the attempt, and undoes what was written.
pawl::SqlRows done(pawl::Result<pawl::SqlRows> rows) {
  if (!rows) throw pawl::Failure{.message = to_string(rows.error())};
  return std::move(*rows);
}

// The table of transfers has no key: a transfer that was made twice would be seen there.
void open_bank(pawl::Transaction& sql) {
  done(sql.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT)"));
  done(sql.execute("CREATE TABLE transfer (id TEXT, source INTEGER, target INTEGER, amount BIGINT)"));
  for (int id = 0; id < accounts; ++id) done(sql.execute("INSERT INTO account VALUES ($1, $2)", {id, first_balance}));
}

int transfer(const Transfer& order, pawl::Transaction& sql) {
  const auto taken =
      done(sql.execute("UPDATE account SET balance = balance - $1 WHERE id = $2", {order.amount, order.source}));
  const auto given =
      done(sql.execute("UPDATE account SET balance = balance + $1 WHERE id = $2", {order.amount, order.target}));
  if (taken.changed != 1 || given.changed != 1)  // nothing of it is kept
    throw pawl::Failure{.code = 404, .message = "no such account", .retryable = false};
  done(sql.execute("INSERT INTO transfer VALUES ($1, $2, $3, $4)",
                   {"transfer-" + std::to_string(order.number), order.source, order.target, order.amount}));
  return order.amount;
}

// What is in the tables, read in a transaction as well.
Audit audit(pawl::Transaction& sql) {
  return {done(sql.execute("SELECT sum(balance) FROM account")).at(0, 0).integer(),
          done(sql.execute("SELECT count(*) FROM transfer")).at(0, 0).integer()};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string store = argc > 1 ? argv[1] : "bank.db";
  const int transfers = argc > 2 ? std::atoi(argv[2]) : 100;
  pawl::RuntimeOptions options;
  options.store = store;
  if (const char* lease = std::getenv("BANK_LEASE_MS")) options.lease = std::chrono::milliseconds(std::atoi(lease));
  pawl::Runtime runtime = check(pawl::open(options));
  for (const std::string name : {"open", "transfer", "audit"}) check(runtime.deploy(one_step(name, "bank." + name)));
  check(runtime.serve_transaction("bank.open", open_bank));
  check(runtime.serve_transaction("bank.transfer", transfer));
  check(runtime.serve_transaction("bank.audit", audit));

  // A job's id is taken once: whoever runs this again meets the jobs that are there. A store that is restarted does not
  // answer for a while.
  const auto may_come = [](const pawl::Error& error) {
    return error.code == pawl::ErrorCode::retry_later || error.code == pawl::ErrorCode::outcome_unknown;
  };
  const auto begin = [&](const std::string& graph, const std::string& id, const Transfer& input = {}) {
    for (;;) {
      auto job = runtime.start(graph, input, {.id = id});
      if (job || !may_come(job.error())) return check(std::move(job));
    }
  };
  const auto await = [&](const pawl::Job<>& job) {
    for (;;) {
      auto end = job.wait(60s);
      if (end || end.error().code != pawl::ErrorCode::retry_later) return check(std::move(end));
    }
  };
  await(begin("open", "open"));
  std::vector<pawl::Job<>> jobs;
  for (int i = 0; i < transfers; ++i)
    jobs.push_back(
        begin("transfer", "transfer-" + std::to_string(i), {i, i % accounts, (i * 7 + 3) % accounts, 1 + i % 5}));
  int completed = 0;
  for (const pawl::Job<>& job : jobs) completed += await(job).status == pawl::JobStatus::completed ? 1 : 0;
  const auto last =
      begin("audit", "audit-" + std::to_string(std::chrono::system_clock::now().time_since_epoch().count()));
  std::printf("%d of %d transfers completed: %s\n", completed, transfers, await(last).result.str().c_str());
  return completed == transfers ? 0 : 1;
}
