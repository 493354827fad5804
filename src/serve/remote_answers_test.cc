// What becomes of workers' answers when the server, or something in front of it, does not take them at once. The server
// is one of the test, which says what the test wants.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>

#include "base/format.h"
#include "base/limits.h"
#include "serve/http_server.h"
#include "serve/limits.h"
#include "serve/remote_workers.h"

namespace pawl::serve {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

class RemoteAnswers : public ::testing::Test {
 protected:
  // What the server says to one request of answers: a status, and for 200 the code of each answer's problem.
  struct Reaction {
    int status = 200;    // 0: it says nothing
    std::string code{};  // empty: ok
  };

  RemoteAnswers() {
    HttpOptions options;
    options.port = 0;
    auto started = HttpServer::start(
        options, [](Request&) { return std::nullopt; },
        [this](const Request& request, const ExchangePointer& exchange) { handle(request, exchange); },
        [](std::int64_t) {});
    EXPECT_TRUE(started);
    server_ = std::move(*started);
  }
  ~RemoteAnswers() override { workers_.reset(); }

  void handle(const Request& request, const ExchangePointer& exchange) {
    const std::lock_guard lock(mutex_);
    if (request.path == "/v1/work/stream") {
      exchange->begin({200, "application/x-ndjson", ""});
      if (!work_.empty()) exchange->write(std::exchange(work_, {}));
      kept_.push_back(exchange);  // no more work comes
      return;
    }
    if (request.path == "/v1/work/stream/end") {
      for (const ExchangePointer& stream : kept_) stream->end();
      return exchange->respond({200, "application/json", "{\"ok\":true}"});
    }
    const json::value body = json::parse(request.body);
    const json::array& answers = body.at("answers").as_array();
    std::vector<std::string> batch;
    bool heartbeats = true;
    for (const json::value& answer : answers) {
      const std::string word(answer.at("do").as_string());
      heartbeats = heartbeats && word == "heartbeat";
      batch.push_back(std::string(answer.at("token").as_string()) + " " + word);
    }
    const Reaction reaction = reactions_.empty() ? Reaction{} : reactions_.front();
    if (!reactions_.empty() && (!heartbeats || react_to_heartbeats_)) reactions_.pop_front();
    batches_.push_back(batch);
    first_came_ = true;
    if (reaction.status == 0) return kept_.push_back(exchange);
    if (batches_.size() == 1) std::this_thread::sleep_for(first_takes_);  // meanwhile other answers gather
    bytes_ = std::max(bytes_, request.body.size());
    std::string results;
    for (const json::value& answer : answers) {
      results += results.empty() ? "" : ",";
      if (reaction.status == 200 && reaction.code.empty()) {
        if (answer.at("do").as_string() != "heartbeat") settled_.push_back(answer);
        results += "{\"ok\":true}";
      } else {
        results += format("{{\"ok\":false,\"problem\":{{\"code\":\"{}\",\"detail\":\"x\"}}}}", reaction.code);
      }
    }
    exchange->respond({reaction.status, "application/json", "{\"results\":[" + results + "]}"});
    changed_.notify_all();
  }

  void launch(int works, Worker worker, Duration lease = 30s) {
    for (int i = 0; i < works; ++i)
      work_ += format(
          "{{\"token\":\"t{}\",\"topic\":\"t\",\"key\":\"k\",\"run\":\"1\",\"job\":\"j\",\"namespace\":\"default\","
          "\"attempt\":1,\"input\":{{}},\"progress\":null,\"lease_until\":\"2030-01-01T00:00:00Z\"}}\n",
          i);
    auto client = HttpClient::make({format("http://127.0.0.1:{}", server_->port())});
    ASSERT_TRUE(client);
    ConnectOptions options;
    options.lease = lease;
    options.worker_threads = 2;
    workers_ = std::make_unique<RemoteWorkers>(*client, options, [](const std::string&) {});
    workers_->serve("t", std::move(worker));
    workers_->launch();
  }
  // The answers that the server took, once there are so many.
  std::vector<json::value> settled(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 20s, [&] { return settled_.size() >= count; });
    return settled_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string work_;                // guarded by mutex_, like the rest
  std::deque<Reaction> reactions_;  // to the next requests; then all is well
  bool react_to_heartbeats_ = false;
  std::chrono::milliseconds first_takes_{0};  // the response to the first request
  std::atomic<bool> first_came_{false};       // not guarded: workers wait for it
  std::vector<std::vector<std::string>> batches_;
  std::vector<json::value> settled_;
  std::size_t bytes_ = 0;  // of the largest request
  std::vector<ExchangePointer> kept_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<RemoteWorkers> workers_;
};

Reply done(Work&) { return Reply::success(Payload("{\"text\":\"x\"}")); }

TEST_F(RemoteAnswers, are_sent_until_the_server_takes_them) {
  for (const int status : {401, 403, 408, 429, 404, 500, 502, 503}) reactions_.push_back({status, {}});
  launch(1, done);
  const auto taken = settled(1);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].at("do").as_string(), "complete");
}

TEST_F(RemoteAnswers, of_a_batch_that_is_refused_go_one_by_one) {
  first_takes_ = 300ms;
  reactions_ = {{200, {}}, {413, {}}};
  std::atomic<int> begun{0};
  launch(6, [&](Work& work) {
    const bool first = begun++ == 0;
    while (!first && !first_came_) std::this_thread::sleep_for(1ms);
    return done(work);
  });
  EXPECT_EQ(settled(6).size(), 6u);
  const std::lock_guard lock(mutex_);
  EXPECT_GE(batches_.at(1).size(), 2u);
  for (const std::string& refused : batches_.at(1))
    EXPECT_NE(std::find(batches_.begin() + 2, batches_.end(), std::vector{refused}), batches_.end()) << refused;
}

TEST_F(RemoteAnswers, share_requests_that_are_no_larger_than_the_server_takes) {
  launch(8, [](Work&) { return Reply::success(Payload("\"" + std::string(3u << 20, 'x') + "\"")); });
  EXPECT_EQ(settled(8).size(), 8u);
  EXPECT_LT(bytes_, limits::body_bytes_max);
}

TEST_F(RemoteAnswers, that_are_too_large_fail_the_attempt_instead_of_being_lost) {
  reactions_ = {{200, "over_limit"}};
  launch(1, done);
  auto taken = settled(1);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].at("do").as_string(), "fail");
  EXPECT_EQ(taken[0].at("code").as_int64(), 413);
}

TEST_F(RemoteAnswers, that_the_library_refuses_are_failures_as_in_an_embedded_runtime) {
  launch(1, [](Work&) { return Reply::success(Payload(std::string(pawl::limits::payload_bytes_max + 1, 'x'))); });
  const auto taken = settled(1);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].at("do").as_string(), "fail");
}

TEST_F(RemoteAnswers, that_could_not_be_taken_now_are_sent_again) {
  reactions_ = {{200, "retry_later"}, {200, "outcome_unknown"}, {200, "fenced"}};
  launch(1, done);
  const auto taken = settled(1);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].at("do").as_string(), "complete");
}

TEST_F(RemoteAnswers, only_a_stale_token_cancels_the_worker) {
  react_to_heartbeats_ = true;
  reactions_ = {{200, "retry_later"}, {200, "retry_later"}, {200, "stale_token"}};
  std::atomic<int> beats_when_cancelled{0};
  launch(
      1,
      [&](Work& work) {
        for (int i = 0; i < 2000 && !work.cancelled(); ++i) std::this_thread::sleep_for(5ms);
        const std::lock_guard lock(mutex_);
        beats_when_cancelled = static_cast<int>(batches_.size());
        return Reply::error(Payload("{}"));
      },
      600ms);
  ASSERT_EQ(settled(1).size(), 1u);
  EXPECT_EQ(settled(1)[0].at("do").as_string(), "release");
  EXPECT_GE(beats_when_cancelled, 3) << "a server that is busy does not mean that the work is somebody else's";
}

TEST_F(RemoteAnswers, that_the_server_never_responds_to_do_not_keep_a_stop) {
  react_to_heartbeats_ = true;
  reactions_ = {{0}};
  launch(1, [this](Work& work) {
    work.heartbeat();
    while (!first_came_) std::this_thread::sleep_for(1ms);
    return Reply::success("{}");  // it must come after the heartbeat, and waits for it
  });
  while (!first_came_) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(50ms);
  const auto begin = std::chrono::steady_clock::now();
  workers_->stop(1s);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST_F(RemoteAnswers, keep_more_leases_than_fit_one_request) {
  constexpr std::size_t works = limits::answers_max + 500;
  std::atomic<bool> over{false};
  launch(
      works,
      [&](Work&) {
        while (!over) std::this_thread::sleep_for(1ms);
        return Reply::success("{}");
      },
      1s);
  std::set<std::string> kept;
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (kept.size() < works && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(10ms);
    const std::lock_guard lock(mutex_);
    for (const auto& batch : batches_) {
      EXPECT_LE(batch.size(), limits::answers_max);
      kept.insert(batch.begin(), batch.end());
    }
  }
  EXPECT_EQ(kept.size(), works);
  over = true;
  workers_->stop(1s);  // before the worker's variables
}

}  // namespace
}  // namespace pawl::serve
