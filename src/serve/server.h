// Server: a runtime with an HTTP server in front of it.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pawl/options.h"
#include "pawl/result.h"
#include "runtime/local_runtime.h"
#include "serve/access.h"
#include "serve/http_server.h"
#include "serve/log.h"
#include "serve/span_exporter.h"

namespace pawl::serve {

struct ServerOptions {
  RuntimeOptions runtime;
  HttpOptions http;
  AccessRules access;
  std::set<std::string> local_topics;
  std::string version;
  std::string page_folder;
  SpanOptions spans;        // without an endpoint: spans are not reported
  std::size_t threads = 8;  // that serve requests and may wait for the store
};

class Server {
 public:
  // `prepare` deploys apps and adds workers, before jobs run.
  using Prepare = std::function<Status(runtime::LocalRuntime&)>;
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options, Log& log, const Prepare& prepare);
  ~Server();

  std::string url() const;
  runtime::LocalRuntime& runtime();
  // Takes nothing new, answers what waits, lets workers finish, gives the lanes back. At most about this time.
  void stop(Duration at_most);

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl::serve
