#include "serve/job_json.h"

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace pawl {

namespace {

namespace json = boost::json;

// The last run of the last lane: 16 bits of lane, 47 of sequence. A double would turn it into 9223372036854775808.
constexpr RunId last_run{(std::uint64_t{65'535} << 47) + ((std::uint64_t{1} << 47) - 1)};
constexpr const char* last_run_text = "9223372036854775807";
static_assert(last_run.raw() == static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));

JobDetail job_of(RunId run) {
  JobDetail detail;
  detail.job.id = JobId("j");
  detail.job.name_space = Namespace("default");
  detail.job.run = run;
  return detail;
}

std::string run_in(const std::string& text) { return std::string(json::parse(text).at("run").as_string()); }

// Wherever JSON names a run it is text, so that no digit of a large one is lost.
TEST(job_json, the_run_of_the_last_lane_is_text_in_every_document) {
  const JobDetail detail = job_of(last_run);
  EXPECT_EQ(run_in(job_json(detail.job)), last_run_text);
  EXPECT_EQ(run_in(job_json(detail, "1")), last_run_text);
  EXPECT_EQ(json::parse(jobs_json({detail.job})).at(0).at("run").as_string(), last_run_text);
  EXPECT_EQ(run_in(done_json(last_run)), last_run_text);
  Announcement said;
  said.run = last_run;
  EXPECT_EQ(run_in(announcement_json(said)), last_run_text);
}

TEST(job_json, so_are_the_runs_of_the_children_in_an_export) {
  JobDetail parent = job_of(RunId(1));
  parent.activities.emplace_back();
  parent.activities.back().child = "j2";
  const auto read_child = [](const std::string&, const std::string&) { return std::optional(job_of(last_run)); };
  const json::value all = json::parse(export_json(parent, read_child));
  EXPECT_EQ(all.at("run").as_string(), "1");
  EXPECT_EQ(all.at("children").at(0).at("run").as_string(), last_run_text);
}

TEST(payload_json, is_one_line_without_space_between_its_parts) {
  for (const auto& [given, shown] : std::vector<std::pair<std::string, std::string>>{
           {R"({"a":"b c","d":[1,2]})", R"({"a":"b c","d":[1,2]})"},
           {R"({"a": "b c"})", R"({"a":"b c"})"},
           {R"({"a" :1})", R"({"a":1})"},
           {"[1, 2 ]", "[1,2]"},
           {" {}", "{}"},
           {"{} ", "{}"},
           {"{\n\"a\":1}", R"({"a":1})"},
           {R"({"a":"x, y: z"})", R"({"a":"x, y: z"})"},
           {"no JSON", R"("no JSON")"},
           {"", "null"}})
    EXPECT_EQ(payload_json(Payload(given)), shown) << given;
}

}  // namespace

}  // namespace pawl
