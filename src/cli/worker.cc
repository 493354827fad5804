// pawl worker --topic T -- command: turns any program into a worker of a server. What the program sees and what its
// answer means is the same as for pawl run --worker (docs/RUN.md); docs/WORKERS.md has the protocol below it.
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/interruption.h"
#include "cli/job_target.h"
#include "cli/keeper.h"
#include "cli/shell_worker.h"
#include "cli/terminal.h"
#include "pawl/connect.h"
#include "serve/parse_time.h"

namespace pawl::cli {

namespace {

struct WorkerArguments {
  StoreOptions store;
  std::vector<std::string> topics;
  std::vector<std::string> command;
  std::uint32_t concurrency = 1;
  std::uint32_t attempts = 1;
  std::string timeout;
  std::string lease = "30s";
  std::string name;
  std::string stop_within = "10s";
};

// Words as a shell reads them again.
std::string quoted(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

// One word may be a whole command line; several are a program and its arguments.
std::string command_of(const WorkerArguments& options) {
  return options.command.size() == 1 ? options.command.front() : quoted(options.command);
}

class EventDescriptor {
 public:
  EventDescriptor() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  EventDescriptor(const EventDescriptor&) = delete;
  EventDescriptor& operator=(const EventDescriptor&) = delete;
  ~EventDescriptor() { close(descriptor_); }
  int get() const { return descriptor_; }

 private:
  const int descriptor_;
};

// The server refuses this process, whatever it asks: its token or its name is wrong, and waiting does not help.
std::optional<Error> refusal(Runtime& runtime) {
  const auto asked = runtime.apps();
  if (asked || asked.error().code != ErrorCode::invalid) return std::nullopt;
  return asked.error();
}

class WorkerSession {
 public:
  WorkerSession(const WorkerArguments& options, Duration timeout, Runtime& runtime)
      : options_(options),
        timeout_(timeout),
        runtime_(runtime),
        workers_([&runtime](RunId run) { return job_name(runtime, run); },
                 [this](const std::string& topic, std::string_view line) { print(fmt::format("{}: {}", topic, line)); },
                 [this](const std::string& text) { print(text); }) {}

  Status start() {
    for (const std::string& topic : options_.topics) {
      const WorkerSpec spec{topic, command_of(options_), options_.attempts, timeout_};
      if (const auto served = runtime_.serve(topic, [this, spec](Work& work) { return workers_.run(spec, work); });
          !served)
        return served;
    }
    runtime_.on_problem([this](const std::string& text) { note(text); }).keep();
    return runtime_.launch();
  }
  void print(const std::string& text) {
    const std::lock_guard lock(mutex_);
    fmt::print(stderr, "pawl worker: {}\n", printable(text));
  }

  int wakes() const { return wakes_.get(); }  // readable while there are problems to look at
  std::vector<std::string> take_problems() {
    const std::lock_guard lock(mutex_);
    eventfd_t ignored = 0;
    eventfd_read(wakes_.get(), &ignored);
    return std::exchange(problems_, {});
  }

 private:
  void note(const std::string& text) {
    const std::lock_guard lock(mutex_);
    problems_.push_back(text);
    eventfd_write(wakes_.get(), 1);
  }

  const WorkerArguments& options_;
  const Duration timeout_;
  Runtime& runtime_;
  ShellWorkers workers_;
  std::mutex mutex_;
  std::vector<std::string> problems_;  // guarded by mutex_
  const EventDescriptor wakes_;
};

std::string serving_text(const WorkerArguments& options) {
  std::string topics;
  for (const std::string& topic : options.topics) topics += (topics.empty() ? "" : ", ") + topic;
  return fmt::format("serving {} of {}, {} at once", topics, options.store.url,
                     counted(options.concurrency, "command"));
}

int run_worker(const WorkerArguments& options) {
  if (options.store.url.empty())
    return fail("worker",
                Error{ErrorCode::invalid, "name the server with --url or in PAWL_URL, such as http://127.0.0.1:8210"});
  const auto lease = parse_duration(options.lease);
  const auto timeout = options.timeout.empty() ? Result<Duration>(Duration{0}) : parse_duration(options.timeout);
  const auto stop_within = parse_duration(options.stop_within);
  for (const auto* time : {&lease, &timeout, &stop_within})
    if (!*time) return fail("worker", time->error());
  const Keeper keeper;  // made before there are threads, gone after them
  const Interruption stop;
  auto named = connect_options(options.store);
  if (!named) return fail("worker", named.error());
  ConnectOptions connect = std::move(*named);
  connect.worker = options.name;
  connect.worker_threads = options.concurrency;
  connect.worker_queue = options.concurrency;
  connect.lease = *lease;
  auto runtime = pawl::connect(connect);
  if (!runtime) return fail("worker", runtime.error());
  if (const auto refused = refusal(*runtime)) return fail("worker", *refused);
  WorkerSession session(options, *timeout, *runtime);
  if (const auto started = session.start(); !started) return fail("worker", started.error());
  session.print(serving_text(options));
  while (!stop.asked()) {
    pollfd files[2] = {{stop.descriptor(), POLLIN, 0}, {session.wakes(), POLLIN, 0}};
    if (poll(files, 2, -1) < 0 || (files[1].revents & POLLIN) == 0) continue;
    const std::vector<std::string> problems = session.take_problems();
    if (const auto refused = refusal(*runtime)) {
      runtime->stop(Duration{0});
      return fail("worker", *refused);
    }
    for (const std::string& problem : problems) session.print(problem);
  }
  runtime->stop(*stop_within);
  return 0;
}

}  // namespace

void add_worker(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<WorkerArguments>();
  CLI::App* command =
      app.add_subcommand("worker", "Serve topics of a server with a command: pawl worker --topic T -- COMMAND");
  add_url_options(*command, options->store);
  command->add_option("--topic", options->topics, "A topic to serve; may be repeated")
      ->required()
      ->allow_extra_args(false);
  command->add_option("command", options->command, "The command, behind --")->required();
  command->add_option("--concurrency", options->concurrency, "How many commands run at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  command
      ->add_option("--attempts", options->attempts,
                   "How often a command that fails is started before the attempt of the activity has failed")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  command->add_option("--timeout", options->timeout,
                      "A command that runs longer is ended and its attempt has failed, e.g. 5m");
  command
      ->add_option("--lease", options->lease, "How long after this process is gone its work is given to another worker")
      ->capture_default_str();
  command->add_option("--name", options->name, "The worker's name, for people (default: host and process)");
  command->add_option("--stop-within", options->stop_within, "How long running commands may take to finish")
      ->capture_default_str();
  command->callback([options, &exit_code] { exit_code = run_worker(*options); });
}

}  // namespace pawl::cli
