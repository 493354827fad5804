// The storm: kills the engine with SIGKILL while jobs run, starts it again, some hundred times, then lets it finish
// everything and has the evidence checked by a program that uses no engine code.
//
//   storm --node PROGRAM --checker PROGRAM [--on sqlite|postgres|redis] [--dir DIR] [--kills N] [--seconds S]
//         [--seed N] [--lease-ms N] [--keep] [--app] [--crashes]
//
// With --app the jobs are of the graph language: they start, await and signal each other. With --crashes the server is
// also crashed from time to time, and started again.
//
// On a file one node or two run (file_storm.cc), on a server three (server_storm.cc). Sometimes a node is stopped for a
// while (SIGSTOP), as on a machine under load. The storm also fails when it proves too little: see `enough`.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>

#include "storm_run.h"

namespace storm {

namespace {

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--keep" || name == "--app" || name == "--crashes") {
      (name == "--keep" ? options.keep : name == "--app" ? options.app : options.crashes) = true;
      continue;
    }
    if (++i >= argc) return false;
    const std::string value = argv[i];
    if (name == "--node")
      options.node = value;
    else if (name == "--checker")
      options.checker = value;
    else if (name == "--on")
      options.on = value;
    else if (name == "--dir")
      options.dir = value;
    else if (name == "--kills")
      options.kills = std::atoi(value.c_str());
    else if (name == "--seconds")
      options.seconds = std::atoi(value.c_str());
    else if (name == "--lease-ms")
      options.lease = milliseconds(std::atoi(value.c_str()));
    else if (name == "--seed")
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    else
      return false;
  }
  const bool known = options.on == "sqlite" || options.on == "postgres" || options.on == "redis";
  return known && !(options.crashes && options.on == "sqlite") && !options.node.empty() && !options.checker.empty() &&
         options.kills > 0 && options.lease.count() > 0;
}

std::unique_ptr<StormStore> open_store(const Options& options) {
  if (options.on == "postgres") return postgres_store();
  if (options.on == "redis") return redis_store(options.dir);
  return sqlite_store(options.dir);
}

Problem run(const Options& options) {
  const auto store = open_store(options);
  if (!store) return "the server did not start";
  return (options.on == "sqlite" ? file_storm(options, *store) : server_storm(options, *store))->run();
}

}  // namespace

}  // namespace storm

int main(int argc, char** argv) {
  storm::Options options;
  options.seed = std::random_device{}();
  if (!storm::parse(argc, argv, options)) {
    std::cerr << "usage: storm --node PROGRAM --checker PROGRAM [--on sqlite|postgres|redis] [--dir DIR] [--kills N]"
                 " [--seconds S] [--seed N] [--lease-ms N] [--keep] [--app] [--crashes]\n";
    return 2;
  }
  namespace fs = std::filesystem;
  if (options.dir.empty())
    options.dir = (fs::temp_directory_path() / ("pawl-storm-" + std::to_string(getpid()))).string();
  fs::remove_all(options.dir);
  fs::create_directories(options.dir);
  const auto problem = storm::run(options);
  if (problem) {
    std::cerr << "storm: " << *problem << "; seed " << options.seed << ", evidence in " << options.dir << "\n";
    return 1;
  }
  if (!options.keep) fs::remove_all(options.dir);
  return 0;
}
