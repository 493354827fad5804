// Session: one connection of the server: its requests one after the other, the answers, and streams. Only
// http_server.cc includes it: Boost.Beast takes long to compile.
#pragma once

#include <algorithm>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "base/format.h"
#include "serve/http_server.h"
#include "serve/limits.h"
#include "serve/problem.h"

namespace pawl::serve::connection {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Tcp = asio::ip::tcp;
using Code = boost::system::error_code;

class Connection;

// What all connections share.
struct Hub {
  HttpServer::Check check;
  HttpServer::Handle handle;
  HttpServer::Count count;
  std::atomic<std::size_t> bodies_bytes{0};
  std::atomic<bool> stopping{false};
  std::mutex mutex;
  std::condition_variable changed;
  std::set<Connection*> connections;  // guarded by mutex
};

inline std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

// A connection without its transport.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void close_if_idle() = 0;
  virtual void close() = 0;
  virtual bool busy() const = 0;
};

// One exchange of a connection, as handlers see it. It outlives the connection if a handler keeps it.
template <class Session>
class HttpExchange final : public Exchange {
 public:
  HttpExchange(std::weak_ptr<Session> session, std::uint64_t number) : session_(std::move(session)), number_(number) {}

  void respond(Response response) override {
    if (answered_.exchange(true)) return;
    if (const auto session = session_.lock()) session->respond(number_, std::move(response));
  }
  void begin(Response head) override {
    if (answered_.exchange(true)) return;
    if (const auto session = session_.lock()) session->begin(number_, std::move(head));
  }
  bool write(std::string bytes) override {
    const auto session = session_.lock();
    return session != nullptr && session->write(number_, std::move(bytes));
  }
  std::size_t unwritten() const override {
    const auto session = session_.lock();
    return session == nullptr ? 0 : session->unwritten(number_);
  }
  void when_written(std::function<void()> call) override {
    const auto session = session_.lock();
    if (session == nullptr || !session->when_written(number_, call)) call();
  }
  void end() override {
    if (const auto session = session_.lock()) session->end(number_);
  }
  void on_gone(std::function<void()> gone) override {
    const auto session = session_.lock();
    if (session == nullptr || !session->on_gone(number_, gone)) gone();
  }

 private:
  const std::weak_ptr<Session> session_;
  const std::uint64_t number_;
  std::atomic<bool> answered_{false};
};

// Stream: beast::tcp_stream or an ssl_stream of one.
template <class Stream>
class Session final : public Connection, public std::enable_shared_from_this<Session<Stream>> {
 public:
  static constexpr bool is_tls = !std::is_same_v<Stream, beast::tcp_stream>;

  template <class... Args>
  Session(Hub& hub, Args&&... args) : hub_(hub), stream_(std::forward<Args>(args)...) {
    hub_.count(1);
    const std::lock_guard lock(hub_.mutex);
    hub_.connections.insert(this);
  }
  ~Session() override {
    {
      const std::lock_guard lock(hub_.mutex);
      hub_.connections.erase(this);
    }
    hub_.changed.notify_all();
    hub_.count(-1);
  }

  void run() {
    asio::dispatch(stream_.get_executor(), [self = this->shared_from_this()] { self->shake_hands(); });
  }
  // Says that there is no room, and closes.
  void turn_away() {
    asio::dispatch(stream_.get_executor(), [self = this->shared_from_this()] {
      self->keep_alive_ = false;
      self->begin_exchange();
      if constexpr (is_tls)
        self->drop();  // a handshake for that would cost more than it is worth
      else
        self->send(problem("too_many_connections", "this server has as many connections as it takes"));
    });
  }

  // --- for the exchange, from any thread
  void respond(std::uint64_t number, Response response) {
    asio::post(stream_.get_executor(),
               [self = this->shared_from_this(), number, response = std::move(response)]() mutable {
                 if (number == self->number_ && self->waiting_) self->send(std::move(response));
               });
  }
  void begin(std::uint64_t number, Response head) {
    asio::post(stream_.get_executor(), [self = this->shared_from_this(), number, head = std::move(head)]() mutable {
      if (number == self->number_ && self->waiting_) self->begin_stream(head);
    });
  }
  bool write(std::uint64_t number, std::string bytes) {
    {
      const std::lock_guard lock(mutex_);
      if (gone_ || number != number_) return false;
      const bool waits = queued_ > 0;
      queued_ += bytes.size();
      if (waits && queued_ > limits::stream_queue_bytes_max) gone_ = true;
    }
    asio::post(stream_.get_executor(), [self = this->shared_from_this(), bytes = std::move(bytes)]() mutable {
      if (self->is_gone()) return self->drop();  // too slow
      self->queue_.push_back(std::move(bytes));
      self->flush();
    });
    return true;
  }
  std::size_t unwritten(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return gone_ || number != number_ ? 0 : queued_;
  }
  bool when_written(std::uint64_t number, const std::function<void()>& call) {
    const std::lock_guard lock(mutex_);
    if (gone_ || number != number_ || queued_ == 0) return false;
    told_when_written_ = call;
    return true;
  }
  void end(std::uint64_t number) {
    asio::post(stream_.get_executor(), [self = this->shared_from_this(), number] {
      if (number != self->number_ || !self->streaming_) return;
      self->ending_ = true;
      self->flush();
    });
  }
  bool on_gone(std::uint64_t number, std::function<void()> gone) {
    const std::lock_guard lock(mutex_);
    if (gone_ || number != number_) return false;
    told_when_gone_ = std::move(gone);
    asio::post(stream_.get_executor(), [self = this->shared_from_this(), number] {
      if (number == self->number_ && self->waiting_) self->watch();
    });
    return true;
  }

  // --- for the server, from any thread
  void close_if_idle() override {
    asio::post(stream_.get_executor(), [weak = this->weak_from_this()] {
      if (const auto self = weak.lock(); self && !self->waiting_) self->drop();
    });
  }
  void close() override {
    asio::post(stream_.get_executor(), [weak = this->weak_from_this()] {
      if (const auto self = weak.lock()) self->drop();
    });
  }
  bool busy() const override { return waiting_; }

 private:
  using Parser = http::request_parser<http::string_body>;
  enum class Next : std::uint8_t { none, header, discard };

  auto& lowest() { return beast::get_lowest_layer(stream_); }
  bool is_gone() {
    const std::lock_guard lock(mutex_);
    return gone_;
  }

  void shake_hands() {
    if constexpr (is_tls) {
      lowest().expires_after(limits::handshake_max);
      stream_.async_handshake(asio::ssl::stream_base::server, [self = this->shared_from_this()](Code failed) {
        if (!failed) self->read_header();
      });
    } else {
      read_header();
    }
  }

  void read_header() {
    if (hub_.stopping) return drop();
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(limits::header_bytes_max));
    parser_->body_limit(limits::body_bytes_max);
    lowest().expires_after(limits::idle_max);
    http::async_read_header(stream_, buffer_, *parser_, [self = this->shared_from_this()](Code failed, std::size_t) {
      if (failed) return self->refuse_bytes(failed);
      self->read_body();
    });
  }

  void read_body() {
    const auto& header = parser_->get();
    keep_alive_ = header.keep_alive();
    head_only_ = header.method() == http::verb::head;
    // Said before the body comes, so that nobody sends it in vain.
    if (const auto length = parser_->content_length(); length && *length > limits::body_bytes_max)
      return refuse_bytes(http::error::body_limit);
    Request head = head_of(header);
    if (const auto read = read_target(std::string(header.target()), head); !read)
      return refuse(problem("bad_request", read.error().detail));
    if (auto refused = hub_.check(head)) return refuse(std::move(*refused));
    head_ = std::move(head);
    // Else each read of a large body takes the smallest piece, 512 bytes.
    if (const auto length = parser_->content_length(); length && *length > body_piece_min)
      buffer_.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(*length, body_piece_max)));
    lowest().expires_after(limits::request_arrives_max);
    const auto expect = header.find(http::field::expect);
    if (expect == header.end() ||
        lower(std::string_view(expect->value().data(), expect->value().size())) != "100-continue")
      return read_rest();
    auto go_on = std::make_shared<http::response<http::empty_body>>(http::status::continue_, 11);
    http::async_write(stream_, *go_on, [self = this->shared_from_this(), go_on](Code failed, std::size_t) {
      if (!failed) self->read_rest();
    });
  }

  static Request head_of(const http::request<http::string_body>& header) {
    Request request;
    request.method = std::string(header.method_string());
    for (const auto& field : header)
      request.headers.emplace_back(lower(std::string_view(field.name_string().data(), field.name_string().size())),
                                   std::string(field.value()));
    return request;
  }

  // Piece by piece, and each is counted: many clients that send large bodies at once must not take all memory.
  void read_rest() {
    if (parser_->is_done()) return serve();
    http::async_read_some(stream_, buffer_, *parser_, [self = this->shared_from_this()](Code failed, std::size_t) {
      if (failed) return self->refuse_bytes(failed);
      if (!self->count_body(self->parser_->get().body().size()))
        return self->refuse(problem("too_many_bodies",
                                    "the bodies of all requests have as many bytes as this server "
                                    "takes at once (bodies_bytes_max)"));
      self->read_rest();
    });
  }

  // False: with these bytes there are too many.
  bool count_body(std::size_t bytes) {
    const std::size_t before = std::exchange(body_counted_, bytes);
    return hub_.bodies_bytes.fetch_add(bytes - before) + bytes - before <= limits::bodies_bytes_max;
  }

  // An answer before the request is whole. Then the connection ends: its next bytes are no request.
  void refuse(Response response) {
    keep_alive_ = keep_alive_ && parser_ && parser_->is_done();
    begin_exchange();
    send(std::move(response));
  }

  // What cannot be read is answered where that makes sense, and the connection ends: nobody knows where the next
  // request would begin.
  void refuse_bytes(Code failed) {
    std::string_view code;
    if (failed == http::error::body_limit)
      code = "body_too_large";
    else if (failed == http::error::header_limit || failed == http::error::buffer_overflow)
      code = "header_too_large";
    else if (failed.category() == make_error_code(http::error::bad_method).category() &&
             failed != http::error::end_of_stream && failed != http::error::partial_message)
      code = "bad_request";
    if (code.empty()) return drop();  // the client went, or its time was over: then the socket is closed already
    keep_alive_ = false;
    begin_exchange();
    std::string detail = code == "body_too_large"
                             ? format("a body has at most {} bytes (body_bytes_max)", limits::body_bytes_max)
                         : code == "header_too_large"
                             ? format("a header has at most {} bytes (header_bytes_max)", limits::header_bytes_max)
                             : failed.message();
    send(problem(code, std::move(detail)));
  }

  void begin_exchange() {
    const std::lock_guard lock(mutex_);
    ++number_;
    waiting_ = true;
    waiting_self_ = this->shared_from_this();
    queued_ = 0;
    queue_.clear();  // a sign of life that came when the stream before had ended
    told_when_gone_ = {};
  }

  void serve() {
    Request request = std::move(head_);
    request.body = std::move(parser_->get().body());
    parser_.reset();
    begin_exchange();
    auto exchange = std::make_shared<HttpExchange<Session>>(this->weak_from_this(), number_);
    lowest().expires_never();
    hub_.handle(std::move(request), exchange);
  }

  // A client that hangs up while it waits is noticed: its work may be for another one. With TLS the end is a message
  // of its own, and it is known only once it is read; so what comes is read, and kept for the next request.
  void watch() {
    if (reading_ahead_ || buffer_.size() >= read_ahead_max) return;
    reading_ahead_ = true;
    stream_.async_read_some(buffer_.prepare(read_ahead_bytes),
                            [self = this->shared_from_this()](Code failed, std::size_t size) {
                              self->reading_ahead_ = false;
                              self->buffer_.commit(size);
                              self->read_ahead(failed);
                            });
  }
  void read_ahead(Code failed) {
    const Next next = std::exchange(next_, Next::none);
    // The answer was sent meanwhile, and the reading was ended for that; nothing that came is lost by it.
    if (failed && (next == Next::none || failed != asio::error::operation_aborted)) return drop();
    if (next == Next::header) return read_header();
    if (next == Next::discard) return begin_discard();
    if (waiting_) watch();
  }
  // What reads next does so when nothing is read ahead any more.
  bool ends_reading_ahead(Next next) {
    if (!reading_ahead_) return false;
    next_ = next;
    lowest().cancel();
    return true;
  }

  using Message = http::response<http::string_body>;
  Message message_of(Response& response) const {
    Message message(static_cast<http::status>(response.status), 11);
    message.set(http::field::content_type, response.type);
    message.set(http::field::server, "pawl");
    for (const auto& [name, value] : response.headers) message.insert(name, value);
    message.keep_alive(keep_alive_ && !hub_.stopping);
    return message;
  }

  void send(Response response) {
    auto message = std::make_shared<Message>(message_of(response));
    const bool keep = message->keep_alive();
    message->content_length(response.body.size());
    if (!head_only_) message->body() = std::move(response.body);
    // The header alone is written for HEAD, with the length that GET would have.
    lowest().expires_after(limits::write_max);
    auto done = [self = this->shared_from_this(), message, keep](Code failed, std::size_t) {
      if (failed || !keep) return self->drop_after_write(failed);
      self->next();
    };
    if (!head_only_) return http::async_write(stream_, *message, std::move(done));
    auto serializer = std::make_shared<http::response_serializer<http::string_body>>(*message);
    http::async_write_header(stream_, *serializer, [serializer, done = std::move(done)](Code failed, std::size_t size) {
      done(failed, size);
    });
  }

  void next() {
    const auto self = std::exchange(waiting_self_, nullptr);
    {
      const std::lock_guard lock(mutex_);
      waiting_ = false;
      told_when_gone_ = {};
    }
    hub_.changed.notify_all();
    count_body(0);
    if (ends_reading_ahead(Next::header)) return;
    // A buffer that grew for a large body goes back to the system.
    if (buffer_.capacity() > buffer_kept_max && buffer_.size() == 0) buffer_.shrink_to_fit();
    read_header();
  }

  // A stream ends with its connection, or with the last chunk.
  void begin_stream(Response& head) {
    Message message = message_of(head);
    auto headers = std::make_shared<http::response<http::empty_body>>();
    headers->base() = message.base();
    headers->chunked(true);
    streaming_ = true;
    writing_ = true;
    auto serializer = std::make_shared<http::response_serializer<http::empty_body>>(*headers);
    lowest().expires_after(limits::write_max);
    http::async_write_header(stream_, *serializer,
                             [self = this->shared_from_this(), headers, serializer](Code failed, std::size_t) {
                               if (failed) return self->drop();
                               self->writing_ = false;
                               self->flush();
                             });
  }

  void flush() {
    if (!streaming_ || writing_) return;
    if (queue_.empty()) {
      lowest().expires_never();
      if (ending_) finish_stream();
      return;
    }
    writing_ = true;
    auto bytes = std::make_shared<std::string>();
    for (std::string& part : queue_) *bytes += part;
    queue_.clear();
    lowest().expires_after(limits::write_max);
    asio::async_write(stream_, http::make_chunk(asio::buffer(*bytes)),
                      [self = this->shared_from_this(), bytes](Code failed, std::size_t) {
                        if (failed) return self->drop();
                        std::function<void()> written;
                        {
                          const std::lock_guard lock(self->mutex_);
                          self->queued_ -= std::min(self->queued_, bytes->size());
                          if (self->queued_ == 0) written = std::exchange(self->told_when_written_, {});
                        }
                        self->writing_ = false;
                        self->flush();
                        if (written) written();
                      });
  }

  void finish_stream() {
    writing_ = true;
    asio::async_write(stream_, http::make_chunk_last(), [self = this->shared_from_this()](Code failed, std::size_t) {
      self->streaming_ = false;
      self->writing_ = false;
      self->ending_ = false;
      if (failed || !self->keep_alive_ || self->hub_.stopping) return self->drop_after_write(failed);
      self->next();
    });
  }

  // The answer reaches a client that still sends only if its bytes are read; else its end of the line reports an error.
  void drop_after_write(Code failed) {
    if (failed) return drop();
    Code ignored;
    lowest().socket().shutdown(Tcp::socket::shutdown_send, ignored);
    waiting_ = false;
    if (!ends_reading_ahead(Next::discard)) begin_discard();
  }
  void begin_discard() {
    lowest().expires_after(limits::last_bytes_max);
    discard();
  }
  void discard() {
    buffer_.clear();
    lowest().async_read_some(buffer_.prepare(discard_bytes),
                             [self = this->shared_from_this()](Code failed, std::size_t) {
                               if (failed) return self->drop();
                               self->discard();
                             });
  }

  void drop() {
    const auto self = std::exchange(waiting_self_, nullptr);  // it may be the last one
    std::function<void()> gone, written;
    {
      const std::lock_guard lock(mutex_);
      gone_ = true;
      waiting_ = false;
      gone = std::exchange(told_when_gone_, {});
      written = std::exchange(told_when_written_, {});
    }
    lowest().close();
    count_body(0);
    if (gone) gone();
    if (written) written();
    hub_.changed.notify_all();
  }

  static constexpr std::size_t buffer_kept_max = 16u << 10;
  static constexpr std::uint64_t body_piece_min = 2u << 10;
  static constexpr std::uint64_t body_piece_max = 64u << 10;
  static constexpr std::size_t discard_bytes = 16u << 10;
  static constexpr std::size_t read_ahead_bytes = 1024;
  static constexpr std::size_t read_ahead_max = 16u << 10;  // then a hang-up is noticed with the next request only

  Hub& hub_;
  Stream stream_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  Request head_;  // of the request whose body is read
  // While a handler has the exchange nothing else keeps the connection: handlers may keep an exchange for longer.
  std::shared_ptr<Session> waiting_self_;
  bool keep_alive_ = true;
  bool head_only_ = false;
  bool reading_ahead_ = false;
  Next next_ = Next::none;         // as soon as nothing is read ahead
  std::size_t body_counted_ = 0;   // bytes of hub_.bodies_bytes that are of this request
  std::deque<std::string> queue_;  // of a stream
  bool streaming_ = false;
  bool writing_ = false;
  bool ending_ = false;
  std::mutex mutex_;
  // Written under mutex_ on the connection's strand, read by both:
  std::atomic<std::uint64_t> number_{0};     // of the exchange
  std::atomic<bool> waiting_{false};         // for its answer
  std::size_t queued_ = 0;                   // bytes that wait to be written; guarded by mutex_
  bool gone_ = false;                        // guarded by mutex_
  std::function<void()> told_when_gone_;     // guarded by mutex_
  std::function<void()> told_when_written_;  // guarded by mutex_
};

using Plain = Session<beast::tcp_stream>;
using Secure = Session<beast::ssl_stream<beast::tcp_stream>>;

}  // namespace pawl::serve::connection
