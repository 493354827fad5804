#include "postgres_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "jobs.h"
#include "runtime/open_store.h"
#include "store/postgres/connection.h"

namespace pawl::bench {

namespace {

namespace pg = store::postgres;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds end_within{60};
constexpr std::chrono::milliseconds try_again_after{10};
constexpr std::chrono::seconds look_after{5};  // without an event

}  // namespace

Nodes::Nodes(const NodesOptions& options) : address_(options.address), schema_(options.schema), keep_(options.keep) {
  for (std::uint32_t i = 0; i < options.nodes; ++i) nodes_.push_back(open(options));
  for (const auto& node : nodes_)
    while (!node->runtime->owns()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

Nodes::~Nodes() {
  for (const auto& node : nodes_) node->runtime->stop();
}

std::unique_ptr<Nodes::Node> Nodes::open(const NodesOptions& options) {
  auto node = std::make_unique<Node>();
  pg::Options wanted;
  wanted.schema = options.schema;
  wanted.connections = options.connections;
  auto store = must(pg::Store::open(options.address, wanted));
  node->store = store.get();
  const Pool pool("graphs");
  const store::Operation made = store::OpenPool{pool, options.lanes};
  must(store->commit({&made, 1}));
  const auto info = *must(store->read_pool(pool));
  runtime::OpenedStore opened;
  opened.duplex = &store->duplex();
  opened.store = std::move(store);
  opened.lease = std::chrono::seconds(10);
  opened.rings_with_commits = true;
  opened.stats = [] { return RuntimeStats{}; };
  RuntimeOptions runtime_options;
  runtime_options.lanes = options.lanes;
  runtime_options.worker_threads = options.threads;
  runtime_options.worker_queue = 65'536;
  node->runtime =
      std::make_unique<Runtime>(std::make_shared<runtime::LocalRuntime>(runtime_options, std::move(opened), info));
  Runtime& runtime = *node->runtime;
  runtime.on_problem([](const std::string& text) { fmt::print(stderr, "{}\n", text); }).keep();
  must(runtime.deploy(chain(options.activities)));
  const Payload output(std::string(200, 'x'));
  must(runtime.serve("noop", [output](Work&) { return Reply::success(output); }));
  runtime
      .observe([this, &runtime](const Event& event) {
        if (event.kind == Event::Kind::job_closed) ended(runtime);
      })
      .keep();
  must(runtime.launch());
  return node;
}

void Nodes::submit_next(Runtime& runtime) {
  if (submitted_ >= wanted_) return;
  ++submitted_;
  runtime.start_async("chain", Payload("{}"), {.id = fmt::format("job-{}", named_++), .keep = keep_},
                      [this, &runtime](Result<Job<>> result) {
                        if (result) return void(++accepted_);
                        if (result.error().code != ErrorCode::retry_later) return void(must(std::move(result)));
                        // It has too much to do: as any caller would, later again.
                        const std::lock_guard lock(refused_mutex_);
                        refused_.push_back(&runtime);
                      });
}

void Nodes::submit_refused() {
  std::vector<Runtime*> refused;
  {
    const std::lock_guard lock(refused_mutex_);
    refused.swap(refused_);
  }
  for (Runtime* runtime : refused) {
    --submitted_;
    submit_next(*runtime);
  }
}

void Nodes::ended(Runtime& runtime) {
  const std::lock_guard lock(mutex_);
  ++closed_;
  submit_next(runtime);
  if (closed_ == wanted_) changed_.notify_all();
}

void Nodes::count_untold_ends() {
  const auto watcher = must(pg::Connection::open(pg::Address{address_, schema_}));
  const std::string open_ones = must(watcher->ask("SELECT count(*) FROM jobs WHERE status = 0"));
  const std::uint32_t told = closed_ + static_cast<std::uint32_t>(std::strtoul(open_ones.c_str(), nullptr, 10));
  if (accepted_ <= told) return;
  fmt::print(stderr, "{} jobs ended and no event told of it\n", accepted_ - told);
  for (std::uint32_t left = accepted_ - told; left > 0; --left) {
    ++closed_;
    submit_next(*nodes_[0]->runtime);
  }
}

double Nodes::run(std::uint32_t jobs, std::uint32_t concurrent) {
  std::unique_lock lock(mutex_);
  wanted_ = jobs;
  submitted_ = closed_ = accepted_ = 0;
  const auto begin = Clock::now();
  for (std::uint32_t i = 0; i < concurrent; ++i) submit_next(*nodes_[i % nodes_.size()]->runtime);
  std::uint32_t closed_before = 0;
  auto moved_at = begin;
  while (!changed_.wait_for(lock, try_again_after, [&] { return closed_ == wanted_; })) {
    submit_refused();
    const auto now = Clock::now();
    if (std::exchange(closed_before, closed_) != closed_) moved_at = now;
    if (now - moved_at < look_after) continue;
    moved_at = now;
    count_untold_ends();
  }
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<double> Nodes::run_alone(std::uint32_t jobs) {
  Runtime& runtime = *nodes_[0]->runtime;
  std::vector<double> micros;
  for (std::uint32_t i = 0; i < jobs; ++i) {
    const auto begin = Clock::now();
    const auto job = must(runtime.start("chain", Payload("{}"), {.id = fmt::format("alone-{}", named_++)}));
    must(job.wait(end_within));
    micros.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::sort(micros.begin(), micros.end());
  return micros;
}

pg::Stats Nodes::stats() const {
  pg::Stats all;
  for (const auto& node : nodes_) {
    const pg::Stats one = node->store->stats();
    all.commits += one.commits;
    all.operations += one.operations;
    all.round_trips += one.round_trips;
    all.statements += one.statements;
  }
  return all;
}

}  // namespace pawl::bench
