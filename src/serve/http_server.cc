// One of the two files that include Boost.Beast; they take long to compile.
#include "serve/http_server.h"

#include <pthread.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/strand.hpp>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/format.h"
#include "serve/http_session.h"
#include "serve/limits.h"

namespace pawl::serve {

using namespace connection;

struct HttpServer::Parts {
  explicit Parts(std::size_t its_threads) : context(static_cast<int>(its_threads)), acceptor(context) {}

  void accept() {
    acceptor.async_accept(asio::make_strand(context), [this](Code failed, Tcp::socket socket) {
      if (hub.stopping) return;
      if (!failed) begin(std::move(socket));
      if (failed == asio::error::no_descriptors) {
        // There will be room when a connection ends; until then a short pause keeps this from spinning.
        pause.expires_after(std::chrono::milliseconds(50));
        return pause.async_wait([this](Code) { accept(); });
      }
      accept();
    });
  }

  void begin(Tcp::socket socket) {
    Code ignored;
    socket.set_option(Tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);  // finds the half of a connection that is dead
    bool full = false;
    {
      const std::lock_guard lock(hub.mutex);
      full = hub.connections.size() >= limits::connections_max;
    }
    const auto go = [&](const auto& session) {
      if (full)
        session->turn_away();
      else
        session->run();
    };
    if (tls)
      go(std::make_shared<Secure>(hub, std::move(socket), *tls));
    else
      go(std::make_shared<Plain>(hub, std::move(socket)));
  }

  Hub hub;
  asio::io_context context;
  std::optional<asio::ssl::context> tls;
  Tcp::acceptor acceptor;
  asio::steady_timer pause{context};
  std::vector<std::thread> threads;
  std::uint16_t port = 0;
};

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
HttpServer::~HttpServer() { stop(std::chrono::milliseconds(0)); }
std::uint16_t HttpServer::port() const { return parts_->port; }

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options, Check check, Handle handle,
                                                      Count count) {
  auto parts = std::make_unique<Parts>(options.threads);
  parts->hub.check = std::move(check);
  parts->hub.handle = std::move(handle);
  parts->hub.count = std::move(count);
  Code failed;
  if (!options.tls_cert.empty()) {
    auto& tls = parts->tls.emplace(asio::ssl::context::tls_server);
    SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
    tls.use_certificate_chain_file(options.tls_cert, failed);
    if (failed)
      return Error{ErrorCode::invalid, format("{} is no certificate: {}", options.tls_cert, failed.message())};
    tls.use_private_key_file(options.tls_key, asio::ssl::context::pem, failed);
    if (failed) return Error{ErrorCode::invalid, format("{} is no key: {}", options.tls_key, failed.message())};
  }
  const auto address = asio::ip::make_address(options.address == "localhost" ? "127.0.0.1" : options.address, failed);
  if (failed) return Error{ErrorCode::invalid, format("{} is no address", options.address)};
  const Tcp::endpoint endpoint(address, options.port);
  const auto listen = [&] {
    parts->acceptor.open(endpoint.protocol(), failed);
    if (!failed) parts->acceptor.set_option(asio::socket_base::reuse_address(true), failed);
    if (!failed) parts->acceptor.bind(endpoint, failed);
    if (!failed) parts->acceptor.listen(asio::socket_base::max_listen_connections, failed);
  };
  listen();
  if (failed)
    return Error{ErrorCode::invalid, format("cannot listen on {}:{}: {}; choose another with --listen", options.address,
                                            options.port, failed.message())};
  parts->port = parts->acceptor.local_endpoint().port();
  parts->accept();
  for (std::size_t i = 0; i < options.threads; ++i)
    parts->threads.emplace_back([raw = parts.get()] {
      pthread_setname_np(pthread_self(), "pawl-http");
      raw->context.run();
    });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

void HttpServer::stop_listening() {
  Parts& parts = *parts_;
  if (parts.hub.stopping.exchange(true)) return;
  asio::post(parts.context, [&parts] {
    Code ignored;
    parts.acceptor.close(ignored);
    parts.pause.cancel();
  });
  const std::lock_guard lock(parts.hub.mutex);
  for (Connection* connection : parts.hub.connections) connection->close_if_idle();
}

void HttpServer::stop(std::chrono::milliseconds at_most) {
  Parts& parts = *parts_;
  if (parts.threads.empty()) return;
  stop_listening();
  {
    std::unique_lock lock(parts.hub.mutex);
    parts.hub.changed.wait_for(lock, at_most, [&] {
      return std::none_of(parts.hub.connections.begin(), parts.hub.connections.end(),
                          [](const Connection* one) { return one->busy(); });
    });
    for (Connection* connection : parts.hub.connections) connection->close();
    // Their last callbacks run; none of them waits for anything.
    parts.hub.changed.wait_for(lock, std::chrono::seconds(1), [&] { return parts.hub.connections.empty(); });
  }
  parts.context.stop();
  for (std::thread& thread : parts.threads) thread.join();
  parts.threads.clear();
  Code ignored;
  parts.acceptor.close(ignored);  // if no thread came to it
}

}  // namespace pawl::serve
