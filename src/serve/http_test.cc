// The server on real sockets: limits, slow and rude clients, and the client of this library.
#include "serve/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/format.h"
#include "serve/http_client.h"
#include "serve/limits.h"

namespace pawl::serve {
namespace {

using namespace std::chrono_literals;

class Socket {
 public:
  explicit Socket(std::uint16_t port) : file_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(file_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    timeval wait{10, 0};
    setsockopt(file_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  }
  ~Socket() { close(file_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(file_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;  // the server may have closed it: the test reads what it said
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // Until this text has come, or the end.
  std::string read_until(const std::string& text) {
    char bytes[4096];
    while (heard_.find(text) == std::string::npos) {
      const ssize_t got = recv(file_, bytes, sizeof bytes, 0);
      if (got <= 0) break;
      heard_.append(bytes, static_cast<std::size_t>(got));
    }
    return heard_;
  }
  std::string read_all() { return read_until("\x01never"); }

 private:
  int file_;
  std::string heard_;
};

class HttpTest : public ::testing::Test {
 protected:
  HttpTest() {
    HttpOptions options;
    options.port = 0;
    auto started = HttpServer::start(
        options, [this](Request& head) { return check(head); },
        [this](Request request, const ExchangePointer& exchange) { handle(std::move(request), exchange); },
        [this](std::int64_t change) { connections_ += change; });
    EXPECT_TRUE(started);
    server_ = std::move(*started);
  }
  static std::optional<Response> check(const Request& head) {
    if (head.path != "/forbidden") return std::nullopt;
    return Response{401, "text/plain", "no"};
  }
  void handle(Request request, const ExchangePointer& exchange) {
    if (request.path == "/size") return exchange->respond({200, "text/plain", std::to_string(request.body.size())});
    if (request.path == "/stream") {
      exchange->begin({200, "text/plain", ""});
      const std::lock_guard lock(mutex_);
      kept_ = exchange;
      changed_.notify_all();
      return;
    }
    if (request.path == "/wait") {
      exchange->on_gone([this] { ++gone_; });
      const std::lock_guard lock(mutex_);
      kept_ = exchange;
      changed_.notify_all();
      return;
    }
    exchange->respond({200, "text/plain", request.method + " " + request.path});
  }
  ExchangePointer kept() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 10s, [this] { return kept_ != nullptr; });
    return kept_;
  }
  template <class Condition>
  static bool soon(Condition condition) {
    for (int i = 0; i < 1000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

  std::atomic<std::int64_t> connections_{0};
  std::atomic<int> gone_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  ExchangePointer kept_;
  std::unique_ptr<HttpServer> server_;  // last: it ends first
};

TEST_F(HttpTest, several_requests_share_a_connection_even_when_sent_at_once) {
  Socket socket(server_->port());
  socket.send(
      "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\nHEAD /c HTTP/1.1\r\nHost: x\r\nConnection: "
      "close\r\n\r\n");
  const std::string heard = socket.read_all();
  EXPECT_NE(heard.find("GET /a"), std::string::npos);
  EXPECT_NE(heard.find("GET /b"), std::string::npos);
  EXPECT_EQ(heard.find("HEAD /c"), std::string::npos) << "HEAD has no body";
  EXPECT_NE(heard.find("Content-Length: 7"), std::string::npos);
}

TEST_F(HttpTest, a_body_at_the_limit_passes_and_one_past_it_gets_a_clear_answer) {
  {
    Socket socket(server_->port());
    socket.send(format("POST /size HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                       limits::body_bytes_max));
    socket.send(std::string(limits::body_bytes_max, 'x'));
    EXPECT_NE(socket.read_all().find(std::to_string(limits::body_bytes_max)), std::string::npos);
  }
  {
    Socket socket(server_->port());
    socket.send(format("POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", limits::body_bytes_max + 1));
    socket.send(std::string(limits::body_bytes_max + 1, 'x'));
    EXPECT_NE(socket.read_all().find("body_too_large"), std::string::npos);
  }
  {
    Socket socket(server_->port());
    socket.send("POST /size HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string piece(1u << 20, 'x');
    for (int i = 0; i < 9; ++i) socket.send(format("{:x}\r\n", piece.size()) + piece + "\r\n");
    EXPECT_NE(socket.read_all().find("body_too_large"), std::string::npos);
  }
}

TEST_F(HttpTest, headers_that_are_too_large_and_bytes_that_are_no_request_are_refused) {
  {
    Socket socket(server_->port());
    socket.send("GET /a HTTP/1.1\r\nHost: x\r\nX: " + std::string(limits::header_bytes_max, 'y') + "\r\n\r\n");
    EXPECT_NE(socket.read_all().find("header_too_large"), std::string::npos);
  }
  for (const char* bytes : {"\x16\x03\x01\x02", "hello\r\n\r\n", "GET http:// HTTP/9.9\r\n\r\n",
                            "GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"}) {
    Socket socket(server_->port());
    socket.send(bytes);
    socket.send("\r\n\r\n");
    EXPECT_NE(socket.read_all().find("bad_request"), std::string::npos) << bytes;
  }
}

TEST_F(HttpTest, whoever_asks_before_sending_a_body_is_told_to_go_on) {
  Socket socket(server_->port());
  socket.send(
      "POST /size HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\nConnection: close\r\n\r\n");
  EXPECT_NE(socket.read_until("100 Continue").find("100 Continue"), std::string::npos);
  socket.send("hello");
  EXPECT_NE(socket.read_all().find("\r\n\r\n5"), std::string::npos);
}

TEST_F(HttpTest, a_client_that_hangs_up_while_it_waits_is_noticed) {
  {
    Socket socket(server_->port());
    socket.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_NE(kept(), nullptr);
  }
  EXPECT_TRUE(soon([this] { return gone_ == 1; }));
  kept()->respond({200, "text/plain", "too late"});  // goes nowhere, and harms nobody
  EXPECT_TRUE(soon([this] { return connections_ == 0; }));
}

TEST_F(HttpTest, a_stream_is_written_in_pieces_and_its_end_leaves_the_connection_usable) {
  Socket socket(server_->port());
  socket.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  const ExchangePointer exchange = kept();
  ASSERT_NE(exchange, nullptr);
  EXPECT_TRUE(exchange->write("one"));
  EXPECT_NE(socket.read_until("one").find("one"), std::string::npos);
  EXPECT_TRUE(exchange->write("two"));
  exchange->end();
  EXPECT_NE(socket.read_until("0\r\n\r\n").find("two"), std::string::npos);
  socket.send("GET /after HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_NE(socket.read_all().find("GET /after"), std::string::npos);
}

TEST_F(HttpTest, a_reader_that_does_not_read_is_cut_off_and_memory_stays_bounded) {
  Socket socket(server_->port());
  socket.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  const ExchangePointer exchange = kept();
  ASSERT_NE(exchange, nullptr);
  const std::string piece(64u << 10, 'z');
  std::size_t taken = 0;
  while (taken < (256u << 20) && exchange->write(piece)) taken += piece.size();
  EXPECT_LT(taken, 64u << 20) << "the system's own buffers, and 1 MiB";
  EXPECT_TRUE(soon([this] { return connections_ == 0; }));
}

TEST_F(HttpTest, what_is_larger_than_the_queue_passes_when_nothing_waits_before_it) {
  Socket socket(server_->port());
  socket.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  const ExchangePointer exchange = kept();
  ASSERT_NE(exchange, nullptr);
  std::atomic<int> written{0};
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(exchange->write(std::string(3 * limits::stream_queue_bytes_max, 'z') + "end" + std::to_string(i)));
    exchange->when_written([&] { ++written; });
    EXPECT_NE(socket.read_until("end" + std::to_string(i)).find("end"), std::string::npos);
    EXPECT_TRUE(soon([&] { return written == i + 1; }));
  }
  exchange->when_written([&] { ++written; });  // nothing waits: at once
  EXPECT_EQ(written, 4);
}

TEST_F(HttpTest, whoever_waits_for_a_reader_is_told_when_it_is_gone) {
  std::atomic<bool> written{false};
  {
    Socket socket(server_->port());
    socket.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    const ExchangePointer exchange = kept();
    ASSERT_NE(exchange, nullptr);
    EXPECT_TRUE(exchange->write(std::string(64u << 20, 'z')));
    exchange->when_written([&] { written = true; });
    std::this_thread::sleep_for(50ms);
    EXPECT_FALSE(written);
  }
  EXPECT_TRUE(soon([&] { return written.load(); }));
}

TEST_F(HttpTest, whoever_may_not_ask_is_told_so_before_the_body_comes) {
  Socket socket(server_->port());
  socket.send("POST /forbidden HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");  // and no body
  EXPECT_NE(socket.read_until("401").find("401"), std::string::npos);
}

TEST_F(HttpTest, all_bodies_together_have_a_limit) {
  // Bodies that are nearly there, and never whole.
  std::vector<std::unique_ptr<Socket>> halves;
  const std::string nearly(limits::body_bytes_max - 1, 'x');
  const std::string head =
      format("POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", limits::body_bytes_max);
  for (std::size_t i = 0; i < limits::bodies_bytes_max / limits::body_bytes_max; ++i) {
    halves.push_back(std::make_unique<Socket>(server_->port()));
    halves.back()->send(head + nearly);
  }
  const auto size_of = [&](std::size_t bytes) {
    Socket socket(server_->port());
    socket.send(format("POST /size HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", bytes));
    socket.send(std::string(bytes, 'x'));
    return socket.read_all();
  };
  EXPECT_TRUE(soon([&] { return size_of(1u << 20).find("too_many_bodies") != std::string::npos; }));
  halves.clear();
  EXPECT_TRUE(soon([&] { return size_of(1u << 20).find("\r\n\r\n1048576") != std::string::npos; }));
}

TEST_F(HttpTest, a_request_that_comes_while_another_waits_is_served_after_it) {
  Socket socket(server_->port());
  socket.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  const ExchangePointer exchange = kept();
  ASSERT_NE(exchange, nullptr);
  socket.send("GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  std::this_thread::sleep_for(50ms);
  exchange->respond({200, "text/plain", "first"});
  const std::string heard = socket.read_all();
  EXPECT_LT(heard.find("first"), heard.find("GET /next"));
  EXPECT_NE(heard.find("GET /next"), std::string::npos);
}

TEST_F(HttpTest, idle_and_half_sent_connections_keep_nobody_out) {
  std::vector<std::unique_ptr<Socket>> idle;
  for (int i = 0; i < 400; ++i) idle.push_back(std::make_unique<Socket>(server_->port()));
  for (int i = 0; i < 100; ++i) idle[static_cast<std::size_t>(i)]->send("GET /slow HTT");  // and never more
  Socket socket(server_->port());
  socket.send("GET /quick HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_NE(socket.read_all().find("GET /quick"), std::string::npos);
  idle.clear();
  EXPECT_TRUE(soon([this] { return connections_ == 0; }));
}

TEST_F(HttpTest, stop_lets_an_answer_on_its_way_through) {
  Socket socket(server_->port());
  socket.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  const ExchangePointer exchange = kept();
  ASSERT_NE(exchange, nullptr);
  std::thread answer([&] {
    std::this_thread::sleep_for(100ms);
    exchange->respond({200, "text/plain", "in time"});
  });
  server_->stop(5s);
  answer.join();
  EXPECT_NE(socket.read_all().find("in time"), std::string::npos);
}

TEST_F(HttpTest, the_client_keeps_connections_and_says_what_went_wrong) {
  const std::string url = format("http://127.0.0.1:{}", server_->port());
  auto client = HttpClient::make({url});
  ASSERT_TRUE(client);
  for (int i = 0; i < 3; ++i) {
    const auto reply = (*client)->send({.target = "/x"});
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->body, "GET /x");
  }
  EXPECT_EQ(connections_, 1);
  const auto late = (*client)->send({.target = "/wait", .timeout = 100ms});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::outcome_unknown);
  server_->stop(0ms);
  const auto away = (*client)->send({.target = "/x"});
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, ErrorCode::retry_later);
  for (const char* wrong : {"", "ftp://x", "http://", "http://a:b", "http://user@host:1"})
    EXPECT_FALSE(HttpClient::make({wrong})) << wrong;
}

}  // namespace
}  // namespace pawl::serve
