// A node of the storm: the engine in one process, over a SQLite file or a server, with workers that keep a journal and
// clients that keep a log. It will be killed; what it leaves is the evidence.
//
//   storm_node DIR SLOT INCARNATION --store ADDRESS [--lease-ms N] [--clients N] [--no-fusion] [--drain] [--app]
//
// Prints `ready` when it runs and `owns` when it owns the lanes. SIGTERM: a graceful stop. With --drain it submits
// nothing new, follows every job that any log names to its end, and stops.
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "pawl/pawl.h"
#include "storm_client.h"
#include "storm_graphs.h"
#include "synced_log.h"

namespace pawl::storm {

namespace {

constexpr auto drain_time_max = std::chrono::seconds(120);

struct Options {
  std::string dir, slot, incarnation;
  std::string store;
  std::chrono::milliseconds lease{0};  // on a server
  int clients = 6;                     // threads
  bool fusion = true;
  bool drain = false;
  bool app = false;
};

// One line per phase: key attempt worker phase wall_time seq run activity input.
class FileJournal final : public Journal {
 public:
  FileJournal(const std::string& path, std::string worker) : log_(path), worker_(std::move(worker)) {}

  void note(const Work& work, Phase phase) override {
    log_.append(work.key() + " " + std::to_string(work.attempt()) + " " + worker_ +
                (phase == Phase::begin ? " begin " : " end ") + std::to_string(wall_micros()) + " " +
                std::to_string(seq_.fetch_add(1)) + " " + std::to_string(work.run().raw()) + " " + work.topic().raw() +
                " " + work.input().str());
  }

 private:
  SyncedLog log_;
  const std::string worker_;
  std::atomic<std::uint64_t> seq_{1};
};

void say(const std::string& word) { std::cout << word << std::endl; }

int fail(const Error& error) {
  std::cerr << "storm_node: " << to_string(error) << std::endl;
  return 1;
}

std::vector<std::string> client_logs(const std::string& dir) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(dir))
    if (entry.path().filename().string().rfind("client-", 0) == 0) paths.push_back(entry.path());
  return paths;
}

// Waits for SIGTERM or, when draining, for the end of all jobs.
bool wait_for_end(const Options& options, Runtime& runtime, Client& client, const sigset_t& term) {
  const auto begin = std::chrono::steady_clock::now();
  bool owned = false;
  for (;;) {
    const timespec pause{0, owned ? 20'000'000 : 1'000'000};
    if (sigtimedwait(&term, nullptr, &pause) == SIGTERM) return true;
    if (!owned && runtime.owns()) {
      owned = true;
      say("owns");
    }
    if (!options.drain) continue;
    JobFilter running;
    running.status = JobStatus::running;
    running.rows_max = 1;
    const auto open = runtime.list(running);
    if (client.left() == 0 && open && open->empty()) return true;
    if (std::chrono::steady_clock::now() - begin > drain_time_max) {
      std::cerr << "storm_node: " << client.left() << " jobs have not ended" << std::endl;
      return false;
    }
  }
}

int run(const Options& options, const sigset_t& term) {
  auto opened =
      pawl::open({.store = options.store, .lease = options.lease, .worker_queue = 12, .fusion = options.fusion});
  if (!opened) return fail(opened.error());
  Runtime& runtime = *opened;
  const std::string name = options.slot + "-" + options.incarnation;
  FileJournal journal(options.dir + "/journal-" + name + ".log", name);
  for (auto& graph : build_graphs()) {
    if (!graph) return fail(graph.error());
    if (const auto deployed = runtime.deploy(std::move(*graph)); !deployed) return fail(deployed.error());
  }
  if (options.app) {
    // Written completely or not at all, and always under one name, which is part of what is deployed.
    const std::string path = options.dir + "/app.yaml";
    std::ofstream(path + "-" + name) << app_text;
    std::filesystem::rename(path + "-" + name, path);
    if (const auto deployed = runtime.deploy(AppFile{path}); !deployed) return fail(deployed.error());
  }
  if (const auto served = serve_all(runtime, journal); !served) return fail(served.error());
  runtime.on_problem([&](const std::string& text) { std::cerr << name << ": " << text << "\n"; }).keep();
  if (const auto started = runtime.launch(); !started) return fail(started.error());

  Client::Setup setup;
  setup.slot = options.slot;
  setup.log_path = options.dir + "/client-" + options.slot + ".log";
  setup.earlier_logs = options.drain ? client_logs(options.dir) : std::vector<std::string>{setup.log_path};
  setup.new_jobs = !options.drain;
  setup.of_app = options.app;
  Client client(runtime, std::move(setup));
  std::vector<std::thread> clients;
  for (int i = 0; i < options.clients; ++i) clients.emplace_back([&] { client.serve(); });
  say("ready");
  const bool ended = wait_for_end(options, runtime, client, term);
  client.stop();
  for (std::thread& thread : clients) thread.join();
  runtime.stop();
  return ended ? 0 : 3;
}

}  // namespace

}  // namespace pawl::storm

int main(int argc, char** argv) {
  if (argc < 6) {
    std::cerr << "usage: storm_node DIR SLOT INCARNATION --store ADDRESS [--lease-ms N] [--clients N] [--no-fusion] "
                 "[--drain] [--app]\n";
    return 2;
  }
  pawl::storm::Options options{argv[1], argv[2], argv[3]};
  for (int i = 4; i < argc; ++i) {
    if (std::strcmp(argv[i], "--no-fusion") == 0) options.fusion = false;
    if (std::strcmp(argv[i], "--drain") == 0) options.drain = true;
    if (std::strcmp(argv[i], "--app") == 0) options.app = true;
    if (i + 1 == argc) continue;
    if (std::strcmp(argv[i], "--store") == 0) options.store = argv[i + 1];
    if (std::strcmp(argv[i], "--clients") == 0) options.clients = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--lease-ms") == 0) options.lease = std::chrono::milliseconds(std::atoi(argv[i + 1]));
  }
  // Blocked before any thread exists: only sigtimedwait() takes it.
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, nullptr);
  return pawl::storm::run(options, term);
}
