// A user with the least rights.
#include <algorithm>
#include <thread>

#include "store/redis/bench_test.h"
#include "store/redis/rights.h"

namespace pawl::store::redis {

namespace {

using std::chrono::seconds;

// The whole contract runs under these rights too (stores_test.cc).
class RedisRights : public OwnStore {
 protected:
  void let(const std::vector<std::string>& rules) {
    std::vector<std::string> words = {"ACL", "SETUSER", "pawl", "reset", "on", ">word"};
    words.insert(words.end(), rules.begin(), rules.end());
    ASSERT_EQ(server_.ask(words), "OK");
  }
  std::string url() const { return format("redis+unix://pawl:word@{}", (server_.folder() / "socket").string()); }
  static Options accepting() {
    Options options;
    options.accept_weaker = true;
    return options;
  }

  TestServer server_;
};

TEST_F(RedisRights, the_least_are_enough_for_a_job_its_bell_and_duplex) {
  let(least_rights("pawl"));
  use(url(), accepting());
  EXPECT_EQ(store_->weaknesses().size(), 1u) << "appendfsync, and no more: the settings can be read";
  struct Ear final : Listener {
    void rung(const Change&) override { ++count; }
    void owner_gone() override {}
    std::atomic<int> count{0};
  } ear;
  store_->listen(ear);
  const auto other = open_at(url(), accepting());
  ASSERT_TRUE(other);
  const Operation elsewhere = a_job("elsewhere", lane_);
  ASSERT_TRUE((*other)->commit({&elsewhere, 1}));
  for (int i = 0; i < 3000 && ear.count == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_GT(ear.count, 0);
  store_->stop_listening(ear);
  const RunId run = submit("a");
  put_work(run, "t");
  EXPECT_EQ(claim({"t"}, 1, seconds(30)).size(), 1u);
  close(run);
  const StartDuplex start{Namespace("n"), JobId("job"), lane_, {GraphName("g"), 1, 7}, "in", store_->now()};
  EXPECT_TRUE(store_->duplex().commit_one(start));
}

// A half applied script would be worse than none: a user who lacks any right is refused when the store is opened, with
// the name of the right.
TEST_F(RedisRights, each_right_that_is_missing_is_named_before_anything_is_done) {
  const auto all = least_rights("pawl");
  for (const std::string& rule : all) {
    if (rule.front() != '+') continue;
    const std::string name = rule.substr(1);
    std::vector<std::string> fewer = all;
    std::erase(fewer, rule);
    let(fewer);
    const auto opened = open_at(url(), accepting());
    const std::vector<std::string> others = {"config|get", "select", "cluster|slots", "asking",
                                             "role"};  // only for other kinds of server, or optional
    if (std::find(others.begin(), others.end(), name) != others.end()) {
      EXPECT_TRUE(opened) << name << ": " << to_string(opened.error());
      continue;
    }
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().code, ErrorCode::unsupported) << name;
    const std::string command = name.substr(0, name.find('|'));
    EXPECT_NE(opened.error().detail.find(command), std::string::npos) << name << ": " << opened.error().detail;
    EXPECT_EQ(opened.error().detail.find(">word"), std::string::npos);
  }
  EXPECT_EQ(server_.ask({"EXISTS", "pawl:{catalogue}:store"}), "1")
      << "made by those that only lacked what others need";
}

TEST_F(RedisRights, keys_of_others_are_not_enough) {
  let(least_rights("other"));
  const auto opened = open_at(url(), accepting());
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().detail.find("on pawl:*"), std::string::npos) << opened.error().detail;
  Options options = accepting();
  options.prefix = "other";
  EXPECT_TRUE(open_at(url(), options));
}

TEST_F(RedisRights, without_config_get_it_is_said_that_nobody_knows_what_is_kept) {
  auto rules = least_rights("pawl");
  std::erase(rules, "+config|get");
  let(rules);
  const auto refused = open_at(url());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("CONFIG GET is not allowed"), std::string::npos) << refused.error().detail;
}

}  // namespace

}  // namespace pawl::store::redis
