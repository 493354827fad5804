// Nodes: runtimes that share one schema of a PostgreSQL server, each with connections, threads and workers of its own,
// as processes would have. They run jobs of the graph "chain" (jobs.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pawl/runtime.h"
#include "runtime/local_runtime.h"
#include "store/postgres/store.h"

namespace pawl::bench {

struct NodesOptions {
  std::string address;
  std::string schema;
  std::uint32_t nodes = 1;
  std::uint32_t lanes = 16;
  std::uint32_t connections = 4;   // of each
  std::uint32_t activities = 10;   // of a job
  std::uint32_t threads = 2;       // workers of each
  std::optional<Duration> keep{};  // of ended jobs; none: for ever
};

class Nodes {
 public:
  explicit Nodes(const NodesOptions& options);
  ~Nodes();
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  // Keeps `concurrent` of them under way until `jobs` have ended. Seconds.
  double run(std::uint32_t jobs, std::uint32_t concurrent);
  // One after the other, through the first node: microseconds from the submit until the end is known, sorted.
  std::vector<double> run_alone(std::uint32_t jobs);

  store::postgres::Stats stats() const;  // of all of them
  std::size_t size() const { return nodes_.size(); }

 private:
  struct Node {
    store::postgres::Store* store = nullptr;
    std::unique_ptr<Runtime> runtime;
  };
  std::unique_ptr<Node> open(const NodesOptions& options);
  void submit_next(Runtime& runtime);
  void submit_refused();
  void ended(Runtime& runtime);

  const std::optional<Duration> keep_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::mutex mutex_;  // guards what is below
  std::condition_variable changed_;
  std::uint64_t named_ = 0;  // jobs so far
  std::uint32_t wanted_ = 0;
  std::uint32_t submitted_ = 0;
  std::uint32_t closed_ = 0;
  std::mutex refused_mutex_;
  std::vector<Runtime*> refused_;  // a submit each; guarded by refused_mutex_
};

}  // namespace pawl::bench
