// A bank in the user's own tables, beside the jobs that move its money (docs/TRANSACTIONS.md). Each transfer takes,
// gives and books in the transaction that commits the reply of its step: kill this program at any moment, run the same
// command again, and no money is lost, made or moved twice.
//
//   bank_example STORE [TRANSFERS]      STORE: a file, or postgres://...
#include <pawl/pawl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace std::chrono_literals;

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

pawl::Graph one_step(const std::string& name, const std::string& topic) {
  return check(pawl::GraphBuilder(name)
                   .trigger("asked")
                   .worker("act", topic)
                   .after("asked")
                   .retry(pawl::Retry().attempts(1000).first_delay(10ms).longest_delay(1s))
                   .build());
}

pawl::Reply failed(const pawl::Error& error) {
  return pawl::Reply::error("\"" + std::string(name_of(error.code)) + "\"");
}

// The table of transfers has no key: it would show a transfer that was made twice.
pawl::Reply open_bank(pawl::Work&, pawl::Transaction& sql) {
  for (const char* text : {"CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT)",
                           "CREATE TABLE transfer (id TEXT, source INTEGER, target INTEGER, amount BIGINT)"})
    if (const auto made = sql.execute(text); !made) return failed(made.error());
  for (int id = 0; id < accounts; ++id)
    if (const auto put = sql.execute("INSERT INTO account VALUES ($1, $2)", {id, first_balance}); !put)
      return failed(put.error());
  return pawl::Reply::success("{}");
}

pawl::Reply transfer(pawl::Work& work, pawl::Transaction& sql) {
  int number = 0, source = 0, target = 0, amount = 0;
  if (std::sscanf(work.input().str().c_str(), "[%d,%d,%d,%d]", &number, &source, &target, &amount) != 4)
    return pawl::Reply::fatal("\"a transfer is [number, source, target, amount]\"", 400);
  const auto taken = sql.execute("UPDATE account SET balance = balance - $1 WHERE id = $2", {amount, source});
  if (!taken) return failed(taken.error());
  const auto given = sql.execute("UPDATE account SET balance = balance + $1 WHERE id = $2", {amount, target});
  if (!given) return failed(given.error());
  if (taken->changed != 1 || given->changed != 1)
    return pawl::Reply::fatal("\"no such account\"", 404);  // nothing is committed
  const auto booked = sql.execute("INSERT INTO transfer VALUES ($1, $2, $3, $4)",
                                  {"transfer-" + std::to_string(number), source, target, amount});
  if (!booked) return failed(booked.error());
  return pawl::Reply::success("{\"moved\":" + std::to_string(amount) + "}");
}

// The content of the tables, also read in a transaction.
pawl::Reply audit(pawl::Work&, pawl::Transaction& sql) {
  const auto sum = sql.execute("SELECT sum(balance) FROM account");
  if (!sum) return failed(sum.error());
  const auto count = sql.execute("SELECT count(*) FROM transfer");
  if (!count) return failed(count.error());
  return pawl::Reply::success("{\"sum\":" + sum->at(0, 0).text() + ",\"transfers\":" + count->at(0, 0).text() + "}");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string store = argc > 1 ? argv[1] : "bank.db";
  const int transfers = argc > 2 ? std::atoi(argv[2]) : 100;
  pawl::RuntimeOptions options;
  options.store = store;
  if (const char* lease = std::getenv("BANK_LEASE_MS")) options.lease = std::chrono::milliseconds(std::atoi(lease));
  auto runtime = check(pawl::Runtime::open(options));
  for (const auto& [name, worker] : std::vector<std::pair<std::string, pawl::TransactionWorker>>{
           {"open", open_bank}, {"transfer", transfer}, {"audit", audit}}) {
    check(runtime->deploy(one_step(name, "bank." + name)));
    check(runtime->serve_transaction("bank." + name, worker));
  }
  check(runtime->start());

  // A job's id is taken once: a second execution of this program finds the existing jobs.
  const auto begin = [&](const std::string& graph, const std::string& id, const std::string& input) {
    for (;;) {
      auto job = runtime->submit({.graph = graph, .id = id, .input = input});
      if (job ||
          (job.error().code != pawl::ErrorCode::retry_later && job.error().code != pawl::ErrorCode::outcome_unknown))
        return check(std::move(job)).run;
    }
  };
  const auto await = [&](pawl::RunId run) {
    for (;;) {
      auto end = runtime->wait(run, 60s);
      if (end || end.error().code != pawl::ErrorCode::retry_later) return check(std::move(end));
    }
  };
  await(begin("open", "open", "{}"));
  std::vector<pawl::RunId> runs;
  for (int i = 0; i < transfers; ++i)
    runs.push_back(begin("transfer", "transfer-" + std::to_string(i),
                         "[" + std::to_string(i) + "," + std::to_string(i % accounts) + "," +
                             std::to_string((i * 7 + 3) % accounts) + "," + std::to_string(1 + i % 5) + "]"));
  int completed = 0;
  for (const pawl::RunId run : runs) completed += await(run).status == pawl::JobStatus::completed ? 1 : 0;
  const pawl::RunId last =
      begin("audit", "audit-" + std::to_string(std::chrono::system_clock::now().time_since_epoch().count()), "{}");
  std::printf("%d of %d transfers completed: %s\n", completed, transfers, await(last).result.str().c_str());
  return completed == transfers ? 0 : 1;
}
