// What the commands on a store's jobs share: the store's address, the job, and how an error is printed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pawl/pawl.h"

namespace CLI {
class App;
}

namespace pawl::cli {

struct StoreOptions {
  std::string store = "pawl.db";
  std::string url;  // of a server that is asked instead; empty: none
  std::string token_file;
  std::string ca_file;
  bool json = false;
  bool no_color = false;
  bool accept_weaker = false;

  std::string shown() const;  // the store, without a password
  bool is_server() const { return store.find("://") != std::string::npos; }
};
// --store and what goes with it. For a command that runs jobs: it prints no documents.
void add_served_store_options(CLI::App& command, StoreOptions& options);
// The same with --json and --no-color.
void add_store_options(CLI::App& command, StoreOptions& options);
// --url and what goes with it, for a command that needs a server.
void add_url_options(CLI::App& command, StoreOptions& options);
// A store or a server: one flag, not both. A flag counts before PAWL_URL, PAWL_URL before PAWL_STORE.
void add_remote_options(CLI::App& command, StoreOptions& options);
Result<ConnectOptions> connect_options(const StoreOptions& options);
// The server that is named, or the store, which is made if it is not there.
Result<Runtime> open_or_connect(const StoreOptions& options);

struct JobTarget {
  enum class Needed { yes, no };
  std::string id;
  std::string name_space = "default";
  std::uint64_t run = 0;  // 0: the newest run of the id
};
void add_job_target(CLI::App& command, JobTarget& target, JobTarget::Needed needed = JobTarget::Needed::yes);

// Opens an existing store: a command that only reads must not create one.
Result<Runtime> open_existing(const StoreOptions& options);
Result<RunId> find_job(Runtime& runtime, const JobTarget& target);

// The name of the version that a job runs on.
Result<std::string> version_of(Runtime& runtime, const JobView& job);

// The id of a run's job, for commands that work for it; its number if it is gone, none if it cannot be read just now.
std::optional<std::string> job_name(Runtime& runtime, RunId run);

// Says so on stderr if no process runs the store: what was asked of a job, or what it waits for, waits for one.
void warn_without_owner(Runtime& runtime, JobStatus status);

// Prints "pawl COMMAND: ..." to stderr. 2 when the input was wrong, 1 when the work failed.
int fail(const std::string& command, const Error& error);

// Opens the store, finds the job and carries out one request. Prints the text of `done`, or {"ok":true} as JSON.
int act_on_job(const std::string& command, const StoreOptions& options, const JobTarget& target,
               const std::string& done, const std::function<Status(Runtime&, RunId)>& act);

}  // namespace pawl::cli
