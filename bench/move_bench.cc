// How long a move takes: finished jobs of a trigger and two workers, from a file to PostgreSQL and back, and to Redis.
// It starts its servers. Usage: move_bench [jobs]
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "pawl/pawl.h"
#include "store/postgres/server_test.h"
#include "store/redis/server_test.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "move_bench: %s\n", what.c_str());
  std::exit(1);
}

// In a separate process, so that the memory of one part is not counted for another.
template <class Do>
void apart(const Do& act) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) die("a process cannot be made");
  if (child == 0) {
    act();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) die("a part of it failed");
}

void fill(const std::string& store, int jobs) {
  auto opened = pawl::open({.store = store, .lanes = 16});
  if (!opened) die(to_string(opened.error()));
  pawl::Runtime& runtime = *opened;
  auto graph = pawl::GraphBuilder("order")
                   .trigger("t")
                   .worker("one", "add")
                   .after("t")
                   .worker("two", "add")
                   .after("one")
                   .build();
  std::atomic<int> under_way{0};
  std::atomic<int> ended{0};
  runtime
      .observe([&](const pawl::Event& event) {
        if (event.kind != pawl::Event::Kind::job_closed) return;
        --under_way;
        ++ended;
      })
      .keep();
  if (!runtime.deploy(std::move(*graph)).ok()) die("the graph is refused");
  if (!runtime.serve("add", [](pawl::Work& work) { return pawl::Reply::success(work.input()); }).ok()) die("no worker");
  if (!runtime.launch().ok()) die("the runtime does not start");
  for (int i = 0; i < jobs; ++i) {
    while (under_way >= 2000) std::this_thread::sleep_for(1ms);
    ++under_way;
    runtime.start_async("order", pawl::Payload("{\"sum\": 20, \"who\": \"somebody\"}"),
                        {.id = "job-" + std::to_string(i)}, [](const pawl::Result<pawl::Job<>>& made) {
                          if (!made) die(to_string(made.error()));
                        });
  }
  while (ended < jobs) std::this_thread::sleep_for(10ms);
}

void move(const char* name, const std::string& from, const std::string& to, int jobs) {
  const auto began = Clock::now();
  const auto moved = pawl::move_store({from, to});
  if (!moved) die(to_string(moved.error()));
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf(
      "{\"move\": \"%s\", \"jobs\": %d, \"records\": %llu, \"mb\": %.1f, \"seconds\": %.1f, \"jobs_per_second\": %.0f, "
      "\"peak_mb\": %ld}\n",
      name, jobs, static_cast<unsigned long long>(moved->records), static_cast<double>(moved->bytes) / 1e6, seconds,
      jobs / seconds, used.ru_maxrss / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 100'000;
  std::string pattern = (std::filesystem::temp_directory_path() / "pawl-move-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) die("there is no temporary folder");
  const std::filesystem::path folder = pattern;
  {
    auto postgres = pawl::store::postgres::TestServer::start();
    if (!postgres) die("PostgreSQL does not start");
    pawl::store::redis::ServerOptions options;
    options.appendfsync = "always";
    pawl::store::redis::TestServer redis(options);
    const std::string first = (folder / "first.db").string();
    const std::string second = (folder / "second.db").string();
    const std::string third = (folder / "third.db").string();
    apart([&] { fill(first, jobs); });
    apart([&] { move("SQLite to PostgreSQL", first, postgres->address(), jobs); });
    apart([&] { move("PostgreSQL to SQLite", postgres->address(), second, jobs); });
    postgres->remove();
    apart([&] { move("SQLite to Redis", second, redis.url(), jobs); });
    apart([&] { move("Redis to SQLite", redis.url(), third, jobs); });
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}
