#include "serve/handout_desk.h"

#include <gtest/gtest.h>

#include <deque>

#include "serve/limits.h"

namespace pawl::serve {
namespace {

using namespace std::chrono_literals;

// The store answers when the test says so.
class DeskTest : public ::testing::Test {
 protected:
  using Done = std::function<void(Result<std::vector<TakenWork>>)>;
  ~DeskTest() override { timers_.close(); }
  static runtime::TakeRequest of(std::vector<std::string> topics) {
    runtime::TakeRequest request;
    request.topics = std::move(topics);
    request.worker = "w";
    return request;
  }
  Done take_out() {
    Done done = std::move(asked_.front());
    asked_.pop_front();
    return done;
  }

  Timers timers_;
  std::deque<Done> asked_;
  std::vector<std::string> released_;
  HandoutDesk desk_{[this](const runtime::TakeRequest&, Done done) { asked_.push_back(std::move(done)); },
                    [this](const std::string& token) { released_.push_back(token); }, timers_};
};

TEST_F(DeskTest, a_topic_that_is_asked_for_is_not_forgotten_when_there_are_many) {
  const auto gone = desk_.take(of({"a"}), 1h, [](const auto&) {});
  desk_.leave(*gone);  // while the store is asked for it
  const Done late = take_out();
  std::vector<std::string> many;
  for (std::size_t i = 0; i + 1 < limits::topics_max; ++i) many.push_back("t" + std::to_string(i));
  const auto others = desk_.take(of(many), 1h, [](const auto&) {});
  desk_.leave(*others);
  take_out()(std::vector<TakenWork>());
  // This one finds the desk full, so what nobody wants is forgotten.
  ASSERT_TRUE(desk_.stream(
      of({"a"}), [](const auto&) { return true; }, [] {}));
  late(std::vector<TakenWork>());
  take_out()(std::vector<TakenWork>());
  desk_.work_waits("a", 1);
  EXPECT_EQ(asked_.size(), 1u) << "whoever waits for it is woken";
}

TEST_F(DeskTest, what_waits_in_the_store_goes_before_what_is_put) {
  std::vector<TakenWork> given;
  auto wish = of({"a"});
  wish.items_max = 100;
  ASSERT_TRUE(desk_.stream(
      wish, [&](const auto& work) { return given.insert(given.end(), work.begin(), work.end()), true; }, [] {}));
  EXPECT_FALSE(desk_.find_taker("a", 10)) << "its first claim may bring as much as it can take";
  take_out()(std::vector<TakenWork>());
  const auto taker = desk_.find_taker("a", 10);
  ASSERT_TRUE(taker);
  EXPECT_EQ(taker->worker, "w");
  EXPECT_FALSE(desk_.find_taker("b", 10));
  for (std::size_t i = 0; i < 99; ++i) EXPECT_TRUE(desk_.find_taker("a", 10));
  EXPECT_FALSE(desk_.find_taker("a", 10)) << "no room";
  desk_.work_waits("a", 3);
  EXPECT_TRUE(asked_.empty()) << "no room for these either";
  desk_.free_room(taker->number);
  EXPECT_FALSE(desk_.find_taker("a", 10)) << "the three that wait go first";
  ASSERT_EQ(asked_.size(), 1u) << "and are asked for";
  TakenWork work;
  work.facts.topic = Topic("a");
  work.facts.token = "t1";
  std::vector<runtime::FarDesk::Given> put;
  put.push_back({taker->number, work});
  desk_.give(std::move(put));
  EXPECT_EQ(given.size(), 1u);
  EXPECT_EQ(desk_.out(), 1u);
}

TEST_F(DeskTest, a_take_gets_all_that_was_claimed_for_it) {
  std::optional<std::size_t> got;
  auto wish = of({"a"});
  wish.items_max = 5;
  ASSERT_TRUE(desk_.take(wish, 1h, [&](const auto& work) { got = work->size(); }));
  take_out()(std::vector<TakenWork>());
  const auto taker = desk_.find_taker("a", 10);
  ASSERT_TRUE(taker && desk_.find_taker("a", 10) && desk_.find_taker("a", 10));
  const auto give = [&](const std::string& token) {
    TakenWork work;
    work.facts.topic = Topic("a");
    work.facts.token = token;
    std::vector<runtime::FarDesk::Given> put;
    put.push_back({taker->number, work});
    desk_.give(std::move(put));
  };
  give("t1");
  EXPECT_FALSE(got) << "two are being committed";
  EXPECT_FALSE(desk_.find_taker("a", 10)) << "it is about to be answered";
  give("t2");
  desk_.free_room(taker->number);
  EXPECT_EQ(got, 2u);
  give("t3");
  EXPECT_EQ(released_, std::vector<std::string>{"t3"}) << "nobody waits for it any more";
}

}  // namespace
}  // namespace pawl::serve
