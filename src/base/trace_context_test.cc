#include "base/trace_context.h"

#include <gtest/gtest.h>

#include <set>

namespace pawl {
namespace {

constexpr std::string_view known = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(TraceContext, is_read_and_written_without_loss) {
  const auto trace = read_trace(known, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->traceparent(), known);
  EXPECT_TRUE(trace->sampled());
  EXPECT_EQ(read_trace(trace->text()), trace);
  EXPECT_EQ(trace->text(), std::string(known) + " rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
  EXPECT_EQ(read_trace(known)->text(), known);
  EXPECT_FALSE(read_trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")->sampled());
}

TEST(TraceContext, of_a_newer_version_keeps_what_this_one_knows) {
  const auto trace = read_trace("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-the-future-brings", "");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->traceparent(), known);
}

TEST(TraceContext, that_is_malformed_is_none) {
  for (const std::string_view text : {
           "",
           "00",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x",
           "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "00-00000000000000000000000000000000-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
           "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01",
           "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x",
           "00-0af7651916cd43dd8448eb211c8031 c-b7ad6b7169203331-01",
       })
    EXPECT_FALSE(read_trace(text, "")) << text;
}

TEST(TraceContext, a_state_that_no_header_may_have_is_dropped) {
  EXPECT_EQ(read_trace(known, "a=1\nb=2")->state, "");
  EXPECT_EQ(read_trace(known, std::string(513, 'a'))->state, "");
  EXPECT_EQ(read_trace(known, std::string(512, 'a'))->state.size(), 512u);
}

TEST(TraceContext, says_whether_its_spans_are_reported) {
  auto trace = *read_trace(known, "congo=1");
  EXPECT_FALSE(trace.reported());
  EXPECT_TRUE(trace.has_caller());
  trace.mark_reported(true);
  trace.mark_reported(false);
  EXPECT_EQ(trace.state, "pawl=job,congo=1");
  EXPECT_TRUE(read_trace(trace.text())->reported());
  auto own = own_trace(7);
  own.mark_reported(false);
  EXPECT_FALSE(read_trace(own.text())->has_caller());
  auto full = *read_trace(known, std::string(512, 'a'));
  full.mark_reported(true);
  EXPECT_EQ(full.state, "pawl=job");
}

TEST(TraceContext, spans_of_jobs_and_activities_differ) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t run = 1; run <= 100; ++run) {
    seen.insert(span_of_job(run));
    for (std::uint32_t activity = 0; activity < 100; ++activity) seen.insert(span_of_activity(run, activity));
  }
  EXPECT_EQ(seen.size(), 100u * 101u);
  EXPECT_TRUE(read_trace(own_trace(7).traceparent()));
  EXPECT_NE(own_trace(7).trace_text(), own_trace(8).trace_text());
}

}  // namespace
}  // namespace pawl
