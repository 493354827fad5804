// One of the two files that include Boost.Beast; they take long to compile.
#include "serve/http_client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/utf8.h"

namespace pawl::serve {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Tcp = asio::ip::tcp;
using Code = boost::system::error_code;

constexpr std::size_t kept_max = 16;
constexpr std::size_t reply_bytes_max = 64u << 20;
constexpr std::chrono::seconds connect_max{5};
constexpr std::size_t piece_bytes = 64u << 10;
constexpr std::size_t reply_piece_bytes = 16u << 10;  // a line that is kept has as much

struct Place {
  bool tls = false;
  std::string host;
  std::string port;
  std::string prefix;  // of every target
  std::string shown() const { return format("{}://{}:{}", tls ? "https" : "http", host, port); }
};

Result<Place> read_url(const std::string& url) {
  const Error wrong{ErrorCode::invalid,
                    format("{} is no address of a server; write http://HOST:PORT", kept_text(url, 100))};
  Place place;
  std::string_view rest = url;
  if (rest.starts_with("https://"))
    place.tls = true;
  else if (!rest.starts_with("http://"))
    return wrong;
  rest.remove_prefix(place.tls ? 8 : 7);
  const std::size_t slash = rest.find('/');
  if (slash != std::string_view::npos) place.prefix = std::string(rest.substr(slash));
  while (place.prefix.ends_with('/')) place.prefix.pop_back();
  rest = rest.substr(0, slash);
  if (rest.find('@') != std::string_view::npos) return wrong;
  const std::size_t bracket = rest.starts_with('[') ? rest.find(']') : 0;
  if (bracket == std::string_view::npos) return wrong;
  const std::size_t colon = rest.find(':', bracket);
  place.host = std::string(rest.substr(0, colon));
  if (bracket > 0) place.host = std::string(rest.substr(1, bracket - 1));
  place.port = colon == std::string_view::npos ? (place.tls ? "443" : "80") : std::string(rest.substr(colon + 1));
  if (place.host.empty() || place.port.empty() || place.port.find_first_not_of("0123456789") != std::string::npos)
    return wrong;
  return place;
}

// One connection with an io_context of its own: a call runs it until the call is over.
struct Line {
  explicit Line(asio::ssl::context* its_tls) : plain(context), tls(its_tls) {}

  template <class Begin>
  Code run(Begin begin) {
    Code result = asio::error::operation_aborted;
    begin([&result](Code failed, auto&&...) { result = failed; });
    context.restart();
    context.run();
    return result;
  }
  Code connect(const Place& place) {
    Tcp::resolver resolver(context);
    Code failed;
    const auto found = resolver.resolve(place.host, place.port, failed);
    if (failed) return failed;
    beast::tcp_stream& socket = tls == nullptr ? plain : beast::get_lowest_layer(secure.emplace(context, *tls));
    socket.expires_after(connect_max);
    failed = run([&](auto done) { socket.async_connect(found, done); });
    if (failed) return failed;
    Code ignored;
    socket.socket().set_option(Tcp::no_delay(true), ignored);
    if (tls == nullptr) return {};
    SSL_set_tlsext_host_name(secure->native_handle(), place.host.c_str());
    secure->set_verify_callback(asio::ssl::host_name_verification(place.host));
    return run([&](auto done) { secure->async_handshake(asio::ssl::stream_base::client, done); });
  }
  beast::tcp_stream& socket() { return secure ? beast::get_lowest_layer(*secure) : plain; }
  template <class Act>
  auto with(Act act) {
    return secure ? act(*secure) : act(plain);
  }
  bool is_dead() {
    char byte = 0;
    Code failed;
    socket().socket().non_blocking(true, failed);
    socket().socket().receive(asio::buffer(&byte, 1), Tcp::socket::message_peek, failed);
    return failed != asio::error::would_block;  // nothing is to come between two calls
  }

  asio::io_context context{1};
  std::string target;  // of the call that it is used for; guarded by Parts::mutex
  beast::tcp_stream plain;
  asio::ssl::context* tls;
  std::optional<beast::ssl_stream<beast::tcp_stream>> secure;
  beast::flat_buffer buffer;
};

}  // namespace

struct HttpClient::Parts {
  Place place;
  std::string token;
  std::optional<asio::ssl::context> tls;
  std::mutex mutex;
  std::list<std::unique_ptr<Line>> idle;  // guarded by mutex, like the rest
  std::set<Line*> busy;
  bool closed = false;

  Error not_reached(const Code& failed) const {
    return {ErrorCode::retry_later, format("the server {} cannot be reached: {}", place.shown(), failed.message())};
  }
  static Error closed_error() { return {ErrorCode::retry_later, "the connection to the server was closed here"}; }

  // A line that is ready, and whether it was used before.
  Result<std::pair<std::unique_ptr<Line>, bool>> take() {
    {
      const std::lock_guard lock(mutex);
      if (closed) return closed_error();
      while (!idle.empty()) {
        std::unique_ptr<Line> line = std::move(idle.front());
        idle.pop_front();
        if (line->is_dead()) continue;
        busy.insert(line.get());
        return std::pair(std::move(line), true);
      }
    }
    auto line = std::make_unique<Line>(tls ? &*tls : nullptr);
    {
      const std::lock_guard lock(mutex);
      if (closed) return closed_error();
      busy.insert(line.get());
    }
    if (const Code failed = line->connect(place)) {
      forget(*line);
      return not_reached(failed);
    }
    return std::pair(std::move(line), false);
  }
  void forget(Line& line) {
    const std::lock_guard lock(mutex);
    busy.erase(&line);
  }
  void give_back(std::unique_ptr<Line> line, bool keep) {
    const std::lock_guard lock(mutex);
    busy.erase(line.get());
    if (keep && !closed && idle.size() < kept_max) idle.push_front(std::move(line));
  }
  http::request<http::string_body> message_of(const Call& call) const {
    http::request<http::string_body> message;
    message.version(11);
    message.method_string(call.method);
    message.target(place.prefix + call.target);
    const bool six = place.host.find(':') != std::string::npos;
    message.set(http::field::host, (six ? "[" + place.host + "]" : place.host) + ":" + place.port);
    message.set(http::field::user_agent, "pawl");
    if (!token.empty()) message.set(http::field::authorization, "Bearer " + token);
    if (!call.last_event_id.empty()) message.set("Last-Event-ID", call.last_event_id);
    if (!call.body.empty() || call.method == "POST") {
      message.set(http::field::content_type, call.type);
      message.body() = call.body;
      message.prepare_payload();
    }
    return message;
  }
};

HttpClient::HttpClient(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
HttpClient::~HttpClient() { close(); }

Result<std::shared_ptr<HttpClient>> HttpClient::make(const ClientOptions& options) {
  auto parts = std::make_unique<Parts>();
  auto place = read_url(options.url);
  if (!place) return place.error();
  parts->place = std::move(*place);
  parts->token = options.token;
  if (parts->place.tls) {
    auto& tls = parts->tls.emplace(asio::ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
    Code failed;
    if (options.ca_file.empty())
      tls.set_default_verify_paths(failed);
    else
      tls.load_verify_file(options.ca_file, failed);
    if (failed)
      return Error{ErrorCode::invalid, format("{} has no certificates: {}", options.ca_file, failed.message())};
    tls.set_verify_mode(asio::ssl::verify_peer);
  }
  return std::shared_ptr<HttpClient>(new HttpClient(std::move(parts)));
}

Result<HttpReply> HttpClient::send(const Call& call) {
  const auto message = parts_->message_of(call);
  for (bool again = call.repeatable;; again = false) {
    auto taken = parts_->take();
    if (!taken) return taken.error();
    auto& [line, used] = *taken;
    {
      const std::lock_guard lock(parts_->mutex);
      line->target = call.target;
    }
    http::response_parser<http::string_body> parser;
    parser.body_limit(reply_bytes_max);
    line->buffer.reserve(reply_piece_bytes);
    line->socket().expires_after(call.timeout);
    Code failed =
        line->run([&](auto done) { line->with([&](auto& stream) { http::async_write(stream, message, done); }); });
    if (!failed)
      failed = line->run(
          [&](auto done) { line->with([&](auto& stream) { http::async_read(stream, line->buffer, parser, done); }); });
    if (failed) {
      parts_->forget(*line);
      if (again && used) continue;
      {
        const std::lock_guard lock(parts_->mutex);
        if (parts_->closed) return Parts::closed_error();
      }
      return Error{ErrorCode::outcome_unknown,
                   format("the answer of {} was lost: {}", parts_->place.shown(), failed.message())};
    }
    auto response = parser.release();
    const bool keep = response.keep_alive();
    HttpReply reply{static_cast<int>(response.result_int()), std::string(response[http::field::content_type]),
                    std::move(response.body())};
    parts_->give_back(std::move(line), keep);
    return reply;
  }
}

Status HttpClient::stream(const Call& call, const std::function<bool(std::string_view)>& hear) {
  const auto message = parts_->message_of(call);
  auto taken = parts_->take();
  if (!taken) return taken.error();
  Line& line = *taken->first;
  {
    const std::lock_guard lock(parts_->mutex);
    line.target = call.target;
  }
  http::response_parser<http::buffer_body> parser;
  parser.body_limit(boost::none);
  line.socket().expires_after(call.timeout);
  Code failed =
      line.run([&](auto done) { line.with([&](auto& stream) { http::async_write(stream, message, done); }); });
  if (!failed)
    failed = line.run([&](auto done) {
      line.with([&](auto& stream) { http::async_read_header(stream, line.buffer, parser, done); });
    });
  std::string refused;
  const bool is_ok = !failed && parser.get().result_int() == 200;
  std::vector<char> piece(piece_bytes);
  line.buffer.reserve(piece_bytes);  // else each read takes the smallest piece, 512 bytes
  bool wanted = !is_ok || hear({});
  while (wanted && !failed && !parser.is_done()) {
    parser.get().body().data = piece.data();
    parser.get().body().size = piece.size();
    line.socket().expires_after(call.timeout);
    failed = line.run(
        [&](auto done) { line.with([&](auto& stream) { http::async_read_some(stream, line.buffer, parser, done); }); });
    if (failed == http::error::need_buffer) failed = {};
    const std::string_view bytes(piece.data(), piece.size() - parser.get().body().size);
    if (!is_ok) refused += bytes;
    if (is_ok && !bytes.empty()) wanted = hear(bytes);
  }
  const int status = is_ok || failed ? 200 : static_cast<int>(parser.get().result_int());
  parts_->forget(line);
  if (status != 200) return Error{ErrorCode::failed, format("{} {}", status, kept_text(refused, 500))};
  if (failed) return Error{ErrorCode::retry_later, format("the stream ended: {}", failed.message())};
  return {};
}

void HttpClient::hang_up(const std::string& target) {
  const std::lock_guard lock(parts_->mutex);
  for (Line* line : parts_->busy)
    if (line->target == target)
      asio::post(line->context, [line] {
        Code ignored;
        line->socket().socket().shutdown(Tcp::socket::shutdown_send, ignored);
      });
}

void HttpClient::close() {
  const std::lock_guard lock(parts_->mutex);
  parts_->closed = true;
  parts_->idle.clear();
  for (Line* line : parts_->busy) asio::post(line->context, [line] { line->socket().close(); });
}

}  // namespace pawl::serve
