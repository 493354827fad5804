// A site on a store in memory, asked without sockets.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "serve/api.h"
#include "serve/site.h"

namespace pawl::serve::testing {

using namespace std::chrono_literals;
namespace json = boost::json;

class FakeExchange final : public Exchange {
 public:
  void respond(Response response) override { set(std::move(response)); }
  void begin(Response head) override { set(std::move(head)); }
  bool write(std::string bytes) override {
    const std::lock_guard lock(mutex_);
    if (gone_) return false;
    written_ += bytes;
    if (reads_not_) unwritten_ += bytes.size();
    changed_.notify_all();
    return true;
  }
  std::size_t unwritten() const override {
    const std::lock_guard lock(mutex_);
    return unwritten_;
  }
  void when_written(std::function<void()> call) override {
    {
      const std::lock_guard lock(mutex_);
      if (!gone_ && reads_not_) return void(told_when_written_ = std::move(call));
    }
    call();
  }
  void end() override {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  void on_gone(std::function<void()> gone) override {
    const std::lock_guard lock(mutex_);
    told_ = std::move(gone);
  }

  // The client hangs up.
  void hang_up() {
    std::function<void()> told, written;
    {
      const std::lock_guard lock(mutex_);
      gone_ = true;
      told = std::move(told_);
      written = std::move(told_when_written_);
    }
    if (told) told();
    if (written) written();
  }
  // A client that takes nothing of what is written to it, until it does.
  void stop_reading() {
    const std::lock_guard lock(mutex_);
    reads_not_ = true;
  }
  void read_again() {
    std::function<void()> written;
    {
      const std::lock_guard lock(mutex_);
      reads_not_ = false;
      unwritten_ = 0;
      written = std::exchange(told_when_written_, {});
    }
    if (written) written();
  }
  // None: it has not answered in this time.
  std::optional<Response> answer(std::chrono::milliseconds at_most = 10s) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, at_most, [this] { return answer_.has_value(); });
    return answer_;
  }
  // What was written, once it has this text.
  std::string written_with(const std::string& text, std::chrono::milliseconds at_most = 10s) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, at_most, [&] { return written_.find(text) != std::string::npos; });
    return written_;
  }
  bool ended(std::chrono::milliseconds at_most = 10s) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, at_most, [this] { return ended_; });
  }

 private:
  void set(Response response) {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(answer_) << "an exchange has one answer";
    answer_ = std::move(response);
    changed_.notify_all();
  }
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Response> answer_;
  std::string written_;
  bool ended_ = false;
  bool gone_ = false;
  std::size_t unwritten_ = 0;
  bool reads_not_ = false;
  std::function<void()> told_;
  std::function<void()> told_when_written_;
};

inline constexpr const char* greet_app = R"(
app:
  id: hello
  version: "1"
  graphs:
    - subscribes: hello.said
      activities:
        said: {type: trigger}
        greet:
          type: worker
          topic: greet
          retry: {maximumAttempts: 3, initialInterval: 1ms}
          input: {maps: {name: "{said.output.data.name}"}}
          job: {maps: {greeting: "{$self.output.data.text}"}}
      transitions:
        said: [{to: greet}]
    - subscribes: hello.asked
      activities:
        asked: {type: trigger}
        sure: {type: hook, sleep: 1h, job: {maps: {sure: "{$self.hook.data.sure}"}}}
      transitions:
        asked: [{to: sure}]
      hooks:
        hello.sure: [{to: sure, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$self.hook.data.job}"}]}}]
)";

class SiteTest : public ::testing::Test {
 protected:
  explicit SiteTest(AccessRules rules = {}) {
    auto opened = runtime::open_local({.store = ":memory:"});
    EXPECT_TRUE(opened);
    runtime_ = *opened;
    runtime_->on_problem([](const std::string&) {}).keep();
    SiteFacts facts;
    facts.version = "test";
    facts.server = "abcd";
    facts.store = ":memory:";
    site_ = std::make_unique<Site>(*runtime_, log_, facts, 4);
    api_ = std::make_unique<Api>(*site_, std::move(rules));
    EXPECT_TRUE(runtime_->deploy(AppText{greet_app}, {}));
    EXPECT_TRUE(runtime_->launch());
  }
  ~SiteTest() override {
    site_->close();
    runtime_->stop(1s);
    site_->crew.close();
    site_->timers.close();
  }

  std::shared_ptr<FakeExchange> send(const std::string& method, const std::string& target, std::string body = "",
                                     Pairs headers = {{"host", "127.0.0.1:1"}}) {
    auto exchange = std::make_shared<FakeExchange>();
    Request request;
    request.method = method;
    request.headers = std::move(headers);
    request.body = std::move(body);
    EXPECT_TRUE(read_target(target, request)) << target;
    api_->handle(std::move(request), exchange);
    return exchange;
  }
  Response ask(const std::string& method, const std::string& target, std::string body = "") {
    const auto response = send(method, target, std::move(body))->answer();
    EXPECT_TRUE(response) << method << " " << target << " was not answered";
    return response.value_or(Response{0, "", "null"});
  }
  // REQUIRES: the answer is an object with this status.
  json::object ask_object(const std::string& method, const std::string& target, std::string body, int status) {
    const Response response = ask(method, target, std::move(body));
    EXPECT_EQ(response.status, status) << target << ": " << response.body;
    json::error_code failed;
    const json::value value = json::parse(response.body, failed);
    EXPECT_TRUE(value.is_object()) << response.body;
    return value.is_object() ? value.get_object() : json::object();
  }
  std::string start(const std::string& id) {
    ask_object("POST", "/v1/jobs", R"({"graph":"hello.said","input":{"name":"Ann"},"id":")" + id + "\"}", 201);
    return id;
  }
  json::array take(const std::string& more = "") {
    return ask_object("POST", "/v1/work/take", R"({"topics":["greet"],"worker":"w","wait":"5s")" + more + "}", 200)
        .at("work")
        .as_array();
  }
  static std::string text(const json::value& object, std::string_view name) {
    const json::value* value = object.is_object() ? object.get_object().if_contains(name) : nullptr;
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : "(none)";
  }

  std::string logged() {
    const std::lock_guard lock(logged_mutex_);
    return logged_;
  }

  std::mutex logged_mutex_;
  std::string logged_;  // guarded by logged_mutex_
  Log log_{Log::Form::text, Log::Level::debug, [this](const std::string& line) {
             const std::lock_guard lock(logged_mutex_);
             logged_ += line;
           }};
  std::shared_ptr<runtime::LocalRuntime> runtime_;
  std::unique_ptr<Site> site_;
  std::unique_ptr<Api> api_;
};

}  // namespace pawl::serve::testing
