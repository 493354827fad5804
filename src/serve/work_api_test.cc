// The worker protocol, without sockets.
#include <algorithm>
#include <sstream>

#include "serve/limits.h"
#include "serve/test_site.h"

namespace pawl::serve {
namespace {

using namespace testing;

class WorkApiTest : public SiteTest {
 protected:
  std::string status_of(const std::string& id) {
    return text(ask_object("GET", "/v1/jobs/" + id + "/result?timeout=10s", "", 200), "status");
  }
  std::shared_ptr<FakeExchange> take_later(const std::string& wait = "10s") {
    return send("POST", "/v1/work/take", R"({"topics":["greet"],"worker":"w","max":5,"wait":")" + wait + "\"}");
  }
};

TEST_F(WorkApiTest, work_is_taken_and_completed) {
  start("a");
  const json::array work = take();
  ASSERT_EQ(work.size(), 1u);
  EXPECT_EQ(text(work[0], "job"), "a");
  EXPECT_EQ(work[0].at("input").at("name").as_string(), "Ann");
  EXPECT_EQ(work[0].at("attempt").as_int64(), 1);
  const json::array topics = ask_object("GET", "/v1/topics", "", 200).at("topics").as_array();
  EXPECT_NEAR(topics.at(0).at("rate").as_double(), 1 / 60., 1e-9);
  ask_object("POST", "/v1/work/" + text(work[0], "token") + "/complete", R"({"text":"hello"})", 200);
  EXPECT_EQ(status_of("a"), "completed");
  EXPECT_EQ(ask_object("GET", "/v1/jobs/a", "", 200).at("data").at("greeting").as_string(), "hello");
}

TEST_F(WorkApiTest, a_second_answer_changes_nothing) {
  start("a");
  const std::string token = text(take()[0], "token");
  ask_object("POST", "/v1/work/" + token + "/complete", R"({"text":"first"})", 200);
  EXPECT_EQ(status_of("a"), "completed");
  // The same word once more, as after a lost response: it counted.
  ask_object("POST", "/v1/work/" + token + "/complete", R"({"text":"again"})", 200);
  for (const char* word : {"fail", "heartbeat", "release", "pending?number=1"})
    EXPECT_EQ(text(ask_object("POST", "/v1/work/" + token + "/" + word, R"({"text":"late"})", 409), "code"),
              "stale_token")
        << word;
  EXPECT_EQ(ask_object("GET", "/v1/jobs/a", "", 200).at("data").at("greeting").as_string(), "first");
  EXPECT_EQ(text(ask_object("POST", "/v1/work/nonsense/complete", "{}", 400), "code"), "invalid");
}

TEST_F(WorkApiTest, a_worker_that_waits_is_woken_by_a_new_job) {
  const auto waiting = take_later();
  EXPECT_FALSE(waiting->answer(50ms));
  const auto begin = std::chrono::steady_clock::now();
  start("a");
  const auto response = waiting->answer();
  ASSERT_TRUE(response);
  EXPECT_EQ(json::parse(response->body).at("work").as_array().size(), 1u);
  // By the event, not by the look that comes every second.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 800ms);
}

TEST_F(WorkApiTest, a_wait_ends_with_nothing) {
  const auto response = take_later("100ms")->answer();
  ASSERT_TRUE(response);
  EXPECT_TRUE(json::parse(response->body).at("work").as_array().empty());
}

TEST_F(WorkApiTest, each_attempt_goes_to_one_worker_only) {
  std::vector<std::shared_ptr<FakeExchange>> waiting;
  for (int i = 0; i < 8; ++i) waiting.push_back(take_later());
  for (int i = 0; i < 20; ++i) start("j" + std::to_string(i));
  std::set<std::string> tokens;
  std::size_t count = 0;
  const auto note = [&](const json::array& work) {
    for (const json::value& one : work) tokens.insert(text(one, "token"));
    count += work.size();
  };
  for (const auto& one : waiting) {
    const auto response = one->answer();
    ASSERT_TRUE(response);
    note(json::parse(response->body).at("work").as_array());
  }
  while (count < 20) {
    const json::array more = take(",\"max\":100");
    ASSERT_FALSE(more.empty()) << count;
    note(more);
  }
  EXPECT_EQ(count, 20u);
  EXPECT_EQ(tokens.size(), 20u);
}

TEST_F(WorkApiTest, a_failed_attempt_is_handed_out_again_under_the_same_key) {
  start("a");
  const json::array first = take();
  ask_object("POST", "/v1/work/" + text(first[0], "token") + "/fail?code=503", R"({"message":"away"})", 200);
  const json::array second = take();
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].at("attempt").as_int64(), 2);
  EXPECT_EQ(text(second[0], "key"), text(first[0], "key"));
  EXPECT_NE(text(second[0], "token"), text(first[0], "token"));
  ask_object("POST", "/v1/work/" + text(second[0], "token") + "/fail?retryable=false&code=402", R"({"message":"no"})",
             200);
  EXPECT_EQ(status_of("a"), "failed");
}

TEST_F(WorkApiTest, what_is_released_or_whose_lease_is_over_is_for_another) {
  start("a");
  const std::string first = text(take()[0], "token");
  ask_object("POST", "/v1/work/" + first + "/release", "", 200);
  const json::array second = take(R"(,"lease":"1s")");
  ASSERT_EQ(second.size(), 1u);
  const json::array third = take();  // waits until the lease is over
  ASSERT_EQ(third.size(), 1u);
  EXPECT_EQ(text(ask_object("POST", "/v1/work/" + text(second[0], "token") + "/complete", "{}", 409), "code"),
            "stale_token");
  ask_object("POST", "/v1/work/" + text(third[0], "token") + "/complete", R"({"text":"third"})", 200);
  EXPECT_EQ(status_of("a"), "completed");
  EXPECT_EQ(ask_object("GET", "/v1/jobs/a", "", 200).at("data").at("greeting").as_string(), "third");
}

TEST_F(WorkApiTest, a_heartbeat_keeps_the_lease_and_its_progress_reaches_the_next_attempt) {
  start("a");
  const std::string token = text(take(R"(,"lease":"1s")")[0], "token");
  ask_object("POST", "/v1/work/" + token + "/heartbeat?lease=1h", R"({"page":7})", 200);
  EXPECT_TRUE(json::parse(take_later("1500ms")->answer()->body).at("work").as_array().empty());
  ask_object("POST", "/v1/work/" + token + "/release", "", 200);
  EXPECT_EQ(take()[0].at("progress").at("page").as_int64(), 7);
}

TEST_F(WorkApiTest, several_answers_go_in_one_request_and_one_that_is_wrong_fails_no_other) {
  start("a");
  start("b");
  json::array work = take(",\"max\":2");
  while (work.size() < 2) work.push_back(take()[0]);
  const std::string a = text(work[0], "token");
  const std::string b = text(work[1], "token");
  const json::object answered = ask_object("POST", "/v1/work/answers",
                                           R"({"answers":[{"token":")" + a + R"(","do":"complete","data":{"text":"1"}},
    {"token":")" + a + R"(","do":"heartbeat"},{"token":")" +
                                               b + R"(","do":"complete","data":{"text":"2"}}],
    "take":{"topics":["greet"],"wait":"0s"}})",
                                           200);
  const json::array& results = answered.at("results").as_array();
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(results[0].at("ok").as_bool());
  EXPECT_TRUE(results[2].at("ok").as_bool());
  EXPECT_TRUE(answered.at("work").as_array().empty());
  EXPECT_EQ(status_of("a"), "completed");
  EXPECT_EQ(status_of("b"), "completed");
}

TEST_F(WorkApiTest, an_answer_that_cannot_be_read_fails_no_other) {
  start("a");
  const std::string a = text(take()[0], "token");
  const json::object answered = ask_object("POST", "/v1/work/answers",
                                           R"({"answers":[{"token":"x","do":"dance"},7,{"do":"complete"},
    {"token":")" + a + R"(","do":"complete","data":{"text":"1"}},{"token":"nonsense"}]})",
                                           200);
  const json::array& results = answered.at("results").as_array();
  ASSERT_EQ(results.size(), 5u);
  const auto field = [&](std::size_t i) { return text(results[i].at("problem"), "field"); };
  EXPECT_EQ(field(0), "answers[0].do");
  EXPECT_EQ(field(1), "answers[1]");
  EXPECT_EQ(field(2), "answers[2].token");
  EXPECT_TRUE(results[3].at("ok").as_bool());
  EXPECT_EQ(text(results[4].at("problem"), "code"), "invalid");
  EXPECT_EQ(status_of("a"), "completed");
}

TEST_F(WorkApiTest, large_inputs_pass_a_stream_one_after_the_other_and_a_take_has_a_limit_of_bytes) {
  const std::string large(3u << 20, 'x');
  for (const char* id : {"a", "b", "c", "d"})
    ask_object("POST", "/v1/jobs", R"({"graph":"hello.said","input":{"name":")" + large + R"("},"id":")" + id + "\"}",
               201);
  std::size_t jobs = take(R"(,"max":4)").size();
  EXPECT_GE(jobs, 1u);
  EXPECT_LE(jobs * large.size(), limits::take_bytes_max);
  const auto stream = send("POST", "/v1/work/stream", R"({"topics":["greet"],"worker":"s","concurrency":4})");
  ASSERT_TRUE(stream->answer());
  EXPECT_EQ(stream->answer()->status, 200);
  const auto lines = [&] {
    const std::string written = stream->written_with("never", 50ms);
    return static_cast<std::size_t>(std::count(written.begin(), written.end(), '\n'));
  };
  for (int i = 0; i < 200 && lines() + jobs < 4; ++i) {
  }
  EXPECT_EQ(lines() + jobs, 4u);
  stream->hang_up();
}

TEST_F(WorkApiTest, a_stream_whose_client_reads_nothing_gets_no_more_work) {
  const auto stream = send("POST", "/v1/work/stream", R"({"topics":["greet"],"worker":"s","concurrency":100})");
  ASSERT_TRUE(stream->answer());
  stream->stop_reading();
  const std::string large(1u << 20, 'x');
  for (int i = 0; i < 6; ++i)
    ask_object("POST", "/v1/jobs",
               R"({"graph":"hello.said","input":{"name":")" + large + R"("},"id":")" + std::to_string(i) + "\"}", 201);
  std::this_thread::sleep_for(1500ms);  // a look later, too
  const std::size_t first = stream->written_with("never", 10ms).size();
  EXPECT_LT(first, 2u << 20);
  // Somebody who reads gets the others.
  EXPECT_GE(take(R"(,"max":6)").size(), 1u);
  stream->read_again();
  for (int i = 0; i < 200 && stream->written_with("never", 10ms).size() == first; ++i) {
  }
  EXPECT_GT(stream->written_with("never", 10ms).size(), first);
  stream->hang_up();
}

TEST_F(WorkApiTest, streams_of_work_end_with_the_server_and_then_are_refused) {
  const auto stream = send("POST", "/v1/work/stream", R"({"topics":["greet"],"worker":"s"})");
  ASSERT_TRUE(stream->answer());
  site_->desk.close();
  EXPECT_TRUE(stream->ended());
  EXPECT_EQ(site_->work_streams, 0u);
  EXPECT_EQ(ask("POST", "/v1/work/stream", R"({"topics":["greet"],"worker":"s"})").status, 503);
}

TEST_F(WorkApiTest, work_for_a_client_that_hung_up_is_for_another_at_once) {
  const auto gone = take_later();
  EXPECT_FALSE(gone->answer(20ms));
  gone->hang_up();
  start("a");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(take().size(), 1u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);  // not after its lease of 30 s
}

TEST_F(WorkApiTest, a_stream_hands_out_no_more_than_its_concurrency) {
  const auto stream = send("POST", "/v1/work/stream", R"({"topics":["greet"],"worker":"s","concurrency":2})");
  ASSERT_TRUE(stream->answer());
  for (int i = 0; i < 4; ++i) start("j" + std::to_string(i));
  const auto lines = [&](std::size_t count) {
    std::string written;
    for (int tries = 0; tries < 200; ++tries) {
      written = stream->written_with("\n");
      if (static_cast<std::size_t>(std::count(written.begin(), written.end(), '\n')) >= count) break;
      std::this_thread::sleep_for(10ms);
    }
    std::vector<json::value> all;
    std::istringstream in(written);
    for (std::string line; std::getline(in, line);)
      if (!line.empty()) all.push_back(json::parse(line));
    return all;
  };
  EXPECT_EQ(lines(2).size(), 2u);
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(lines(2).size(), 2u) << "more than two are out";
  ask_object("POST", "/v1/work/" + text(lines(2)[0], "token") + "/complete", R"({"text":"x"})", 200);
  EXPECT_EQ(lines(3).size(), 3u);
  stream->hang_up();
}

TEST_F(WorkApiTest, a_stream_with_a_name_is_ended_by_a_request_behind_what_was_written) {
  const std::string open = R"({"topics":["greet"],"worker":"s","concurrency":3,"stream":"mine"})";
  const auto stream = send("POST", "/v1/work/stream", open);
  ASSERT_TRUE(stream->answer());
  EXPECT_EQ(ask("POST", "/v1/work/stream", open).status, 409);
  start("a");
  EXPECT_NE(stream->written_with("\"job\":\"a\"").find("\"job\":\"a\""), std::string::npos);
  EXPECT_EQ(text(ask_object("POST", "/v1/work/stream/end", R"({"stream":"another"})", 404), "code"), "not_found");
  EXPECT_FALSE(stream->ended());
  ask_object("POST", "/v1/work/stream/end", R"({"stream":"mine"})", 200);
  EXPECT_TRUE(stream->ended());
  EXPECT_EQ(site_->work_streams, 0u);
  ask_object("POST", "/v1/work/stream/end", R"({"stream":"mine"})", 404);
  // What comes now is for others, and so is what its reader gives back.
  start("b");
  EXPECT_EQ(text(take()[0], "job"), "b");
  const json::value line = json::parse(stream->written_with("\n").substr(0, stream->written_with("\n").find('\n')));
  ask_object("POST", "/v1/work/" + text(line, "token") + "/release", "", 200);
  EXPECT_EQ(text(take()[0], "job"), "a");
  EXPECT_EQ(stream->written_with("\"job\":\"b\"", 50ms).find("\"job\":\"b\""), std::string::npos);
}

TEST_F(WorkApiTest, an_interim_answer_counts_once_under_its_number) {
  start("a");
  const std::string token = text(take()[0], "token");
  const auto pending = [&] {
    ask_object("POST", "/v1/work/" + token + "/pending?number=1", R"({"text":"so far"})", 200);
  };
  pending();
  pending();
  EXPECT_EQ(text(ask_object("POST", "/v1/work/" + token + "/pending", "{}", 400), "field"), "number");
  ask_object("POST", "/v1/work/" + token + "/complete", R"({"text":"done"})", 200);
  EXPECT_EQ(status_of("a"), "completed");
}

TEST_F(WorkApiTest, a_paused_topic_hands_out_nothing_and_workers_are_listed) {
  ask_object("POST", "/v1/topics/greet/pause", "", 200);
  start("a");
  const auto waiting = take_later();
  EXPECT_FALSE(waiting->answer(1200ms));
  const json::array topics = ask_object("GET", "/v1/topics", "", 200).at("topics").as_array();
  ASSERT_EQ(topics.size(), 1u);
  EXPECT_TRUE(topics[0].at("paused").as_bool());
  EXPECT_EQ(topics[0].at("waiting").as_int64(), 1);
  ask_object("POST", "/v1/topics/greet/resume", "", 200);
  const auto response = waiting->answer();
  ASSERT_TRUE(response);
  EXPECT_EQ(json::parse(response->body).at("work").as_array().size(), 1u);
  const json::array workers = ask_object("GET", "/v1/workers", "", 200).at("workers").as_array();
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_EQ(workers[0].at("out").as_int64(), 1);
}

TEST_F(WorkApiTest, a_server_that_stops_answers_who_waits) {
  const auto waiting = take_later();
  EXPECT_FALSE(waiting->answer(20ms));
  site_->close();
  const auto response = waiting->answer();
  ASSERT_TRUE(response);
  EXPECT_TRUE(json::parse(response->body).at("work").as_array().empty());
}

}  // namespace
}  // namespace pawl::serve
