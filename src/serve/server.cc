#include "serve/server.h"

#include <chrono>
#include <optional>
#include <utility>

#include "base/entropy.h"
#include "base/format.h"
#include "base/shown_store.h"
#include "runtime/open_store.h"
#include "serve/api.h"
#include "serve/site.h"

namespace pawl::serve {

namespace {

constexpr Duration answers_finish = std::chrono::seconds(2);  // of the time to stop: for answers on their way

struct StoreWords {
  std::string kind;
  std::string promise;
};

StoreWords words_of(const RuntimeOptions& options) {
  const auto kind = runtime::kind_of_store(options.store);
  const std::string weaker = options.accept_weaker_store ? ", as far as the server's settings allow" : "";
  if (kind && *kind == runtime::StoreKind::postgres)
    return {"PostgreSQL", "what is acknowledged is committed there and survives a crash of every process" + weaker};
  if (kind && *kind == runtime::StoreKind::redis)
    return {"Redis", "what is acknowledged is in its synced log and survives a crash of every process" + weaker};
  if (kind && *kind == runtime::StoreKind::memory) return {"memory", "nothing survives the process"};
  return {"SQLite", "what is acknowledged is synced to the disk and survives kill -9 and power loss"};
}

}  // namespace

struct Server::Parts {
  Parts(const ServerOptions& options, Log& its_log, std::shared_ptr<runtime::LocalRuntime> its_runtime, SiteFacts facts,
        std::unique_ptr<SpanExporter> spans)
      : runtime(std::move(its_runtime)),
        log(its_log),
        site(*runtime, its_log, std::move(facts), options.threads, std::move(spans)),
        api(site, options.access) {}

  const std::shared_ptr<runtime::LocalRuntime> runtime;
  Log& log;
  Site site;
  Api api;
  std::unique_ptr<HttpServer> http;
  std::string url;
  bool stopped = false;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() { stop(Duration{0}); }
std::string Server::url() const { return parts_->url; }
runtime::LocalRuntime& Server::runtime() { return *parts_->runtime; }

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, Log& log, const Prepare& prepare) {
  auto opened = runtime::open_local(options.runtime);
  if (!opened) return opened.error();
  const auto drawn = draw_entropy();
  if (!drawn) return drawn.error();
  const StoreWords store = words_of(options.runtime);
  SiteFacts facts;
  facts.version = options.version;
  facts.server = format("{:08x}", drawn->high & 0xffffffff);
  facts.store = shown_store(options.runtime.store);
  facts.store_kind = store.kind;
  facts.promise = store.promise;
  facts.started_at = std::chrono::system_clock::now();
  facts.local_topics = options.local_topics;
  facts.page_folder = options.page_folder;
  (*opened)->on_problem([&log](const std::string& text) { log.say(Log::Level::warn, text); }).keep();
  std::unique_ptr<SpanExporter> spans;
  if (!options.spans.endpoint.empty()) {
    auto exporter = SpanExporter::start(options.spans, options.version,
                                        [&log](const std::string& text) { log.say(Log::Level::warn, text); });
    if (!exporter) return exporter.error();
    spans = std::move(*exporter);
  }
  auto parts = std::make_unique<Parts>(options, log, *opened, std::move(facts), std::move(spans));
  if (const auto prepared = prepare(**opened); !prepared) return prepared.error();
  if (const auto launched = (*opened)->launch(); !launched) return launched.error();
  auto http = HttpServer::start(
      options.http, [api = &parts->api](Request& head) { return api->check(head); },
      [api = &parts->api](Request request, const ExchangePointer& exchange) {
        api->handle(std::move(request), exchange);
      },
      [metrics = &parts->site.metrics](std::int64_t change) { metrics->connections(change); });
  if (!http) {
    (*opened)->stop();
    return http.error();
  }
  parts->http = std::move(*http);
  const std::string& address = options.http.address;
  parts->url = format("{}://{}:{}", options.http.tls_cert.empty() ? "http" : "https",
                      address.find(':') == std::string::npos ? address : "[" + address + "]", parts->http->port());
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

void Server::stop(Duration at_most) {
  Parts& parts = *parts_;
  if (std::exchange(parts.stopped, true)) return;
  parts.http->stop_listening();
  parts.site.close();
  parts.http->stop(std::chrono::duration_cast<std::chrono::milliseconds>(std::min(at_most, answers_finish)));
  parts.runtime->stop(at_most);
  if (parts.site.spans != nullptr) parts.site.spans->close();
  parts.site.crew.close();
  parts.site.timers.close();
}

}  // namespace pawl::serve
