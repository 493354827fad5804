#include "serve/api.h"

#include <chrono>
#include <exception>
#include <utility>

#include "base/format.h"
#include "serve/limits.h"
#include "serve/problem.h"

namespace pawl::serve {

namespace {

using SteadyTime = std::chrono::steady_clock;

const std::string work_path = "/v1/work/";

// What every answer has is added, and it is counted and logged.
class Account {
 public:
  Account(Site& site, const Request& request)
      : site_(site), id_(request.id), method_(request.method), path_(request.path) {
    // Whoever has the token of an attempt may answer for it: it is not for the log.
    if (path_.starts_with(work_path)) path_ = work_path + "{token}";
  }

  void set_route(const Route& route, const Request& request) {
    pattern_ = route.pattern;
    if (path_.starts_with(work_path)) path_ = pattern_;
    for (const auto& [name, value] : request.captured)
      if (name == "id") about_ = value;
  }
  void settle(Response& response) {
    if (response.type == "application/problem+json" && response.body.ends_with('}')) {
      response.body.pop_back();
      response.body += format(",\"request\":\"{}\"}}", id_);
    }
    note(response.status);
    response.headers.emplace_back("X-Request-Id", id_);
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  }

 private:
  void note(int status) {
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(SteadyTime::now() - begun_);
    site_.metrics.served(method_, pattern_, status, took);
    const Log::Level level = status >= 500 ? Log::Level::warn : Log::Level::debug;
    if (!site_.log.wants(level)) return;
    Log::Facts facts{{"request", id_},
                     {"method", method_},
                     {"path", path_},
                     {"status", std::to_string(status)},
                     {"ms", format("{:.3f}", static_cast<double>(took.count()) / 1000)}};
    if (!about_.empty()) facts.emplace_back("job", about_);
    site_.log.say(level, "request", facts);
  }

  Site& site_;
  const std::string id_, method_;
  std::string path_;
  std::string pattern_ = "(none)";
  std::string about_;
  const SteadyTime::time_point begun_ = SteadyTime::now();
};

class Counted final : public Exchange {
 public:
  Counted(ExchangePointer inner, Account account) : inner_(std::move(inner)), account_(std::move(account)) {}

  void respond(Response response) override {
    account_.settle(response);
    inner_->respond(std::move(response));
  }
  void begin(Response head) override {
    account_.settle(head);
    inner_->begin(std::move(head));
  }
  bool write(std::string bytes) override { return inner_->write(std::move(bytes)); }
  std::size_t unwritten() const override { return inner_->unwritten(); }
  void when_written(std::function<void()> call) override { inner_->when_written(std::move(call)); }
  void end() override { inner_->end(); }
  void on_gone(std::function<void()> gone) override { inner_->on_gone(std::move(gone)); }

 private:
  const ExchangePointer inner_;
  Account account_;
};

std::string list_of(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

}  // namespace

Api::Api(Site& site, AccessRules rules) : site_(site), rules_(std::move(rules)), router_(all_routes(site)) {}

std::string Api::next_id() { return format("{}-{:x}", site_.facts.server, count_.fetch_add(1) + 1); }

std::optional<Response> Api::refusal_of(Request& request, const Route*& route) const {
  std::vector<std::string> methods;
  route = router_.find(request, methods);
  if (auto refused = refusal(rules_, request, route != nullptr && route->open)) return refused;
  if (route == nullptr && methods.empty())
    return problem("no_such_route", format("there is no route {}", request.path));
  if (route == nullptr) {
    Response response = problem("method_not_allowed", format("{} has {}", request.path, list_of(methods)));
    response.headers.emplace_back("Allow", list_of(methods));
    return response;
  }
  if (site_.stopping && !route->open) return problem("stopping", "this server stops and takes nothing new");
  return std::nullopt;
}

std::optional<Response> Api::check(Request& head) {
  if (head.id.empty()) head.id = next_id();
  Account account(site_, head);
  const Route* route = nullptr;
  auto refused = refusal_of(head, route);
  head.captured.clear();
  if (!refused) return std::nullopt;
  if (route != nullptr) account.set_route(*route, head);
  account.settle(*refused);
  return refused;
}

void Api::handle(Request request, const ExchangePointer& exchange) {
  if (request.id.empty()) request.id = next_id();
  Account account(site_, request);
  const Route* route = nullptr;
  auto refused = refusal_of(request, route);
  if (route != nullptr) account.set_route(*route, request);
  auto counted = std::make_shared<Counted>(exchange, std::move(account));
  if (refused) return counted->respond(std::move(*refused));
  const auto serve = [this, route, shared = std::make_shared<const Request>(std::move(request)), counted] {
    try {
      route->handler(*shared, counted);
    } catch (const std::exception& error) {
      site_.log.say(Log::Level::error, "a handler failed", {{"request", shared->id}, {"what", error.what()}});
      counted->respond(
          problem("internal", "the server could not serve this; its log says more under this request's id"));
    }
  };
  if (route->effort == Effort::quick) return serve();
  if (!site_.crew.take(serve, route->effort == Effort::slow ? Crew::Length::slow : Crew::Length::normal))
    counted->respond(problem("retry_later", "too many requests wait already (requests_waiting_max)"));
}

}  // namespace pawl::serve
