// Routes of apps.
#include <map>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"
#include "graph/check.h"
#include "graph/report.h"
#include "serve/handlers.h"
#include "serve/job_json.h"
#include "serve/picture.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

constexpr std::size_t file_name_bytes_max = 255;

struct AppBody {
  std::string text;
  std::string name = "app.yaml";  // what mistakes call it
};
graph::Checked check_body(const AppBody& body, bool hotmesh) {
  std::map<std::string, std::string, std::less<>> files;
  files.emplace(body.name, body.text);
  return graph::check(graph::MemoryLoader(std::move(files)), body.name, {.force_hotmesh = hotmesh});
}

// The text of an app: the body as it is, or the one file of a JSON body.
std::optional<AppBody> app_in(const Request& request, const ExchangePointer& exchange) {
  const std::string* type = request.header("content-type");
  const bool is_json = type != nullptr && type->starts_with("application/json");
  if (!is_json) {
    if (!request.body.empty()) return AppBody{request.body};
    exchange->respond(problem("invalid", "the body is the YAML text of an app"));
    return std::nullopt;
  }
  Fields fields(request.body);
  // An app may be written as JSON, too.
  if (fields.has("app")) return AppBody{request.body};
  const json::array* files = fields.list("files", 1);
  AppBody body;
  if (files != nullptr && files->size() == 1 && files->front().is_object()) {
    Fields file(files->front().get_object());
    body.name = file.text("name", body.name);
    body.text = file.needed("text");
    if (body.name.empty() || body.name.size() > file_name_bytes_max || body.name.find('/') != std::string::npos)
      file.wrong("name", "it is the name of a file, without a folder");
    if (const auto& mistake = file.mistake()) return exchange->respond(problem(*mistake)), std::nullopt;
  } else {
    fields.wrong("files", "one file; an app of several files is deployed with pawl deploy, or joined into one");
  }
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake)), std::nullopt;
  return body;
}

Response mistakes_of(const graph::Checked& checked) {
  Response response = problem("app_mistakes", graph::report_text(checked, graph::Colours::off));
  const json::value report = json::parse(graph::report_json(checked));
  response.body.pop_back();
  response.body += ",\"mistakes\":" + printable_json(json::serialize(report.at("mistakes"))) + "}";
  return response;
}

void deploy_app(Site& site, const Request& request, const ExchangePointer& exchange) {
  Query query(request);
  const DeployOptions options{.activate = query.truth("activate", true),
                              .development = query.truth("development", false),
                              .compat_hotmesh = query.truth("compat_hotmesh", false)};
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  auto body = app_in(request, exchange);
  if (!body) return;
  const graph::Checked checked = check_body(*body, options.compat_hotmesh);
  if (checked.app == nullptr) return exchange->respond(mistakes_of(checked));
  const auto deployed = site.runtime.deploy(AppText{std::move(body->text)}, options);
  if (!deployed) return exchange->respond(problem(deployed.error()));
  site.log.say(Log::Level::info, "app deployed", {{"app", deployed->app}, {"version", deployed->version}});
  answer(exchange, app_json(*deployed));
}

void check_app(Site&, const Request& request, const ExchangePointer& exchange) {
  Query query(request);
  const bool hotmesh = query.truth("compat_hotmesh", false);
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  const auto body = app_in(request, exchange);
  if (body) answer(exchange, graph::report_json(check_body(*body, hotmesh)));
}

void list_apps(Site& site, const Request&, const ExchangePointer& exchange) {
  const auto versions = site.runtime.apps();
  if (!versions) return exchange->respond(problem(versions.error()));
  answer(exchange, "{\"apps\":" + apps_json(*versions) + "}");
}

void get_app(Site& site, const Request& request, const ExchangePointer& exchange) {
  const auto found = site.runtime.app({request.captured_as("app"), request.asked("version").value_or("")});
  if (!found) return exchange->respond(problem(found.error()));
  json::array files;
  for (const auto& [name, text] : found->files) files.push_back(json::object{{"name", name}, {"text", text}});
  answer(exchange, printable_json(json::serialize(
                       json::object{{"app", found->app}, {"version", found->version}, {"files", std::move(files)}})));
}

void activate_app(Site& site, const Request& request, const ExchangePointer& exchange) {
  Fields fields(request.body);
  const std::string version = fields.needed("version");
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  if (const auto done = site.runtime.activate_app({request.captured_as("app"), version}); !done)
    return exchange->respond(problem(done.error()));
  answer_ok(exchange);
}

void app_picture(Site& site, const Request& request, const ExchangePointer& exchange) {
  auto drawn = draw_app(site.runtime, {request.captured_as("app"), request.asked("version").value_or("")},
                        request.asked("topic").value_or(""), request.asked("format").value_or("svg"));
  exchange->respond(drawn ? std::move(*drawn) : problem(drawn.error()));
}

}  // namespace

void add_app_routes(Router& router, Site& site) {
  const auto add = [&](const char* method, const char* pattern, auto handler) {
    router.add({method, pattern, [&site, handler](const Request& request, const ExchangePointer& exchange) {
                  handler(site, request, exchange);
                }});
  };
  add("GET", "/v1/apps", list_apps);
  add("POST", "/v1/apps", deploy_app);
  add("POST", "/v1/apps/check", check_app);
  add("GET", "/v1/apps/{app}", get_app);
  add("POST", "/v1/apps/{app}/activate", activate_app);
  add("GET", "/v1/apps/{app}/picture", app_picture);
}

}  // namespace pawl::serve
