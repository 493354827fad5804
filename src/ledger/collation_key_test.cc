#include "ledger/collation_key.h"

#include "ledger/testing.h"

#include <string>

namespace pawl::ledger {
namespace {

using State = CollationKey::State;
using States = CollationKey::States;

CollationKey key_of(const States& states) { return CollationKey::from(states).value(); }
CollationKey parsed(std::string_view text) { return CollationKey::parse(text).value(); }

// A flow: quick => brown => fox => (jumped | (slept => ate)).
struct Fox {
  State quick, brown, fox, jumped, slept, ate;
};

CollationKey key_of(const Fox& is) {
  return key_of(States{{"quick", is.quick},
                       {"brown", is.brown},
                       {"fox", is.fox},
                       {"jumped", is.jumped},
                       {"slept", is.slept},
                       {"ate", is.ate}});
}

TEST(collation_example, after_the_trigger_quick_stands_fifth) {
  const auto key = key_of(Fox{.quick = State::completed,
                              .brown = State::pending,
                              .fox = State::pending,
                              .jumped = State::pending,
                              .slept = State::pending,
                              .ate = State::pending});
  EXPECT_EQ(key.text(), "999969000000000");
  EXPECT_FALSE(key.is_complete());
}

TEST(collation_example, example_1_fox_is_started) {
  const auto key = key_of(Fox{.quick = State::completed,
                              .brown = State::completed,
                              .fox = State::started,
                              .jumped = State::pending,
                              .slept = State::pending,
                              .ate = State::pending});
  EXPECT_EQ(key.text(), "968969000000000");
  EXPECT_FALSE(key.is_complete());
}

TEST(collation_example, example_2_jumped_is_started_and_the_other_branch_skipped) {
  const auto key = key_of(Fox{.quick = State::completed,
                              .brown = State::completed,
                              .fox = State::completed,
                              .jumped = State::started,
                              .slept = State::skipped,
                              .ate = State::skipped});
  EXPECT_EQ(key.text(), "366863000000000");
  EXPECT_FALSE(key.is_complete());
}

TEST(collation_example, example_3_is_complete) {
  const auto key = key_of(Fox{.quick = State::completed,
                              .brown = State::completed,
                              .fox = State::completed,
                              .jumped = State::completed,
                              .slept = State::skipped,
                              .ate = State::skipped});
  EXPECT_EQ(key.text(), "366663000000000");
  EXPECT_TRUE(key.is_complete());
}

TEST(collation_example, example_4_waits_for_a_release) {
  const auto key = key_of(Fox{.quick = State::completed,
                              .brown = State::completed,
                              .fox = State::completed,
                              .jumped = State::skipped,
                              .slept = State::completed,
                              .ate = State::paused});
  EXPECT_EQ(key.text(), "566366000000000");
  EXPECT_FALSE(key.is_complete());
}

TEST(collation_example, example_5_is_complete_once_released) {
  const auto key = key_of(Fox{.quick = State::completed,
                              .brown = State::completed,
                              .fox = State::completed,
                              .jumped = State::skipped,
                              .slept = State::completed,
                              .ate = State::released});
  EXPECT_EQ(key.text(), "466366000000000");
  EXPECT_TRUE(key.is_complete());
  EXPECT_FALSE(key.has(State::errored));
}

TEST(collation_example, the_error_example_is_complete_and_errored) {
  const auto key = key_of(Fox{.quick = State::completed,
                              .brown = State::completed,
                              .fox = State::completed,
                              .jumped = State::skipped,
                              .slept = State::completed,
                              .ate = State::errored});
  EXPECT_EQ(key.text(), "766366000000000");
  EXPECT_TRUE(key.is_complete());
  EXPECT_TRUE(key.has(State::errored));
}

TEST(collation_example, two_jobs_compose_into_99996146636629) {
  const auto a = parsed("999969000000000");
  const auto b = parsed("466366000000000");
  const auto both = a.with_awaited(4, b).value();  // the fifth activity
  EXPECT_EQ(both.text(), "99996146636629");
  // And back. Only B is complete.
  const auto read = parsed("99996146636629");
  EXPECT_EQ(read, both);
  EXPECT_EQ(read.own_digits(), "999969");
  EXPECT_EQ(read.awaited(4).value(), b);
  EXPECT_EQ(read.awaited(4)->text(), "466366000000000");
  EXPECT_FALSE(read.awaited(3).has_value());
  EXPECT_EQ(read.state(4), State::completed);
  EXPECT_EQ(read.state(5), State::pending);
  EXPECT_TRUE(read.awaited(4)->is_complete());
  EXPECT_FALSE(read.is_complete());
}

TEST(collation_key, every_digit_is_pinned_to_its_name) {
  const std::pair<char, std::string_view> table[] = {{'9', "pending"},   {'8', "started"}, {'7', "errored"},
                                                     {'6', "completed"}, {'5', "paused"},  {'4', "released"},
                                                     {'3', "skipped"}};
  for (const auto& [digit, name] : table) {
    const auto state = find_state(name);
    ASSERT_TRUE(state.has_value()) << name;
    EXPECT_EQ(digit_of(*state), digit);
    EXPECT_EQ(name_of(*state), name);
  }
  EXPECT_FALSE(find_state("done").has_value());
}

TEST(collation_key, only_pending_started_and_paused_keep_a_job_going) {
  for (const State state : {State::skipped, State::released, State::completed, State::errored})
    EXPECT_TRUE(key_of({{"only", state}}).is_complete());
  for (const State state : {State::pending, State::started, State::paused})
    EXPECT_FALSE(key_of({{"only", state}}).is_complete());
}

TEST(collation_key, is_padded_to_fifteen_and_grows_beyond) {
  States states;
  for (char id = 'a'; id < 'a' + 14; ++id) states[std::string(1, id)] = State::completed;
  EXPECT_EQ(key_of(states).text(), "666666666666660");
  states["o"] = State::started;
  EXPECT_EQ(key_of(states).text(), "666666666666668");
  states["p"] = State::pending;
  EXPECT_EQ(key_of(states).text(), "6666666666666689");
  EXPECT_EQ(parsed("6666666666666689").own_digits().size(), 16U);
}

TEST(collation_key, parse_reads_one_spelling_only) {
  for (const char* text : {"", "0", "000000000000000", "999969", "9999690000000000", "99996900000000",
                           "999069000000000", "12", "1662", "612", "6196", "62", "6192192", "61962192",
                           "9999614663662900", "99996146636629 ", "x", "666666666666666x", "99996146636629000"})
    EXPECT_EQ(outcome(CollationKey::parse(text)), "invalid") << text;
  EXPECT_EQ(outcome(CollationKey::parse("6192")), "ok");
  EXPECT_EQ(outcome(CollationKey::parse("6666666666666666")), "ok");
}

TEST(collation_key, awaited_jobs_nest_and_come_apart_again) {
  const auto inner = key_of({{"x", State::completed}, {"y", State::errored}});
  const auto middle = key_of({{"m", State::completed}}).with_awaited(0, inner).value();
  const auto outer =
      key_of({{"a", State::started}, {"b", State::pending}}).with_awaited(1, inner)->with_awaited(0, middle).value();
  EXPECT_EQ(outer.text(), "8161672291672");
  EXPECT_EQ(outer.awaited(0).value(), middle);
  EXPECT_EQ(outer.awaited(0)->awaited(0).value(), inner);
  EXPECT_EQ(outer.awaited(1).value(), inner);
  EXPECT_EQ(parsed(outer.text()), outer);
  EXPECT_FALSE(outer.has(State::errored));  // only the job's own activities count
}

TEST(collation_key, an_activity_awaits_one_job_at_a_time) {
  const auto job = key_of({{"x", State::completed}});
  const auto one = key_of({{"a", State::started}}).with_awaited(0, job).value();
  EXPECT_EQ(outcome(one.with_awaited(0, job)), "already_exists");
  EXPECT_EQ(outcome(one.with_awaited(1, job)), "not_found");
}

TEST(collation_key, has_named_limits) {
  const std::string longest(CollationKey::activities_max, '6');
  EXPECT_EQ(outcome(CollationKey::parse(longest)), "ok");
  EXPECT_EQ(outcome(CollationKey::parse(longest + "6")), "over_limit");
  EXPECT_EQ(outcome(CollationKey::parse("61" + longest + "62")), "over_limit");
  EXPECT_EQ(outcome(CollationKey::parse(std::string(CollationKey::digits_max + 1, '6'))), "over_limit");
  const auto leaf = key_of({{"x", State::completed}});
  CollationKey key = leaf;
  for (std::size_t depth = 0; depth < CollationKey::awaited_depth_max; ++depth) key = leaf.with_awaited(0, key).value();
  EXPECT_EQ(parsed(key.text()), key);
  EXPECT_EQ(outcome(leaf.with_awaited(0, key)), "over_limit");
  EXPECT_EQ(outcome(CollationKey::from({})), "invalid");
}

TEST(activity_order, sorts_the_ids_of_the_seed) {
  const auto order = ActivityOrder::of({"quick", "brown", "fox", "jumped", "slept", "ate"}).value();
  EXPECT_EQ(order.ids(), (std::vector<std::string>{"ate", "brown", "fox", "jumped", "quick", "slept"}));
  EXPECT_EQ(order.find_position("quick"), 4U);
  EXPECT_FALSE(order.find_position("slow").has_value());
  EXPECT_FALSE(order.find_position("zzz").has_value());
}

TEST(activity_order, refuses_ids_that_give_no_order) {
  EXPECT_EQ(outcome(ActivityOrder::of({})), "invalid");
  EXPECT_EQ(outcome(ActivityOrder::of({"a", ""})), "invalid");
  EXPECT_EQ(outcome(ActivityOrder::of({"a", "b", "a"})), "invalid");
  std::vector<std::string> many;
  for (std::size_t i = 0; i <= ActivityOrder::activities_max; ++i) many.push_back(std::to_string(i));
  EXPECT_EQ(outcome(ActivityOrder::of(many)), "over_limit");
}

}  // namespace
}  // namespace pawl::ledger
