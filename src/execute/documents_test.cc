#include "execute/documents.h"

#include <string>

#include "core/decide.h"
#include "execute/test_support.h"

namespace pawl::execute {
namespace {

// {"text":"xxx...","number":N} with this many bytes of text.
Payload document(std::size_t bytes, int number) {
  return Payload("{\"text\":\"" + std::string(bytes, 'x') + "\",\"number\":" + std::to_string(number) + "}");
}

constexpr const char* mapped = R"(activities:
  start: {type: trigger}
  each: {type: map, items: "{start.output.data.list}", join: end, collect: "{work.output.data.done}"}
  work:
    type: worker
    topic: {"@pipe": [["do.", "{start.output.data.number}"], ["{@string.concat}"]]}
    timeout: "{start.output.data.number}"
    input: {maps: {a: "{start.output.data.number}", b: "{start.output.data.missing}", item: "{each.output.data.item}"}}
  end: {type: join}
transitions:
  start: [{to: each}]
  each: [{to: work}]
  work: [{to: end}]
)";

TEST(Documents, are_parsed_once_however_many_steps_read_them) {
  const TestApp app = TestApp::of_graph(mapped);
  TestStep step(app);
  step.ran("start", ",0", document(200'000, 7)).ran("each", ",0,0", R"({"item":1})");
  const std::uint64_t before = documents_parsed();
  constexpr std::uint64_t items = 500;
  for (std::uint64_t i = 0; i < items; ++i) {
    ASSERT_EQ(text_of_result(app.program().input(step.sight("work", ",0,0,0"))), R"({"a":7,"item":1})");
    ASSERT_TRUE(app.program().topic(step.sight("work", ",0,0,0")));
    ASSERT_TRUE(app.program().timeout(step.sight("work", ",0,0,0")));
  }
  EXPECT_EQ(documents_parsed() - before, 1 + items) << "the large one once, the item's own each time";
}

TEST(Documents, a_list_of_items_and_what_they_refer_to_do_not_drive_each_other_out) {
  const TestApp app = TestApp::of_graph(mapped);
  TestStep step(app);
  step.ran("start", ",0", document(limits::payload_bytes_max - 100, 8)).ran("each", ",0,0", R"({"item":1})");
  std::string list = "[0";
  while (list.size() < limits::payload_bytes_max / 4) list += ",0";
  const Payload items(list + "]");
  const std::uint64_t before = documents_parsed();
  for (std::uint32_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(app.program().item(items, i));
    ASSERT_TRUE(app.program().topic(step.sight("work", ",0,0,0")));
  }
  EXPECT_EQ(documents_parsed() - before, 2u);
}

TEST(Documents, a_job_that_was_read_again_has_the_same_ones) {
  const std::uint64_t before = documents_parsed();
  EXPECT_EQ(document_of(document(5'000, 1)), document_of(document(5'000, 1)));
  EXPECT_NE(document_of(document(5'000, 2)), document_of(document(5'000, 3)));
  EXPECT_EQ(documents_parsed() - before, 3u);
}

TEST(Documents, only_so_many_bytes_are_kept) {
  constexpr std::size_t bytes = documents_bytes_max / 4;
  std::vector<std::weak_ptr<const boost::json::value>> made;
  for (int i = 0; i < 20; ++i) made.push_back(document_of(document(bytes, i)));
  const auto kept = std::count_if(made.begin(), made.end(), [](const auto& one) { return !one.expired(); });
  EXPECT_EQ(kept, 3) << "each is a little more than a quarter";
  EXPECT_FALSE(made.back().expired());
  for (std::size_t i = 0; i < 2 * documents_max; ++i) made.push_back(document_of(document(2'000, static_cast<int>(i))));
  EXPECT_LE(
      static_cast<std::size_t>(std::count_if(made.begin(), made.end(), [](const auto& one) { return !one.expired(); })),
      documents_max);
}

TEST(Documents, a_decision_over_several_of_the_largest_parses_each_once) {
  // A decision of forty steps that each refer to three payloads of the largest size parses each of them once, and keeps
  // no more than usual when it is over.
  std::string activities = R"(activities:
  start: {type: trigger}
  second: {type: hook, output: {maps: {text: "{start.output.data.text}", number: 2}}}
  third: {type: hook, output: {maps: {text: "{start.output.data.text}", number: 3}}}
)";
  std::string transitions = "transitions:\n  start: [{to: second}]\n  second: [{to: third}]\n  third: [";
  for (int i = 0; i < 40; ++i) {
    const std::string name = "work" + std::to_string(i);
    activities += "  " + name +
                  R"(: {type: worker, topic: do, input: {maps: {a: "{start.output.data.number}",)"
                  R"( b: "{second.output.data.number}", c: "{third.output.data.number}"}}})"
                  "\n";
    transitions += (i == 0 ? "{to: " : ", {to: ") + name + "}";
  }
  const TestApp app = TestApp::of_graph(activities + transitions + "]\n");
  const std::string text(limits::payload_bytes_max - 200, 'x');
  core::JobState state;
  state.job.run = RunId(42);
  const core::Delivery start{core::start_message(state.job.run, Payload(R"({"number":1,"text":")" + text + "\"}"))};
  const std::uint64_t before = documents_parsed();
  const core::Decision decision = core::decide(state, app.graphs[0], {&start, 1}, {});
  ASSERT_TRUE(decision.bundle);
  std::size_t asked = 0;
  for (const core::Write& write : decision.bundle->writes)
    if (const auto* put = std::get_if<core::PutWork>(&write)) {
      EXPECT_EQ(put->item.input.view(), R"({"a":1,"b":2,"c":3})");
      ++asked;
    }
  EXPECT_EQ(asked, 40u);
  EXPECT_EQ(documents_parsed() - before, 3u);
  // There is room for two of them, as outside a decision.
  const std::weak_ptr<const boost::json::value> other = document_of(document(limits::payload_bytes_max - 200, 4));
  document_of(document(limits::payload_bytes_max - 200, 5));
  EXPECT_FALSE(other.expired());
  document_of(document(limits::payload_bytes_max - 200, 6));
  EXPECT_TRUE(other.expired());
}

TEST(Documents, what_nobody_asks_for_goes) {
  const std::weak_ptr<const boost::json::value> large = document_of(document(1'000'000, 1));
  ASSERT_FALSE(large.expired());
  for (std::uint64_t i = 0; i < 2 * document_unused_max; ++i) document_of(Payload("{}"));
  EXPECT_TRUE(large.expired());
}

}  // namespace
}  // namespace pawl::execute
