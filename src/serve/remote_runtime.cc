#include "serve/remote_runtime.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"
#include "mapping/json_parse.h"
#include "mapping/json_text.h"
#include "runtime/no_room.h"
#include "serve/json_fields.h"
#include "serve/limits.h"
#include "serve/read_json.h"
#include "serve/remote_text.h"
#include "serve/request.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

constexpr std::array error_codes{ErrorCode::invalid,      ErrorCode::not_found,       ErrorCode::already_exists,
                                 ErrorCode::already_done, ErrorCode::conflict,        ErrorCode::fenced,
                                 ErrorCode::retry_later,  ErrorCode::outcome_unknown, ErrorCode::corrupt,
                                 ErrorCode::over_limit,   ErrorCode::unsupported,     ErrorCode::failed};
constexpr std::chrono::milliseconds stream_again{500};
constexpr std::size_t async_threads = 2;
constexpr std::size_t async_waiting_max = 4096;
constexpr Duration stop_default = std::chrono::seconds(10);
// Between two attempts to start a job while the server is full.
constexpr Duration full_pause_min = std::chrono::milliseconds(5);
constexpr Duration full_pause_max = std::chrono::milliseconds(200);

// The error that a problem was made of.
Error error_of(const json::object& problem, int status) {
  const auto text = [&](std::string_view name) {
    const json::value* value = problem.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
  };
  const std::string code = text("code");
  std::string detail = text("detail");
  for (const ErrorCode one : error_codes)
    if (name_of(one) == code) return {one, std::move(detail)};
  if (code == "stale_token") return {ErrorCode::conflict, std::move(detail)};
  if (code == "app_mistakes") return {ErrorCode::invalid, std::move(detail)};
  if (code == "unauthorized")
    return {ErrorCode::invalid, format("{}: {}; the token is read from the file of --token-file or from PAWL_TOKEN "
                                       "(in a program: ConnectOptions::token)",
                                       code, detail)};
  if (code == "body_too_large") return {ErrorCode::over_limit, std::move(detail)};
  if (status == 503) return {ErrorCode::retry_later, std::move(detail)};
  return {ErrorCode::invalid,
          code.empty() ? format("the server answered with status {}", status) : code + ": " + detail};
}

std::string_view reuse_word(IdReuse reuse) {
  switch (reuse) {
    case IdReuse::attach:
      return "attach";
    case IdReuse::reject:
      return "reject";
    case IdReuse::after_close:
      return "after_close";
    case IdReuse::replace:
      return "replace";
  }
  return "attach";
}

json::object start_object(const runtime::JobRequest& request) {
  const StartOptions& options = request.options;
  json::object object{{"graph", request.graph},
                      {"input", json_of(request.input)},
                      {"namespace", options.name_space},
                      {"reuse", json::string(reuse_word(options.reuse))},
                      {"priority", options.priority}};
  if (!options.id.empty()) object["id"] = options.id;
  if (options.delay != Duration{0}) object["delay"] = time_query(options.delay);
  if (options.end_within != Duration{0}) object["end_within"] = time_query(options.end_within);
  if (options.keep) object["keep"] = time_query(*options.keep);
  if (!options.trace.empty()) {  // the server says whether it is one
    const std::size_t space = std::min(options.trace.find(' '), options.trace.size());
    object["traceparent"] = options.trace.substr(0, space);
    if (space < options.trace.size()) object["tracestate"] = options.trace.substr(space + 1);
  }
  return object;
}

runtime::Submission read_started(const json::object& object, runtime::JobRequest& request) {
  const JobView view = read_job(object);
  request.options.id = view.id.raw();
  const json::value* created = object.if_contains("created");
  return {view.run, created != nullptr && created->is_bool() && created->get_bool()};
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("somewhere");
}

}  // namespace

RemoteRuntime::RemoteRuntime(std::shared_ptr<HttpClient> client, std::shared_ptr<HttpClient> workers,
                             ConnectOptions options)
    : client_(std::move(client)),
      events_client_(workers),
      options_(std::move(options)),
      ends_([this](RunId run) { return look_for_end(run); }, [](RunId) { return false; },
            [this](const std::string& text) { report(text); }),
      workers_(std::move(workers), options_, [this](const std::string& text) { report(text); }),
      crew_(async_threads, async_waiting_max) {}

RemoteRuntime::~RemoteRuntime() { stop(Duration{0}); }

void RemoteRuntime::report(const std::string& text) {
  if (reporters_.any())
    reporters_.tell(text);
  else
    std::fprintf(stderr, "pawl: %s\n", printable(text).c_str());
}

Status RemoteRuntime::check() { return tell({.target = "/health", .repeatable = true}); }

Result<json::value> RemoteRuntime::ask(const Call& call) const {
  const auto reply = client_->send(call);
  if (!reply) return reply.error();
  auto parsed = mapping::parse_json(reply->body);
  if (reply->status >= 400)
    return error_of(parsed && parsed->is_object() ? parsed->get_object() : json::object(), reply->status);
  if (!parsed) return Error{ErrorCode::invalid, "the server's answer is no JSON: " + parsed.error().detail};
  return std::move(*parsed);
}

Result<json::object> RemoteRuntime::ask_object(const Call& call) const {
  auto value = ask(call);
  if (!value) return value.error();
  if (!value->is_object()) return Error{ErrorCode::invalid, "the server's answer is no object"};
  return std::move(value->get_object());
}

Status RemoteRuntime::tell(const Call& call) const {
  const auto value = ask(call);
  return value ? Status() : Status(value.error());
}

Result<AppVersion> RemoteRuntime::deploy(const AppSource& source, const DeployOptions& options) {
  json::object file{{"text", source.text()}};
  if (source.is_file()) {
    std::ifstream stream(source.path(), std::ios::binary);
    if (!stream) return Error{ErrorCode::not_found, format("{} cannot be read", source.path())};
    file["text"] = std::string(std::istreambuf_iterator<char>(stream), {});
    file["name"] = std::filesystem::path(source.path()).filename().string();
  }
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  const auto answered = ask_object({.method = "POST",
                                    .target = TargetBuilder("/v1/apps")
                                                  .with("activate", flag(options.activate))
                                                  .with("development", flag(options.development))
                                                  .with("compat_hotmesh", flag(options.compat_hotmesh))
                                                  .text(),
                                    .body = mapping::json_text(json::object{{"files", json::array{std::move(file)}}}),
                                    .repeatable = true});
  if (!answered) return answered.error();
  return read_app(*answered);
}

Result<AppFiles> RemoteRuntime::app(const AppName& app) {
  const auto object = ask_object(
      {.target = TargetBuilder("/v1/apps/" + percent_encoded(app.app)).with_some("version", app.version).text(),
       .repeatable = true});
  if (!object) return object.error();
  const AppVersion named = read_app(*object);
  AppFiles files{named.app, named.version, {}};
  if (const json::value* list = object->if_contains("files"); list != nullptr && list->is_array())
    for (const json::value& one : list->get_array())
      if (one.is_object())
        files.files.emplace_back(std::string(one.at("name").as_string()), std::string(one.at("text").as_string()));
  return files;
}

Status RemoteRuntime::activate_app(const AppName& app) {
  return tell({.method = "POST",
               .target = "/v1/apps/" + percent_encoded(app.app) + "/activate",
               .body = json::serialize(json::object{{"version", app.version}}),
               .repeatable = true});
}

Result<std::vector<AppVersion>> RemoteRuntime::apps() {
  return views_in<AppVersion>(ask_object({.target = "/v1/apps", .repeatable = true}), "apps", read_app);
}

Status RemoteRuntime::serve(const std::string& topic, Worker worker) {
  if (const auto named = check_name("topic", topic); !named) return named;
  if (!worker) return Error{ErrorCode::invalid, format("the worker for topic {} is empty", topic)};
  workers_.serve(topic, std::move(worker));
  return {};
}
Status RemoteRuntime::serve_transaction(const std::string&, TransactionWorker) {
  return needs_store("serve_transaction");
}
Status RemoteRuntime::probe(const std::string&, Probe) { return needs_store("probe"); }

Subscription RemoteRuntime::observe(Observer observer) {
  auto subscription = observers_.add(std::move(observer));
  const std::lock_guard lock(mutex_);
  if (!events_thread_.joinable() && !stopped_) events_thread_ = std::thread([this] { follow_events(); });
  return subscription;
}

// Each event is a few lines; `data:` is the JSON, `id:` where to go on.
void RemoteRuntime::follow_events() {
  std::string last;
  while (!stopped_) {
    std::string rest;
    (void)events_client_
        ->stream({.target = "/v1/events", .timeout = 3 * limits::stream_beat, .last_event_id = last},
                 [&](std::string_view bytes) {
                   rest += bytes;
                   for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
                     const std::string line = rest.substr(0, end);
                     rest.erase(0, end + 1);
                     if (line.starts_with("id: ")) last = line.substr(4);
                     if (!line.starts_with("data: {\"id\"")) continue;
                     const auto parsed = mapping::parse_json(std::string_view(line).substr(6));
                     if (parsed && parsed->is_object()) observers_.tell(read_event(parsed->get_object()));
                   }
                   return !stopped_.load();
                 })
        .ok();
    for (int i = 0; i < 5 && !stopped_; ++i) std::this_thread::sleep_for(stream_again / 5);
  }
}

Status RemoteRuntime::launch() {
  if (stopped_) return Error{ErrorCode::invalid, "a stopped runtime stays stopped; connect again"};
  workers_.launch();
  return {};
}
void RemoteRuntime::stop() { stop(stop_default); }
void RemoteRuntime::stop(Duration at_most) {
  if (stopped_.exchange(true)) return;
  workers_.stop(at_most);
  events_client_->close();
  {
    const std::lock_guard lock(mutex_);
    if (events_thread_.joinable()) events_thread_.join();
  }
  ends_.close({ErrorCode::retry_later, "the runtime was stopped"});
  crew_.close();
}

bool RemoteRuntime::owns() const {
  const auto health = ask_object({.target = "/health", .repeatable = true});
  return health && truth_in(*health, "runs_jobs");
}

Result<bool> RemoteRuntime::has_owner() {
  const auto health = ask_object({.target = "/health", .repeatable = true});
  if (!health) return health.error();
  return truth_in(*health, "has_owner");
}

Result<RemoteRuntime::Submission> RemoteRuntime::start(JobRequest& request) {
  // Twice is once only if the second one finds the job of the first. With another policy it would start a second run,
  // or say that the id is taken by the very job that was started.
  const bool repeatable = !request.options.id.empty() && request.options.reuse == IdReuse::attach;
  for (Duration pause = full_pause_min;; pause = std::min<Duration>(2 * pause, full_pause_max)) {
    const auto answered = ask_object({.method = "POST",
                                      .target = "/v1/jobs",
                                      .body = mapping::json_text(start_object(request)),
                                      .repeatable = repeatable});
    if (answered) return read_started(*answered, request);
    // As in an embedded runtime: whoever waits for room does so here. Any other error is the caller's.
    const bool waits = request.options.when_full == WhenFull::wait && runtime::is_no_room(answered.error());
    if (!waits || stopped_) return answered.error();
    std::this_thread::sleep_for(pause);
  }
}

void RemoteRuntime::start_async(JobRequest request, std::function<void(const std::string&, Result<Submission>)> done) {
  const std::string id = request.options.id;
  request.options.when_full = WhenFull::refuse;
  const bool taken = crew_.take([this, request = std::move(request), done]() mutable {
    auto started = start(request);
    done(request.options.id, std::move(started));
  });
  if (!taken) done(id, Error{ErrorCode::retry_later, "too many jobs are being started already"});
}

std::vector<Result<RemoteRuntime::Submission>> RemoteRuntime::start_many(std::vector<Result<JobRequest>>& requests) {
  const Error unset{ErrorCode::outcome_unknown, "the server did not answer for this one"};
  std::vector<Result<Submission>> results(requests.size(), unset);
  std::vector<std::size_t> sent;
  std::string body;
  const auto flush = [&] {
    if (sent.empty()) return;
    const auto reply = client_->send({.method = "POST",
                                      .target = "/v1/jobs/batch",
                                      .body = std::exchange(body, {}),
                                      .type = "application/x-ndjson",
                                      .timeout = std::chrono::minutes(5)});
    std::string_view rest = reply && reply->status == 200 ? std::string_view(reply->body) : std::string_view();
    for (const std::size_t i : std::exchange(sent, {})) {
      if (!reply) results[i] = reply.error();
      const std::size_t end = rest.find('\n');
      const auto line = mapping::parse_json(rest.substr(0, end));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      if (!line || !line->is_object()) continue;
      const json::object& object = line->get_object();
      if (const json::value* problem = object.if_contains("problem"); problem != nullptr && problem->is_object())
        results[i] = error_of(problem->get_object(), 0);
      else
        results[i] = read_started(object, *requests[i]);
    }
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i]) {
      results[i] = requests[i].error();
      continue;
    }
    body += mapping::json_text(start_object(*requests[i])) + "\n";
    sent.push_back(i);
    if (sent.size() >= limits::batch_lines_max / 10 || body.size() > limits::body_bytes_max / 2) flush();
  }
  flush();
  std::vector<RunId> runs;
  for (const auto& result : results)
    if (result) runs.push_back(result->run);
  ends_ahead_.started(runs);
  return results;
}

}  // namespace pawl::serve

namespace pawl {

Result<Runtime> connect(ConnectOptions options) {
  if (options.worker.empty()) options.worker = format("{}-{}", serve::host_name(), getpid());
  const serve::ClientOptions to{options.url, options.token, options.ca_file};
  auto client = serve::HttpClient::make(to);
  if (!client) return client.error();
  auto workers = serve::HttpClient::make(to);
  if (!workers) return workers.error();
  auto backend = std::make_shared<serve::RemoteRuntime>(std::move(*client), std::move(*workers), std::move(options));
  if (const auto there = backend->check(); !there) return there.error();
  return Runtime(std::move(backend));
}

}  // namespace pawl
