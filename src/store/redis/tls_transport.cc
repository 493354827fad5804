#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>

#include "base/format.h"
#include "store/redis/socket.h"
#include "store/redis/transport.h"

namespace pawl::store::redis {

namespace {

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSession {
  void operator()(SSL* session) const { SSL_free(session); }
};
using Context = std::unique_ptr<SSL_CTX, FreeContext>;
using Session = std::unique_ptr<SSL, FreeSession>;

std::string last_problem() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no reason is known" : reason;
}
Error failed(std::string_view what) { return Error{ErrorCode::invalid, format("TLS: {}: {}", what, last_problem())}; }

class TlsTransport final : public Transport {
 public:
  TlsTransport(Socket socket, Context context, Session session)
      : socket_(std::move(socket)), context_(std::move(context)), session_(std::move(session)) {}
  ~TlsTransport() override { SSL_shutdown(session_.get()); }

  Status shake_hands(Timeout timeout) {
    for (;;) {
      const int done = SSL_connect(session_.get());
      if (done == 1) return {};
      if (!wait_for(done, timeout)) return failed("the server and this client do not agree");
    }
  }

  Status write(std::string_view bytes, Timeout timeout) override {
    while (!bytes.empty()) {
      std::size_t sent = 0;
      const int done = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &sent);
      if (done == 1)
        bytes.remove_prefix(sent);
      else if (!wait_for(done, timeout))
        return Error{ErrorCode::not_found, "the connection is gone: " + last_problem()};
    }
    return {};
  }

  Result<std::size_t> read(char* into, std::size_t bytes_max, Timeout timeout) override {
    for (;;) {
      std::size_t got = 0;
      const int done = SSL_read_ex(session_.get(), into, bytes_max, &got);
      if (done == 1) return got;
      const int why = SSL_get_error(session_.get(), done);
      if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
        return Error{ErrorCode::not_found, "the connection is gone: " + last_problem()};
      if (!socket_.wait(why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, timeout))
        return Error{ErrorCode::retry_later, "the server does not answer"};
    }
  }

 private:
  bool wait_for(int done, Timeout timeout) {
    const int why = SSL_get_error(session_.get(), done);
    if (why == SSL_ERROR_WANT_READ) return socket_.wait(POLLIN, timeout);
    return why == SSL_ERROR_WANT_WRITE && socket_.wait(POLLOUT, timeout);
  }

  Socket socket_;
  Context context_;
  Session session_;
};

Result<Context> make_context(const TlsOptions& options) {
  Context context(SSL_CTX_new(TLS_client_method()));
  if (!context) return failed("cannot begin");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(), SSL_MODE_AUTO_RETRY);
  const int trusted = options.ca_file.empty()
                          ? SSL_CTX_set_default_verify_paths(context.get())
                          : SSL_CTX_load_verify_locations(context.get(), options.ca_file.c_str(), nullptr);
  if (trusted != 1) return failed("cannot read the certificates to trust");
  if (options.certificate.empty()) return context;
  if (SSL_CTX_use_certificate_chain_file(context.get(), options.certificate.c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(context.get(), options.key.c_str(), SSL_FILETYPE_PEM) != 1)
    return failed("cannot read the certificate of this client");
  return context;
}

}  // namespace

Result<std::unique_ptr<Transport>> connect_tls(const Address& address, const TlsOptions& options,
                                               Transport::Timeout timeout) {
  auto context = make_context(options);
  if (!context) return context.error();
  auto socket = Socket::connect(address, timeout);
  if (!socket) return socket.error();
  Session session(SSL_new(context->get()));
  if (!session || SSL_set_fd(session.get(), socket->fd()) != 1) return failed("cannot begin");
  SSL_set_tlsext_host_name(session.get(), address.host.c_str());
  SSL_set1_host(session.get(), address.host.c_str());
  auto transport = std::make_unique<TlsTransport>(std::move(*socket), std::move(*context), std::move(session));
  if (const auto agreed = transport->shake_hands(timeout); !agreed) return agreed.error();
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace pawl::store::redis
