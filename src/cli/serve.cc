// pawl serve and pawl dev: an HTTP API, workers in any language and a page, until they are told to stop. docs/SERVER.md
// has every option, and which of flag, environment and file counts.
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <optional>

#include "base/utf8.h"
#include "cli/app_topics.h"
#include "cli/app_watch.h"
#include "cli/commands.h"
#include "cli/interruption.h"
#include "cli/job_target.h"
#include "cli/keeper.h"
#include "cli/serve_file.h"
#include "cli/shell_worker.h"
#include "cli/terminal.h"
#include "cli/token.h"
#include "graph/check.h"
#include "graph/report.h"
#include "serve/parse_time.h"
#include "serve/server.h"

namespace pawl::cli {

namespace {

using serve::Log;

struct ServeArguments {
  StoreOptions store;
  ServeSettings settings;
  std::string config;
  bool development = false;
};

struct ServePlan {
  serve::ServerOptions server;
  std::vector<WorkerSpec> workers;
  Duration stop_within{0};
  Log::Form log_form = Log::Form::text;
  Log::Level log_level = Log::Level::info;
};

Error wrong_value(std::string why) { return {ErrorCode::invalid, std::move(why)}; }

constexpr std::size_t token_bytes_min = 16;

// ADDRESS:PORT, [::1]:PORT or PORT.
Status read_listen(const std::string& text, serve::HttpOptions& http) {
  const std::size_t colon = text.rfind(':');
  const bool only_port = text.find_first_not_of("0123456789") == std::string::npos;
  std::string address = only_port || colon == std::string::npos ? "" : text.substr(0, colon);
  const std::string port = only_port ? text : colon == std::string::npos ? "" : text.substr(colon + 1);
  if (address.size() > 2 && address.front() == '[' && address.back() == ']')
    address = address.substr(1, address.size() - 2);
  const long number = port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos
                          ? -1
                          : std::stol(port);
  if (number < 0 || number > 65535 || (!only_port && address.empty()))
    return wrong_value(fmt::format("--listen {}: write ADDRESS:PORT, such as 127.0.0.1:8210", text));
  if (!address.empty()) http.address = address;
  http.port = static_cast<std::uint16_t>(number);
  return {};
}

Result<ServePlan> plan_serve(const ServeArguments& options) {
  const ServeSettings& settings = options.settings;
  ServePlan plan;
  for (const std::string& text : settings.workers) {
    auto spec = parse_worker_spec(text);
    if (!spec) return spec.error();
    if (!plan.server.local_topics.insert(spec->topic).second)
      return wrong_value(fmt::format("--worker {} is given twice", spec->topic));
    plan.workers.push_back(std::move(*spec));
  }
  if (const auto read = read_listen(settings.listen, plan.server.http); !read) return read.error();
  auto token = read_token(settings.token_file);
  if (!token) return token.error();
  if (!token->empty() && token->size() < token_bytes_min)
    return wrong_value(fmt::format("the token has {} characters; take at least {} that nobody can guess", token->size(),
                             token_bytes_min));
  if (settings.tls_cert.empty() != settings.tls_key.empty())
    return wrong_value("TLS needs both --tls-cert and --tls-key");
  plan.server.http.tls_cert = settings.tls_cert;
  plan.server.http.tls_key = settings.tls_key;
  const serve::Exposure exposure{plan.server.http.address, !token->empty(), !settings.tls_cert.empty(),
                                 settings.accept_no_token, settings.accept_no_tls};
  if (const std::string why = serve::too_open(exposure); !why.empty()) return wrong_value(why);
  plan.server.access.token = std::move(*token);
  plan.server.access.extra_hosts = settings.allow_hosts;
  plan.server.access.any_host = !serve::is_loopback(plan.server.http.address) && !plan.server.access.token.empty() &&
                                settings.allow_hosts.empty();
  if (!serve::is_loopback(plan.server.http.address)) plan.server.access.extra_hosts.push_back(plan.server.http.address);
  const auto stop = parse_duration(settings.stop_within);
  if (!stop) return wrong_value("--stop-within: " + stop.error().detail);
  plan.stop_within = *stop;
  plan.server.runtime.store = options.store.store;
  plan.server.runtime.accept_weaker_store = options.store.accept_weaker;
  plan.server.runtime.worker_threads = settings.threads;
  plan.server.runtime.compress_payloads = settings.compress_payloads;
  plan.server.version = PAWL_VERSION;
  plan.server.page_folder = settings.page;
  plan.server.spans.endpoint = settings.otlp;
  if (const char* service = std::getenv("OTEL_SERVICE_NAME"); service != nullptr && *service != '\0')
    plan.server.spans.service = service;
  plan.log_form = settings.log == "json" ? Log::Form::json : Log::Form::text;
  for (const Log::Level level : {Log::Level::debug, Log::Level::info, Log::Level::warn, Log::Level::error})
    if (name_of(level) == settings.log_level) plan.log_level = level;
  return plan;
}

// Every connection is a descriptor: the limit of a login shell is for programs that have few.
void raise_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// False: it has mistakes, and they were printed.
bool deploy(runtime::LocalRuntime& runtime, const std::string& file, bool development, Log& log) {
  const auto deployed = runtime.deploy(AppFile{file}, {.development = development});
  if (deployed) {
    log.say(Log::Level::info, "app deployed", {{"app", deployed->app}, {"version", deployed->version}, {"file", file}});
    return true;
  }
  log.say(Log::Level::error, "app not deployed", {{"file", file}});
  fmt::print(stderr, "{}\n", printable(deployed.error().detail));
  return false;
}

// What to type next for the first app that was deployed.
struct Hints {
  std::string graph;    // the topic that starts a job
  std::string command;  // the topic of its first worker; empty: it needs none
  std::string wrong;    // why it would not take {}
};

void say_what_next(const std::string& url, const Hints& hints) {
  fmt::print(
      "Pawl serves {0}\n"
      "  the page     {0}/\n"
      "  the API      {0}/v1/openapi.json\n"
      "Type next:\n",
      url);
  if (hints.graph.empty()) {
    fmt::print("  curl --data-binary @app.yaml {}/v1/apps   # deploy an app\n", url);
  } else {
    fmt::print("  curl -d '{{\"graph\": \"{}\", \"input\": {}}}' '{}/v1/jobs?wait=10s'   # start a job{}\n",
               hints.graph, hints.wrong.empty() ? "{}" : "INPUT", url,
               hints.wrong.empty() ? "" : "; INPUT: " + hints.wrong);
    if (!hints.command.empty())
      fmt::print("  pawl worker --url {} --topic {} -- ./command   # serve its work\n", url, hints.command);
  }
  fmt::print(
      "  curl -N {}/v1/events   # watch\n"
      "Ctrl-C stops it; what was started goes on with the next start.\n",
      url);
  std::fflush(stdout);
}

class ServeSession {
 public:
  ServeSession(const ServeArguments& options, const ServePlan& plan, Log& log)
      : options_(options), plan_(plan), log_(log) {}

  Status start() {
    workers_.emplace([this](RunId run) { return job_name(run); },
                     [this](const std::string& topic, std::string_view line) {
                       log_.say(Log::Level::info, line, {{"worker", topic}});
                     },
                     [this](const std::string& text) { log_.say(Log::Level::warn, text); });
    auto server = serve::Server::start(plan_.server, log_, [this](runtime::LocalRuntime& runtime) {
      runtime_ = &runtime;
      return prepare(runtime);
    });
    if (!server) return server.error();
    server_ = std::move(*server);
    return {};
  }

  void run(const Interruption& stop) {
    log_.say(Log::Level::info, "serving",
             {{"url", server_->url()},
              {"store", options_.store.shown()},
              {"token", plan_.server.access.token.empty() ? "none" : "wanted"}});
    if (options_.development) say_what_next(server_->url(), hints_);
    std::optional<AppWatch> watch;
    if (options_.development) watch.emplace(options_.settings.apps);
    while (!stop.asked()) {
      pollfd files[2] = {{stop.descriptor(), POLLIN, 0}, {watch ? watch->descriptor() : -1, POLLIN, 0}};
      if (poll(files, 2, -1) < 0) continue;
      if (watch && (files[1].revents & POLLIN) != 0) {
        for (const std::string& file : watch->take_changed()) deploy(server_->runtime(), file, true, log_);
      }
    }
    log_.say(Log::Level::info, "stopping");
    server_->stop(plan_.stop_within);
    log_.say(Log::Level::info, "stopped");
  }

 private:
  Status prepare(runtime::LocalRuntime& runtime) {
    for (const std::string& file : options_.settings.apps) {
      const bool deployed = deploy(runtime, file, options_.development, log_);
      if (!deployed && !options_.development) return wrong_value(fmt::format("{} was not deployed", file));
      if (deployed && options_.development && hints_.graph.empty()) hints_ = hints_of(file);
    }
    for (const WorkerSpec& spec : plan_.workers) {
      const auto served = runtime.serve(spec.topic, [this, spec](Work& work) { return workers_->run(spec, work); });
      if (!served) return served;
    }
    return {};
  }
  Hints hints_of(const std::string& file) const {
    const graph::Checked checked = graph::check_file(file);
    const auto graph = checked.app ? choose_graph(*checked.app, "") : Result<const graph::Graph*>(nullptr);
    if (!graph || *graph == nullptr) return {};
    Hints hints;
    hints.graph = (*graph)->subscribes;
    for (const std::string& topic : work_topics(*checked.app, **graph).topics)
      if (hints.command.empty() && !plan_.server.local_topics.contains(topic)) hints.command = topic;
    if (const graph::SchemaPointer& schema = (*graph)->input.schema)
      for (const graph::Fault& fault : schema->validate(boost::json::object()))
        if (hints.wrong.empty()) hints.wrong = fault.message;
    return hints;
  }
  std::optional<std::string> job_name(RunId run) {
    const auto view = runtime_->read(run);
    if (view) return view->id.raw();
    if (view.error().code == ErrorCode::not_found) return std::to_string(run.raw());
    return std::nullopt;
  }

  const ServeArguments& options_;
  const ServePlan& plan_;
  Log& log_;
  std::optional<ShellWorkers> workers_;
  runtime::LocalRuntime* runtime_ = nullptr;
  std::unique_ptr<serve::Server> server_;
  Hints hints_;
};

int run_serve(const char* command, ServeArguments& options) {
  if (!options.config.empty())
    if (const auto read = read_serve_file(options.config, options.settings, options.store); !read)
      return fail(command, read.error());
  const auto plan = plan_serve(options);
  if (!plan) return fail(command, plan.error());
  raise_descriptors();
  std::optional<Keeper> keeper;  // made before there are threads, gone after them
  if (!plan->workers.empty()) keeper.emplace();
  const Interruption stop;
  Log log(plan->log_form, plan->log_level, [](const std::string& line) {
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
  });
  ServeSession session(options, *plan, log);
  if (const auto started = session.start(); !started) return fail(command, started.error());
  session.run(stop);
  return 0;
}

void add(CLI::App& app, int& exit_code, const char* name, const char* help, bool development) {
  auto options = std::make_shared<ServeArguments>();
  options->development = development;
  CLI::App* command = app.add_subcommand(name, help);
  ServeSettings& settings = options->settings;
  command->add_option("apps", settings.apps, "Apps to deploy");
  add_served_store_options(*command, options->store);
  command->add_option("--listen", settings.listen, "ADDRESS:PORT; port 0: any that is free")
      ->envname("PAWL_LISTEN")
      ->capture_default_str();
  command
      ->add_option("--worker", settings.workers, "TOPIC=COMMAND: a shell command that serves a topic; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--workers", settings.threads, "How many commands run at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--compress-payloads", settings.compress_payloads,
                      "Compress payloads of at least so many bytes when their job ends (a file only; 0: none)");
  command->add_option("--token-file", settings.token_file, "A file with the bearer token; or the variable PAWL_TOKEN")
      ->envname("PAWL_TOKEN_FILE");
  command->add_option("--tls-cert", settings.tls_cert, "Certificate chain, PEM")->envname("PAWL_TLS_CERT");
  command->add_option("--tls-key", settings.tls_key, "Its private key, PEM")->envname("PAWL_TLS_KEY");
  command->add_flag("--accept-no-token", settings.accept_no_token, "Let everybody who reaches the server do anything");
  command->add_flag("--accept-no-tls", settings.accept_no_tls, "Let the token travel in clear text");
  command->add_option("--allow-host", settings.allow_hosts, "A name of this server; may be repeated");
  command->add_option("--log", settings.log, "text or json")
      ->envname("PAWL_LOG")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_option("--log-level", settings.log_level, "debug, info, warn or error")
      ->envname("PAWL_LOG_LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  command->add_option("--stop-within", settings.stop_within, "How long running work may take to finish")
      ->envname("PAWL_STOP_WITHIN")
      ->capture_default_str();
  command->add_option("--page", settings.page, "Read the page from this folder instead of the binary");
  command
      ->add_option("--otlp", settings.otlp,
                   "Report jobs and activities as spans to this OpenTelemetry collector, such as http://127.0.0.1:4318")
      ->envname("OTEL_EXPORTER_OTLP_ENDPOINT");
  command->add_option("--config", options->config, "A YAML file with these settings; flags and variables go before it")
      ->envname("PAWL_CONFIG");
  command->callback([options, name, command, &exit_code] {
    options->settings.given = [command](const std::string& option) { return command->count("--" + option) > 0; };
    exit_code = run_serve(name, *options);
  });
}

}  // namespace

void add_serve(CLI::App& app, int& exit_code) {
  add(app, exit_code, "serve", "Serve an HTTP API, workers in any language and a page", false);
  add(app, exit_code, "dev", "The same for development: apps are deployed again when they change", true);
}

}  // namespace pawl::cli
