// Whether jobs under collation duplex get slower with the backlog: dequeues per second of the store, and jobs per
// second of the whole runtime, with 1,000, 16,000 and 64,000 waiting requests. A ratio below 0.8 means that the cost
// grows with the backlog.
//
//   duplex_bench [--dir DIR]
//
// Prints one JSON object.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "jobs.h"
#include "pawl/pawl.h"
#include "store/memory/store.h"
#include "store/sqlite/store.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using pawl::bench::must;
namespace store = pawl::store;

constexpr std::uint64_t backlogs[] = {1'000, 16'000, 64'000};
constexpr int rounds = 5;  // each backlog is measured in each round: a machine that gets slower slows all of them
constexpr double seconds_per_round = 0.4;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// One stream with a constant number of waiting messages: dequeue one, acknowledge it, enqueue another.
class Backlog {
 public:
  Backlog(store::Store& ledger, store::DuplexStore& duplex, std::uint64_t waiting) : duplex_(duplex) {
    const store::Operation open = store::OpenPool{pawl::Pool("graphs"), 1};
    must(ledger.commit({&open, 1}));
    lane_ = must(ledger.read_pool(pawl::Pool("graphs")))->first;
    run_ = must(duplex_.commit_one(store::StartDuplex{pawl::Namespace("default"),
                                                      pawl::JobId("job"),
                                                      lane_,
                                                      {pawl::GraphName("g"), 1, 1},
                                                      "in",
                                                      duplex_.now()}))
               .run();
    constexpr std::uint64_t at_once = 500;
    for (std::uint64_t i = 0; i < waiting; i += at_once) {
      std::vector<store::DuplexOperation> batch;
      for (std::uint64_t k = 0; k < at_once; ++k) batch.emplace_back(next_message());
      must(duplex_.commit(batch));
    }
  }

  // Dequeues per second.
  double measure() {
    const auto begin = Clock::now();
    std::uint64_t done = 0;
    while (seconds_since(begin) < seconds_per_round) {
      const store::ClaimId claim(next_claim_++);
      const auto handed =
          must(duplex_.commit_one(store::Dequeue{lane_, pawl::Topic("work"), 1, claim, pawl::core::Epoch(1), 30s}));
      const auto& message = handed.handed().messages.at(0).message;
      must(duplex_.commit(std::vector<store::DuplexOperation>{store::Ack{run_, message.guid, claim}, next_message()}));
      ++done;
    }
    return static_cast<double>(done) / seconds_since(begin);
  }

 private:
  store::DuplexOperation next_message() {
    ++next_guid_;
    return store::Enqueue{{run_, pawl::core::Guid{next_guid_, next_guid_},
                           store::stream::Request{{1, {}}, pawl::Topic("work"), std::string(100, 'x')}}};
  }

  store::DuplexStore& duplex_;
  pawl::core::LaneId lane_{0};
  pawl::RunId run_{0};
  std::uint64_t next_guid_ = 0;
  std::uint64_t next_claim_ = 1;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The median rate of each backlog.
std::vector<double> rates(std::vector<Backlog*> backlogs_of_store) {
  std::vector<std::vector<double>> all(backlogs_of_store.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < backlogs_of_store.size(); ++i) all[i].push_back(backlogs_of_store[i]->measure());
  std::vector<double> out;
  for (const auto& one : all) out.push_back(median(one));
  return out;
}

std::vector<double> sqlite_rates(const std::string& dir) {
  std::vector<std::unique_ptr<store::sqlite::Store>> stores;
  std::vector<std::unique_ptr<Backlog>> made;
  std::vector<Backlog*> all;
  for (const std::uint64_t waiting : backlogs) {
    const std::string path = fmt::format("{}/duplex_bench_{}.db", dir, waiting);
    pawl::bench::remove_store(path);
    store::sqlite::Options options;
    options.durability = store::sqlite::Durability::process_death;  // a sync would hide the cost of a statement
    stores.push_back(must(store::sqlite::Store::open(path, options)));
    made.push_back(std::make_unique<Backlog>(*stores.back(), stores.back()->duplex(), waiting));
    all.push_back(made.back().get());
  }
  const auto out = rates(all);
  made.clear();
  stores.clear();
  for (const std::uint64_t waiting : backlogs)
    pawl::bench::remove_store(fmt::format("{}/duplex_bench_{}.db", dir, waiting));
  return out;
}

std::vector<double> memory_rates() {
  const pawl::SystemClock clock;
  std::vector<std::unique_ptr<store::memory::Store>> stores;
  std::vector<std::unique_ptr<Backlog>> made;
  std::vector<Backlog*> all;
  for (const std::uint64_t waiting : backlogs) {
    stores.push_back(std::make_unique<store::memory::Store>(clock));
    made.push_back(std::make_unique<Backlog>(*stores.back(), stores.back()->duplex(), waiting));
    all.push_back(made.back().get());
  }
  return rates(all);
}

// Jobs of one activity. This many requests wait; then a worker starts, and the jobs end: the number per second.
double jobs_per_second(const std::string& dir, std::uint64_t waiting) {
  const std::string path = fmt::format("{}/duplex_bench_runtime.db", dir);
  pawl::bench::remove_store(path);
  auto runtime = std::make_unique<pawl::Runtime>(must(pawl::open({.store = path, .worker_threads = 2})));
  must(runtime->deploy(must(pawl::GraphBuilder("one")
                                .trigger("start")
                                .worker("work", "bench.work")
                                .after("start")
                                .collation(pawl::Collation::duplex)
                                .build())));
  std::atomic<std::uint64_t> opened{0}, ended{0}, submitted{0};
  runtime
      ->observe([&](const pawl::Event& event) {
        if (event.kind == pawl::Event::Kind::activity_opened) opened.fetch_add(1);
        if (event.kind == pawl::Event::Kind::job_closed) ended.fetch_add(1);
      })
      .keep();
  must(runtime->launch());
  for (std::uint64_t i = 0; i < waiting; ++i) {
    while (i - submitted.load() > 4'000) std::this_thread::sleep_for(100us);
    runtime->start_async("one", pawl::Payload("{}"), {.id = fmt::format("job-{}", i)},
                         [&](pawl::Result<pawl::Job<>> result) {
                           must(std::move(result));
                           submitted.fetch_add(1);
                         });
  }
  while (opened.load() < waiting) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(500ms);  // the last legs 1
  const auto begin = Clock::now();
  must(runtime->serve("bench.work", [](pawl::Work&) { return pawl::Reply::success("{}"); }));
  while (ended.load() < waiting) std::this_thread::sleep_for(100us);
  const double rate = static_cast<double>(waiting) / seconds_since(begin);
  runtime->stop();
  runtime.reset();
  pawl::bench::remove_store(path);
  return rate;
}

std::string listed(const std::vector<double>& values, const char* form) {
  std::string text;
  for (const double value : values) text += fmt::format(fmt::runtime(form), value) + ",";
  if (!text.empty()) text.pop_back();
  return "[" + text + "]";
}
std::vector<double> ratios(const std::vector<double>& rates_of) {
  std::vector<double> out;
  for (const double rate : rates_of) out.push_back(rate / rates_of.front());
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  std::string dir = ".";
  for (int i = 1; i + 1 < argc; i += 2)
    if (std::string(argv[i]) == "--dir") dir = argv[i + 1];
  const auto sqlite = sqlite_rates(dir);
  const auto memory = memory_rates();
  std::vector<double> served;
  for (const std::uint64_t waiting : backlogs) served.push_back(jobs_per_second(dir, waiting));
  fmt::print(
      "{{\"waiting\":[{}],\"sqlite_dequeues_per_second\":{},\"sqlite_ratio\":{},\"memory_dequeues_per_second\":{},"
      "\"memory_ratio\":{},\"jobs_per_second\":{},\"jobs_ratio\":{}}}\n",
      fmt::join(backlogs, ","), listed(sqlite, "{:.0f}"), listed(ratios(sqlite), "{:.2f}"), listed(memory, "{:.0f}"),
      listed(ratios(memory), "{:.2f}"), listed(served, "{:.0f}"), listed(ratios(served), "{:.2f}"));
  return 0;
}
