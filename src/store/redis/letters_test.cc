// Collation duplex on a server without scripts: the lettered sequence of one worker activity, by plain commands.
#include "store/redis/bench_test.h"

namespace pawl::store::redis {

namespace {

using std::chrono::seconds;

class RedisLetters : public OwnStore {
 protected:
  void SetUp() override {
    Options options;
    options.accept_weaker = true;
    use(server_.url(), options);
    server_.ask({"ACL", "SETUSER", "default", "-@scripting"});
    server_.ask({"CONFIG", "RESETSTAT"});
  }
  DuplexOutcome step(const DuplexOperation& operation) {
    auto outcome = store_->duplex().commit_one(operation);
    if (outcome) return std::move(*outcome);
    ADD_FAILURE() << to_string(outcome.error());
    return {};
  }
  std::vector<ClaimedMessage> take(const std::string& topic, std::uint64_t claim) {
    return step(Dequeue{lane_, Topic(topic), 10, ClaimId(claim), core::Epoch(1), seconds(30)}).take_handed().messages;
  }
  static Place place(std::uint32_t node) { return {node, *ledger::Dimensions::parse(node == 0 ? ",0" : ",0,0")}; }

  TestServer server_;
};

TEST_F(RedisLetters, a_worker_activity_runs_to_its_end_without_a_script) {
  const StartDuplex start{Namespace("n"), JobId("job"), lane_, {GraphName("g"), 1, 7}, "in", store_->now()};
  const RunId run = step(start).run();  // A
  const auto guid = [](std::uint64_t number) { return core::Guid{number, 1}; };
  const core::Guid start_guid = take("", 1).at(0).message.guid;
  EXPECT_EQ(step(SetCell{run, place(0), 888000001000001, {}}).value(), 888000001000001);  // B
  EXPECT_FALSE(step(OpenAddress{run, place(1)}).none_left());
  EXPECT_EQ(step(SetCell{run, place(1), 999000000000000, {}}).value(), 999000000000000);  // E
  step(Enqueue{{run, guid(1), stream::Transition{place(1), "data"}}});                    // C
  EXPECT_EQ(step(Ack{run, start_guid, ClaimId(1)}).kind, OutcomeKind::committed);

  ASSERT_EQ(take("", 2).size(), 1u);                                                               // a
  EXPECT_EQ(step(AddToCell{run, place(1), -100000000000000, guid(11)}).value(), 899000000000000);  // c
  step(Enqueue{{run, guid(2), stream::Request{place(1), Topic("work"), "data"}}});                 // d
  EXPECT_EQ(step(AddToCell{run, place(1), -10000000000000, guid(12)}).value(), 889000000000000);   // e
  EXPECT_EQ(step(Ack{run, guid(1), ClaimId(2)}).kind, OutcomeKind::committed);                     // f

  ASSERT_EQ(take("work", 3).size(), 1u);                                                              // g
  EXPECT_EQ((*store_->duplex().view(run, place(1)))->cell->value, 889000000000000);                   // h
  step(Enqueue{{run, guid(3), stream::Reply{place(1), core::ReplyStatus::success, 200, 0, "out"}}});  // j
  EXPECT_EQ(step(Ack{run, guid(2), ClaimId(3)}).kind, OutcomeKind::committed);                        // k

  ASSERT_EQ(take("", 4).size(), 1u);                                                      // l
  EXPECT_EQ(step(AddToCell{run, place(1), 1000000, guid(13)}).value(), 889000001000000);  // m
  EXPECT_EQ(step(NameCloser{run, place(1), guid(3), core::ActivityStatus::completed, 200, {}, "out"}).kind,
            OutcomeKind::committed);
  EXPECT_EQ(step(AddToCell{run, place(1), 1 - 1000000000000, guid(14)}).value(), 888000001000001);  // o and p
  EXPECT_TRUE(step(CloseAddress{run, place(1)}).none_left());
  step(Enqueue{{run, guid(4), stream::Cleanup{}}});                             // r
  EXPECT_EQ(step(Ack{run, guid(3), ClaimId(4)}).kind, OutcomeKind::committed);  // s

  ASSERT_EQ(take("", 5).size(), 1u);
  EXPECT_EQ(step(EndDuplex{run, core::JobStatus::completed, "result", "", store_->now(), guid(4)}).kind,
            OutcomeKind::committed);
  EXPECT_EQ(step(Ack{run, guid(4), ClaimId(5)}).kind, OutcomeKind::committed);
  const DuplexJob job = **store_->duplex().read(run);
  EXPECT_EQ(job.job.status, core::JobStatus::completed);
  EXPECT_TRUE(job.stream.empty());

  const std::string stats = server_.ask({"INFO", "commandstats"});
  for (const char* used : {"hsetnx", "hincrby", "xadd", "xclaim", "xack", "xdel", "sadd", "smove", "multi"})
    EXPECT_NE(stats.find(format("cmdstat_{}:", used)), std::string::npos) << used;
  EXPECT_EQ(stats.find("cmdstat_eval"), std::string::npos);
  EXPECT_EQ(server_.ask({"KEYS", format("*:told:{}", run.raw())}), "") << "names go with the job's end";
  EXPECT_EQ(server_.ask({"KEYS", format("*:marks:{}", run.raw())}), "");
}

TEST_F(RedisLetters, the_group_shows_who_has_a_message_and_forgets_claims_that_are_done) {
  const StartDuplex start{Namespace("n"), JobId("job"), lane_, {GraphName("g"), 1, 7}, "in", store_->now()};
  const RunId run = step(start).run();
  const std::string stream = format("pawl:{{{}}}:stream:%", lane_.raw());
  const core::Guid guid = take("", 41).at(0).message.guid;
  EXPECT_NE(server_.ask({"XPENDING", stream, "engines", "-", "+", "10"}).find("41"), std::string::npos);
  EXPECT_NE(server_.ask({"XINFO", "CONSUMERS", stream, "engines"}).find("41"), std::string::npos);
  step(Ack{run, guid, ClaimId(41)});
  EXPECT_EQ(server_.ask({"XPENDING", stream, "engines", "-", "+", "10"}), "");
  EXPECT_EQ(server_.ask({"XINFO", "CONSUMERS", stream, "engines"}), "");
}

// The plain commands make the same checks for the lane as the script.
TEST_F(RedisLetters, a_server_that_was_emptied_or_set_back_is_noticed_and_its_other_lanes_go_on) {
  const StartDuplex here{Namespace("n"), JobId("a"), lane_, {GraphName("g"), 1, 7}, "in", store_->now()};
  const StartDuplex there{Namespace("n"),         JobId("b"), core::LaneId(lane_.raw() + 1),
                          {GraphName("g"), 1, 7}, "in",       store_->now()};
  const RunId run = step(here).run();
  step(there);
  const std::string lane = format("pawl:{{{}}}:lane", lane_.raw());
  const std::string commits = server_.ask({"HGET", lane, "commits"});
  server_.ask({"HINCRBY", lane, "commits", "-1"});  // a copy that lacks the last commit
  const std::vector<DuplexOperation> both = {SetCell{run, place(0), 888000001000001, {}}, there};
  const auto outcomes = store_->duplex().commit(both);
  ASSERT_TRUE(outcomes) << to_string(outcomes.error());
  EXPECT_EQ((*outcomes)[0].kind, OutcomeKind::outcome_unknown);
  EXPECT_NE((*outcomes)[0].reason.find("older state"), std::string::npos) << (*outcomes)[0].reason;
  EXPECT_EQ((*outcomes)[1].kind, OutcomeKind::exists);
  EXPECT_FALSE(store_->duplex().view(run, place(0))) << "what is read there is not believed";
  server_.ask({"HSET", lane, "commits", commits});  // restored
  EXPECT_EQ(step(SetCell{run, place(0), 888000001000001, {}}).kind, OutcomeKind::committed);
  EXPECT_TRUE(store_->duplex().view(run, place(0)));

  server_.ask({"FLUSHALL"});
  const auto refused = store_->duplex().commit_one(here);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
  EXPECT_NE(refused.error().detail.find("older state"), std::string::npos) << refused.error().detail;
  EXPECT_EQ(server_.ask({"DBSIZE"}), "0") << "nothing was written into the empty world";
}

}  // namespace

}  // namespace pawl::store::redis
