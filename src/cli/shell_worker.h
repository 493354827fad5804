// ShellWorkers: workers that are shell commands (docs/RUN.md describes what a command receives and what its output
// means).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/ids.h"
#include "pawl/result.h"
#include "pawl/time.h"
#include "pawl/worker.h"

namespace pawl::cli {

// TOPIC=COMMAND, or TOPIC[OPTION,...]=COMMAND with the options attempts=N, timeout=TIME, at-once=N.
struct WorkerSpec {
  std::string topic;
  std::string command;
  std::uint32_t attempts = 1;  // of one attempt of the activity: so often the command is started
  Duration timeout{0};         // for one of them; 0: none
  std::uint32_t at_once = 0;   // so many run at once; 0: as many as there are threads
};
Result<WorkerSpec> parse_worker_spec(const std::string& text);

// Any thread may call it.
class ShellWorkers {
 public:
  // `job_name` returns the id of a run's job (none: it cannot be read just now); `say` receives each line that a
  // command writes to its standard error, `warn` the reason why one could not be started.
  ShellWorkers(std::function<std::optional<std::string>(RunId)> job_name,
               std::function<void(const std::string& topic, std::string_view line)> say,
               std::function<void(const std::string& text)> warn)
      : job_name_(std::move(job_name)), say_(std::move(say)), warn_(std::move(warn)) {}

  Reply run(const WorkerSpec& spec, Work& work);

 private:
  std::optional<std::string> name_of(RunId run);
  // retry_later: it could not be started.
  Result<Reply> try_once(const WorkerSpec& spec, Work& work);
  Reply run_command(const WorkerSpec& spec, Work& work);
  // Waits until fewer than `at_once` run. False: nobody waits for the work any more.
  bool enter(const WorkerSpec& spec, Work& work);
  void leave(const WorkerSpec& spec);

  const std::function<std::optional<std::string>(RunId)> job_name_;
  const std::function<void(const std::string&, std::string_view)> say_;
  const std::function<void(const std::string&)> warn_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::string> names_;    // by run; guarded by mutex_, as is the next
  std::map<std::string, std::uint32_t> running_;  // by topic
};

}  // namespace pawl::cli
