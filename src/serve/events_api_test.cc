// Streams of events and of announcements.
#include "serve/limits.h"
#include "serve/test_site.h"

namespace pawl::serve {
namespace {

using namespace testing;

class EventsApiTest : public SiteTest {
 protected:
  std::string last_id(const std::string& written) {
    const std::size_t at = written.rfind("id: ");
    return at == std::string::npos ? "" : written.substr(at + 4, written.find('\n', at) - at - 4);
  }
};

TEST_F(EventsApiTest, a_stream_tells_of_its_job_and_of_no_other) {
  const auto stream = send("GET", "/v1/events?job=a");
  stream->written_with("event: hello");
  start("b");
  start("a");
  const std::string written = stream->written_with("activity_opened");
  EXPECT_NE(written.find("event: job_started"), std::string::npos);
  EXPECT_NE(written.find("\"job\":\"a\""), std::string::npos);
  EXPECT_EQ(written.find("\"job\":\"b\""), std::string::npos);
  stream->hang_up();
}

TEST_F(EventsApiTest, a_stream_tells_of_the_kinds_that_were_asked_for) {
  const auto stream = send("GET", "/v1/events?kind=job_closed,job_paused&kind=job_resumed");
  stream->written_with("event: hello");
  start("a");
  ask_object("POST", "/v1/jobs/a/interrupt", "", 200);
  const std::string written = stream->written_with("job_closed");
  EXPECT_NE(written.find("event: job_closed"), std::string::npos);
  EXPECT_EQ(written.find("activity_"), std::string::npos);
  EXPECT_EQ(written.find("job_started"), std::string::npos);
  EXPECT_EQ(text(ask_object("GET", "/v1/events?kind=nonsense", "", 400), "field"), "kind");
  stream->hang_up();
}

TEST_F(EventsApiTest, a_stream_that_comes_back_goes_on_behind_the_last_event) {
  const auto first = send("GET", "/v1/events");
  first->written_with("event: hello");
  start("a");
  const std::string id = last_id(first->written_with("\"activity\":\"greet\""));
  first->hang_up();
  start("b");
  const auto second = send("GET", "/v1/events", "", {{"host", "localhost"}, {"last-event-id", id}});
  const std::string written = second->written_with("\"job\":\"b\"");
  EXPECT_NE(written.find("\"job\":\"b\""), std::string::npos);
  EXPECT_EQ(written.find("\"job\":\"a\""), std::string::npos);
  EXPECT_EQ(written.find("event: reset"), std::string::npos);
  second->hang_up();
}

TEST_F(EventsApiTest, one_that_missed_something_is_told_so) {
  const auto stream = send("GET", "/v1/events?last_event_id=ffff-17");
  EXPECT_NE(stream->written_with("event: reset").find("event: reset"), std::string::npos);
  stream->hang_up();
}

TEST_F(EventsApiTest, streams_end_with_the_server) {
  const auto stream = send("GET", "/v1/events");
  stream->written_with("event: hello");
  site_->close();
  EXPECT_TRUE(stream->ended());
}

TEST(EventFeed, a_stream_that_is_slower_than_the_kept_events_is_reset_not_lost) {
  EventFeed feed("s");
  feed.follow({}, "", std::make_shared<FakeExchange>());  // events are kept for those who follow
  Event event;
  event.job = JobId("j");
  for (int i = 0; i < 10'000; ++i) feed.add(event);
  const auto stream = std::make_shared<FakeExchange>();
  feed.follow({}, "s-1", stream);
  const std::string written = stream->written_with("s-10000");
  EXPECT_NE(written.find("event: reset"), std::string::npos);
  EXPECT_NE(written.find("id: s-10000"), std::string::npos);
  feed.close();
  EXPECT_TRUE(stream->ended());
}

TEST(EventFeed, nothing_is_kept_while_nobody_follows_and_who_comes_back_is_told_so) {
  EventFeed feed("s");
  Event event;
  event.job = JobId("j");
  for (int i = 0; i < 3; ++i) feed.add(event);
  const auto stream = std::make_shared<FakeExchange>();
  feed.follow({}, "s-1", stream);
  feed.add(event);
  const std::string written = stream->written_with("id: s-4");
  EXPECT_NE(written.find("event: reset"), std::string::npos);
  for (const char* before : {"id: s-2\n", "id: s-3\n"}) EXPECT_EQ(written.find(before), std::string::npos) << before;
  feed.close();
}

TEST(EventFeed, an_output_that_no_stream_tells_is_not_kept) {
  EventFeed feed("s");
  feed.follow({}, "", std::make_shared<FakeExchange>());  // events are kept for those who follow
  Event event;
  event.job = JobId("large");
  event.output = Payload("\"" + std::string(limits::event_output_bytes_max, 'x') + "\"");
  // So many that they would push out all others, if their outputs were kept.
  for (std::size_t i = 0; i < limits::events_kept_bytes_max / limits::event_output_bytes_max + 100; ++i)
    feed.add(event);
  const auto stream = std::make_shared<FakeExchange>();
  feed.follow({}, "s-1", stream);
  event.output = Payload("\"small\"");
  feed.add(event);
  const std::string written = stream->written_with("small");
  EXPECT_EQ(written.find("event: reset"), std::string::npos);
  EXPECT_NE(written.find("\"output_left_out\":true"), std::string::npos);
  EXPECT_EQ(written.find("xxx"), std::string::npos);
  feed.close();
}

}  // namespace
}  // namespace pawl::serve
