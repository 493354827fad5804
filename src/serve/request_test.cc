#include "serve/request.h"

#include <gtest/gtest.h>

#include "serve/fields.h"
#include "serve/parse_time.h"
#include "serve/router.h"
#include "serve/timers.h"

namespace pawl::serve {
namespace {

using namespace std::chrono_literals;

TEST(Request, a_target_is_split_and_decoded) {
  Request request;
  ASSERT_TRUE(read_target("/v1/jobs/a%2Fb?x=1&y=a+b%26c&status=failed,parked&status=paused", request));
  EXPECT_EQ(request.parts, (std::vector<std::string>{"v1", "jobs", "a/b"}));
  EXPECT_EQ(request.asked("y"), "a b&c");
  EXPECT_EQ(request.asked_all("status"), (std::vector<std::string>{"failed", "parked", "paused"}));
  EXPECT_EQ(percent_encoded("a/b c"), "a%2Fb%20c");
}

TEST(Request, a_target_that_is_none_is_refused) {
  for (const char* target : {"", "v1", "/a%2", "/a%zz", "/a%00", "/?x=%"}) {
    Request request;
    EXPECT_FALSE(read_target(target, request)) << target;
  }
}

TEST(Fields, times_are_read_with_their_units) {
  EXPECT_EQ(*parse_duration("250ms"), 250ms);
  EXPECT_EQ(*parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(*parse_duration("10"), 10s);
  EXPECT_EQ(*parse_duration("2h"), 2h);
  EXPECT_EQ(*parse_duration("1d"), 24h);
  for (const char* text : {"", "s", "-1s", "1y", "1e400s", "nan", "99999999999d", "1 s"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(Router, what_is_written_out_goes_before_a_name) {
  Router router;
  const Handler none = [](const Request&, const ExchangePointer&) {};
  router.add({"GET", "/v1/jobs/{id}", none});
  router.add({"GET", "/v1/jobs/count", none});
  router.add({"POST", "/v1/jobs/{id}/pause", none});
  const auto found = [&](const std::string& method, const std::string& target) -> std::string {
    Request request;
    request.method = method;
    if (!read_target(target, request)) return "bad";
    std::vector<std::string> methods;
    const Route* route = router.find(request, methods);
    return route != nullptr ? route->pattern : methods.empty() ? "none" : "other method";
  };
  EXPECT_EQ(found("GET", "/v1/jobs/count"), "/v1/jobs/count");
  EXPECT_EQ(found("GET", "/v1/jobs/x"), "/v1/jobs/{id}");
  EXPECT_EQ(found("HEAD", "/v1/jobs/x"), "/v1/jobs/{id}");
  EXPECT_EQ(found("GET", "/v1/jobs/"), "none");
  EXPECT_EQ(found("GET", "/v1/jobs/x/pause"), "other method");
  EXPECT_EQ(found("POST", "/v1/jobs/x/pause"), "/v1/jobs/{id}/pause");
}

TEST(Timers, call_in_order_and_not_when_cancelled) {
  std::mutex mutex;
  std::condition_variable changed;
  std::string said;
  Timers timers;
  const auto say = [&](char c) {
    return [&, c] {
      const std::lock_guard lock(mutex);
      said += c;
      changed.notify_all();
    };
  };
  timers.after(60ms, say('c'));
  const auto cancelled = timers.after(40ms, say('x'));
  timers.after(20ms, say('a'));
  timers.cancel(cancelled);
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, 10s, [&] { return said.size() == 2; }));
  EXPECT_EQ(said, "ac");
}

}  // namespace
}  // namespace pawl::serve
