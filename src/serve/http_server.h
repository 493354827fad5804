// HttpServer: HTTP/1.1 over TCP, with or without TLS. It knows connections, not routes: each request goes to one
// function. One io_context, a few threads, no thread for a connection.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pawl/result.h"
#include "serve/exchange.h"

namespace pawl::serve {

struct HttpOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8210;  // 0: any that is free
  std::string tls_cert;       // files in PEM; empty: no TLS
  std::string tls_key;
  std::size_t threads = 2;
};

class HttpServer {
 public:
  // Whether a request may pass, by its header: asked before the body is read. An answer: it may not.
  using Check = std::function<std::optional<Response>(Request& head)>;
  using Handle = std::function<void(Request, const ExchangePointer&)>;
  using Count = std::function<void(std::int64_t change)>;  // of connections

  // Listens and serves from now on. `handle` is called on a thread of the server and must not wait.
  // So is `check`.
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options, Check check, Handle handle, Count count);
  ~HttpServer();

  std::uint16_t port() const;
  // Takes no new connections; those that wait for nothing are closed.
  void stop_listening();
  // Waits so long for answers on their way, then closes everything.
  void stop(std::chrono::milliseconds at_most);

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl::serve
