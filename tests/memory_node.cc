// The memory of a separate process, for memory_test: does one thing with COUNT jobs whose input has BYTES bytes, and
// prints its peak memory in bytes.
//
//   memory_node DIR COUNT BYTES flood     submits them all at once, by callbacks, to a topic without a worker
//   memory_node DIR COUNT BYTES callers   eight threads submit them, each waiting for its answer
//   memory_node DIR COUNT BYTES echo      submits them at once and runs them: each reply is as large as its input
//   memory_node DIR COUNT BYTES recover   runs what an earlier process left
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "pawl/pawl.h"

namespace {

using namespace pawl;
using namespace std::chrono_literals;

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "memory_node: %s\n", why.c_str());
  std::exit(1);
}

std::size_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10) << 10;
  die("no VmHWM");
}

struct Plan {
  std::string dir;
  int count = 0;
  std::size_t bytes = 0;
  // A separate payload each time, as in a program that reads requests.
  Payload payload(int number) const {
    std::string text(bytes, 'x');
    text.replace(0, 1, "\"");
    text.replace(bytes - 1, 1, "\"");
    const std::string name = std::to_string(number);
    text.replace(1, name.size(), name);
    return Payload(std::move(text));
  }
  StartOptions options(int number) const { return {.id = "j" + std::to_string(number)}; }
};

class Site {
 public:
  explicit Site(const Plan& plan) {
    auto opened = pawl::open({.store = plan.dir + "/store.db"});
    if (!opened) die(to_string(opened.error()));
    runtime_ = std::make_unique<Runtime>(std::move(*opened));
    auto graph = GraphBuilder("step").trigger("t").worker("act", "work").after("t").build();
    if (!graph || !runtime_->deploy(std::move(*graph))) die("no graph");
    runtime_
        ->observe([this](const Event& event) {
          if (event.kind == Event::Kind::job_closed) ++ended;
          if (event.kind == Event::Kind::activity_opened) ++opened_;
        })
        .keep();
  }
  void serve(Worker worker) {
    if (!runtime_->serve("work", std::move(worker))) die("cannot serve");
  }
  void start() {
    if (!runtime_->launch()) die("cannot start");
  }
  Runtime& runtime() { return *runtime_; }
  void until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + 300s;
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) die("it takes too long");
      std::this_thread::sleep_for(1ms);
    }
  }
  std::atomic<int> ended{0};
  std::atomic<int> opened_{0};

 private:
  std::unique_ptr<Runtime> runtime_;
};

// A refused caller tries again.
void submit_all(Site& site, const Plan& plan) {
  std::mutex mutex;
  std::vector<int> left;  // guarded by mutex
  for (int i = 0; i < plan.count; ++i) left.push_back(i);
  std::atomic<int> accepted{0};
  while (accepted < plan.count) {
    int number = -1;
    {
      const std::lock_guard lock(mutex);
      if (!left.empty()) {
        number = left.back();
        left.pop_back();
      }
    }
    if (number >= 0)
      site.runtime().start_async("step", plan.payload(number), plan.options(number), [&, number](Result<Job<>> result) {
        if (result) {
          ++accepted;
          return;
        }
        if (result.error().code != ErrorCode::retry_later) die(to_string(result.error()));
        std::this_thread::sleep_for(1ms);
        const std::lock_guard lock(mutex);
        left.push_back(number);
      });
    else
      std::this_thread::sleep_for(1ms);
  }
}

int run(const Plan& plan, const std::string& what) {
  Site site(plan);
  if (what == "flood") {
    site.start();
    submit_all(site, plan);
    site.until([&] { return site.opened_ >= plan.count; });
  } else if (what == "callers") {
    site.start();
    std::vector<std::thread> threads;
    std::atomic<int> next{0};
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        for (int number = next++; number < plan.count; number = next++)
          if (const auto job = site.runtime().start("step", plan.payload(number), plan.options(number)); !job)
            die(to_string(job.error()));
      });
    for (std::thread& thread : threads) thread.join();
  } else if (what == "echo") {
    site.serve([](Work& work) { return Reply::success(Payload(work.input().str())); });
    site.start();
    submit_all(site, plan);
    site.until([&] { return site.ended == plan.count; });
  } else if (what == "recover") {
    site.serve([](Work&) { return Reply::success("{}"); });
    site.start();
    site.until([&] { return site.ended == plan.count; });
  } else {
    return 2;
  }
  site.runtime().stop();
  std::printf("%zu\n", peak_bytes());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  return run({argv[1], std::atoi(argv[2]), std::strtoull(argv[3], nullptr, 10)}, argv[4]);
}
