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
  HandoutDesk desk_{[this](const runtime::TakeRequest&, Done done) { asked_.push_back(std::move(done)); },
                    [](const std::string&) {}, timers_};
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
  desk_.wake("a");
  EXPECT_EQ(asked_.size(), 1u) << "whoever waits for it is woken";
}

}  // namespace
}  // namespace pawl::serve
