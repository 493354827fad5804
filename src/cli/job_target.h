// What the commands on a store's jobs share: the store's address, the job, and how an error is printed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "pawl/pawl.h"

namespace CLI {
class App;
}

namespace pawl::cli {

struct StoreOptions {
  std::string store = "pawl.db";
  bool json = false;
  bool no_color = false;
  bool accept_weaker = false;

  std::string shown() const;  // the store, without a password
  bool is_server() const { return store.find("://") != std::string::npos; }
};
void add_store_options(CLI::App& command, StoreOptions& options);

struct JobTarget {
  std::string id;
  std::string name_space = "default";
  std::uint64_t run = 0;  // 0: the newest run of the id
};
void add_job_target(CLI::App& command, JobTarget& target);

// Opens an existing store: a command that only reads must not create one.
Result<Runtime> open_existing(const StoreOptions& options);
Result<RunId> find_job(Runtime& runtime, const JobTarget& target);

// Prints "pawl COMMAND: ..." to stderr. 2 when the input was wrong, 1 when the work failed.
int fail(const std::string& command, const Error& error);

// Opens the store, finds the job and carries out one request. Prints the text of `done`, or {"ok":true} as JSON.
int act_on_job(const std::string& command, const StoreOptions& options, const JobTarget& target,
               const std::string& done, const std::function<Status(Runtime&, RunId)>& act);

}  // namespace pawl::cli
