#include "graph/report.h"

#include <boost/json.hpp>

#include "graph/test_support.h"

namespace pawl::graph {
namespace {

TEST(Report, shows_the_line_and_points_at_the_word) {
  const Checked checked = check_graph(
      "activities:\n  t: {type: trigger}\n  w:\n    type: worker\n    topci: pay\ntransitions: {t: "
      "[{to: w}]}\n");
  EXPECT_EQ(report_of(checked),
            "error[G102]: the key 'topic' is missing\n"
            "  --> app.yaml:8:9  app.graphs[0].activities.w\n"
            "   |\n"
            " 8 |         w:\n"
            "   |         ^\n"
            "\n"
            "error[G101]: there is no key 'topci' here\n"
            "  --> app.yaml:10:11  app.graphs[0].activities.w.topci\n"
            "    |\n"
            " 10 |           topci: pay\n"
            "    |           ^^^^^\n"
            "   = did you mean topic?\n"
            "\n"
            "2 errors, 0 warnings\n");
}

TEST(Report, says_ok_with_the_size_of_the_app) {
  EXPECT_EQ(report_of(check_graph("activities: {t: {type: trigger}}")), "ok test version 1: 1 graph, 1 activity\n");
}

TEST(Report, colours_only_when_asked) {
  const Checked checked = check_text("app: 5");
  EXPECT_EQ(report_text(checked, Colours::off).find('\x1b'), std::string::npos);
  EXPECT_NE(report_text(checked, Colours::on).find("\x1b[1;31m"), std::string::npos);
}

TEST(Report, control_characters_of_a_hostile_file_do_not_reach_the_terminal) {
  const Checked checked = check_text("app: {\"\\e[2J\": 1}");
  EXPECT_EQ(report_of(checked).find('\x1b'), std::string::npos);
}

TEST(Report, as_json_holds_the_same) {
  const auto json = boost::json::parse(report_json(check_graph("activities: {t: {type: triger}}")));
  EXPECT_EQ(json.at("ok"), false);
  EXPECT_EQ(json.at("left_out").to_number<int>(), 0);
  ASSERT_EQ(json.at("mistakes").as_array().size(), 1U);
  EXPECT_EQ(
      boost::json::serialize(json.at("mistakes").as_array().at(0)),
      R"({"code":"G106","severity":"error","file":"app.yaml","line":6,"column":30,"path":"app.graphs[0].activities.t.type","message":"there is no activity type 'triger'; there are trigger, worker, await, hook, signal, cycle, interrupt, join or map","suggestion":"trigger"})");
  EXPECT_EQ(boost::json::parse(report_json(check_graph("activities: {t: {type: trigger}}"))).at("ok"), true);
}

TEST(Report, near_words_are_suggested_and_far_ones_are_not) {
  const std::string_view words[] = {"topic", "timeout", "type"};
  EXPECT_EQ(nearest("topci", words), "topic");
  EXPECT_EQ(nearest("TOPIC", words), "topic");
  EXPECT_EQ(nearest("tiemout", words), "timeout");
  EXPECT_EQ(nearest("banana", words), "");
  EXPECT_EQ(nearest("x", words), "");
  EXPECT_EQ(nearest("", words), "");
}

TEST(Report, a_code_keeps_its_number_and_has_one_title) {
  EXPECT_EQ(id_of(Code::cannot_read), "G001");
  EXPECT_EQ(id_of(Code::unknown_key), "G101");
  EXPECT_EQ(id_of(Code::bad_hook), "G216");
  EXPECT_EQ(id_of(Code::bad_reference), "G305");
  EXPECT_EQ(id_of(Code::unknown_keyword), "G402");
  for (std::size_t i = 1; i < all_codes().size(); ++i) EXPECT_LT(all_codes()[i - 1].code, all_codes()[i].code);
}

}  // namespace
}  // namespace pawl::graph
