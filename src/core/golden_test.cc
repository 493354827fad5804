// The stored form is fixed: a change of these bytes would make everything that was ever stored unreadable.
//
// Bundles are not stored, so their bytes may change with their fields; messages wait in inboxes, so theirs may not.
// Signal and Resume changed once: no activity kind of that time sent either, so no stored job had them. StartChild got
// the child's secret: a file store creates the child in its parent's transaction, so no StartChild was ever stored in a
// file.
#include <gtest/gtest.h>

#include "base/format.h"
#include "core/codec.h"
#include "core/kind_state.h"

namespace pawl::core {

namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return text;
}

Activity activity() {
  Activity made;
  made.seq = ActivitySeq(1);
  made.node = 2;
  made.at = *ledger::Dimensions::parse(",0,3");
  made.parent = ActivitySeq(0);
  made.ledger = *ledger::ActivityLedger::decode(1'110'000'000'001);
  made.status = ActivityStatus::errored;
  made.code = -500;
  made.opened_at = Instant::from_micros(1'700'000'000'000'000);
  made.closed_at = Instant::from_micros(-1);
  made.output = "out";
  made.state = "st";
  return made;
}

WorkItem item() {
  WorkItem made;
  made.run = RunId(140737488355329);
  made.activity = ActivitySeq(1);
  made.topic = Topic("pay");
  made.request = Guid{1, 2};
  made.token = WorkToken(300);
  made.worker = "w";
  made.epoch = Epoch(4);
  made.lease_until = Instant::from_micros(64);
  made.runs = 5;
  made.input = "in";
  return made;
}

WorkLife life() {
  WorkLife made;
  made.queue_timeout = Duration(1);
  made.attempt_timeout = Duration(2);
  made.heartbeat_timeout = Duration(3);
  made.deadline = Instant::from_micros(4);
  made.at_most_once = true;
  made.unknown = true;
  made.queue_by = Instant::from_micros(5);
  made.attempt_by = Instant::from_micros(6);
  made.heartbeat_by = Instant::from_micros(7);
  made.failures = 8;
  made.failure_code = 500;
  made.failure = "f";
  made.progress = "p";
  return made;
}

Bundle bundle_of(Write write) {
  Bundle made;
  made.entity = RunId(140737488355329);  // lane 1, run 1
  made.epoch = Epoch(2);
  made.rev_before = Rev(3);
  made.id = BundleId(0x8000);
  made.writes = {std::move(write)};
  return made;
}

struct Pinned {
  std::string name;
  std::string bytes;  // as encoded now
  std::string hex;    // as it was always encoded
};

std::vector<Pinned> pinned();

class Golden : public testing::TestWithParam<Pinned> {};

TEST_P(Golden, bytes_never_change) { EXPECT_EQ(hex(GetParam().bytes), GetParam().hex); }

INSTANTIATE_TEST_SUITE_P(stored, Golden, testing::ValuesIn(pinned()), [](const auto& one) { return one.param.name; });

TEST(golden, every_kind_is_pinned) {
  EXPECT_EQ(pinned().size(), std::variant_size_v<Write> + std::variant_size_v<Body> + std::variant_size_v<Target> + 3);
}

std::vector<Pinned> pinned() {
  Bundle closing = bundle_of(Sweep{});
  closing.writes.clear();
  JobHead head;
  head.status = JobStatus::failed;
  head.semaphore = SemaphoreStep{2, -2, 0, true};
  head.completions_before = 0;
  head.completions = 1;
  head.next_activity = 9;
  head.closed_at = Instant::from_micros(100);
  head.result = Payload("r");
  head.reason = "why";
  head.data = Payload("d");
  head.code = 404;
  closing.head = head;
  Bundle mailbox = closing;
  mailbox.head = MailboxHead{200};
  const MessageRecord record{Guid{1, 2}, ActivitySeq(1), *ledger::MessageLedger::decode(111'000'000'001), "o"};
  const Message message{Guid{~std::uint64_t{0}, 1}, Start{"x"}};
  Envelope to_run;
  to_run.to = RunId(9);
  to_run.message = message;
  Envelope to_mailbox;
  to_mailbox.to = MailboxKey{Namespace("n"), Topic("t"), "k"};
  to_mailbox.message = message;
  Envelope to_job;
  to_job.to = JobKey{Namespace("n"), JobId("j")};
  to_job.message = message;
  return {
      {"JobHead", encode(closing), "81808080808020020380800200020104030001000109c80101017201037768790000010164a80600"},
      {"MailboxHead", encode(mailbox), "81808080808020020380800201c80100"},
      {"PutActivity", encode(bundle_of(PutActivity{*ledger::ActivityLedger::decode(1'100'000'000'000), activity()})),
       "8180808080802002038080020000000000000000000000000001000180f0efe881200102042c302c33010081b89"
       "f89a72002e7078080f2818389850601036f7574027374"},
      {"PutRecord", encode(bundle_of(PutRecord{std::nullopt, record})),
       "8180808080802002038080020000000000000000000000000001010001020181acf6c09d03016f"},
      {"PutMessage", encode(bundle_of(PutMessage{message})),
       "818080808080200203808002000000000000000000000000000102ffffffffffffffffff010100017800"},
      {"CountRedelivery", encode(bundle_of(CountRedelivery{Guid{1, 2}, 3})),
       "818080808080200203808002000000000000000000000000000103010203"},
      {"Consume", encode(bundle_of(Consume{Guid{1, 2}})), "8180808080802002038080020000000000000000000000000001040102"},
      {"PutWork", encode(bundle_of(PutWork{item()})),
       "8180808080802002038080020000000000000000000000000001058180808080802001037061790102ac0201770"
       "480010502696e000000000000000000000000000000000000"},
      {"DropWork", encode(bundle_of(DropWork{ActivitySeq(1), WorkToken(300)})),
       "81808080808020020380800200000000000000000000000000010601ac02"},
      {"Sweep", encode(bundle_of(Sweep{Guid{1, 2}})), "818080808080200203808002000000000000000000000000000107010102"},
      {"Send", encode(bundle_of(Send{to_run, LaneId(3)})),
       "8180808080802002038080020000000000000000000000000001080009ffffffffffffffffff010100017803"},
      {"PutEntry", encode(bundle_of(PutEntry{MailboxEntry{5, Guid{1, 2}, Register{RunId(9), ActivitySeq(1)}}})),
       "8180808080802002038080020000000000000000000000000001090501020009010000"},
      {"DropEntry", encode(bundle_of(DropEntry{5})), "81808080808020020380800200000000000000000000000000010a05"},
      {"ChangeWork",
       encode(bundle_of(ChangeWork{ActivitySeq(1), WorkToken(300), true, Instant::from_micros(5), life()})),
       "81808080808020020380800200000000000000000000000000010b01ac02010a0204060801010a0c0e08e807016"
       "6017000"},
      {"HoldWork", encode(bundle_of(HoldWork{true})), "81808080808020020380800200000000000000000000000000010c01"},
      {"WorkLife", encode(life()), "0204060801010a0c0e08e80701660170"},
      {"Start", encode(Body(Start{"in"})), "0002696e"},
      {"Transition", encode(Body(Transition{2, *ledger::Dimensions::parse(",0,3"), ActivitySeq(1), "in"})),
       "0102042c302c330102696e"},
      {"Reply", encode(Body(Reply{ActivitySeq(1), ReplyStatus::error, -500, WorkToken(300), "d"})),
       "020102e707ac020164"},
      {"Register", encode(Body(Register{RunId(9), ActivitySeq(1)})), "030901"},
      {"Signal", encode(Body(Signal{"s", ReplyStatus::pending, 202})), "040173019403"},
      {"Resume", encode(Body(Resume{ActivitySeq(1), Guid{1, 2}, "d", ReplyStatus::error, 500})), "05010102016402e807"},
      {"NoReply", encode(Body(NoReply{ActivitySeq(1), WorkToken(300), NoReply::Why::lost})), "0601ac0204"},
      {"Interrupt", encode(Body(Interrupt{410, "why"})), "07b40603776879"},
      {"Pause", encode(Body(Pause{"why"})), "0803776879"},
      {"Proceed", encode(Body(Proceed{})), "09"},
      {"Redrive", encode(Body(Redrive{})), "0a"},
      {"Verdict", encode(Body(Verdict{ActivitySeq(1), Verdict::Kind::retry, 200, "d"})), "0b010290030164"},
      {"TimeUp", encode(Body(TimeUp{ActivitySeq(1), TimeUp::What::timeout})), "0c0101"},
      {"Reenter", encode(Body(Reenter{ActivitySeq(1), "d"})), "0d010164"},
      {"Arrive", encode(Body(Arrive{2, *ledger::Dimensions::parse(",0,3"), ActivitySeq(1), 4, true})),
       "0e02042c302c33010401"},
      {"Item", encode(Body(Item{ActivitySeq(1), 2, true})), "0f010201"},
      {"StartChild",
       encode(Body(StartChild{GraphRef{GraphName("g"), 2, 300}, "in",
                              ParentLink{RunId(9), ActivitySeq(1), Guid{1, 2}, true}, -1, JobSecret(Guid{3, 4})})),
       "10016702ac0202696e0901010201010304"},
      {"ChildDone", encode(Body(ChildDone{ActivitySeq(1), ReplyStatus::error, 409, "d"})), "110102b2060164"},
      {"EndJob", encode(Body(EndJob{RunId(9), 410, "why", true, true, Duration(5)})), "120109b406037768790101010a"},
      {"Withdraw", encode(Body(Withdraw{Guid{1, 2}})), "130102"},
      {"Expire", encode(Body(Expire{Guid{1, 2}})), "140102"},
      {"Expand",
       encode(Body(Expand{ActivitySeq(1), GraphName("g"), Label{"k", "n", "v"}, RunId(9), 2, 300, true, Topic("t"), "d",
                          ReplyStatus::pending, 202})),
       "15010167016b016e01760902ac020101740164019403"},
      {"Refused", encode(Body(Refused{ActivitySeq(1), ReplyStatus::success, 200, "d"})), "18010090030164"},
      {"GiveAnswer", encode(Body(GiveAnswer{ActivitySeq(1), 200, "d"})), "190190030164"},
      {"DropSignal", encode(Body(DropSignal{Guid{1, 2}})), "1a0102"},
      {"Unlabel", encode(Body(Unlabel{Label{"k", "n", "v"}})), "16016b016e0176"},
      {"PutLabel", encode(bundle_of(PutLabel{Label{"k", "n", "v"}})),
       "81808080808020020380800200000000000000000000000000010d016b016e0176"},
      {"DropLabel", encode(bundle_of(DropLabel{Label{"k", "n", "v"}})),
       "81808080808020020380800200000000000000000000000000010e016b016e0176"},
      {"AddMeasure", encode(bundle_of(AddMeasure{Measure{"k", "0", "t", "v", 1.5}})),
       "81808080808020020380800200000000000000000000000000010f016b0130017401017680808080808080fc3f"},
      {"Announce",
       encode(bundle_of(
           Announce{Topic("t"), Announce::What::end, ReplyStatus::error, 404, Instant::from_micros(64), "d"})),
       "81808080808020020380800200000000000000000000000000011001740102a80680010164"},
      {"OfferEntry", encode(bundle_of(OfferEntry{5, Guid{1, 2}, Guid{3, 4}})),
       "818080808080200203808002000000000000000000000000000111050102010304"},
      {"Taken", encode(Body(Taken{Guid{1, 2}, Guid{3, 4}})), "1701020304"},
      {"Cancel", encode(Body(Cancel{410, "why"})), "1bb40603776879"},
      {"ToRun", encode(to_run), "0009ffffffffffffffffff0101000178"},
      {"ToJob", encode(to_job), "02016e016affffffffffffffffff0101000178"},
      {"ToMailbox", encode(to_mailbox), "01016e0174016bffffffffffffffffff0101000178"},
  };
}

// An await without a second attempt has the same bytes as before attempts were stored, and old bytes can be read.
TEST(golden, tries_of_an_await_are_added_at_the_end) {
  AwaitState state;
  state.request = Guid{1, 2};
  state.times_out_at = Instant::from_micros(5);
  state.child = "c";
  const std::string before(
      "\x01\x02\x00\x0a\x00\x01"
      "c"
      "\x00\x00\x00\x00\x00\x01\x00\x00",
      15);
  EXPECT_EQ(hex(encode(state).view()), hex(before));
  EXPECT_EQ(*decode_kind_state(before), KindState(state));
  state.tries = AwaitState::Tries{3, Instant::from_micros(7)};
  EXPECT_EQ(hex(encode(state).view()), hex(before + std::string("\x03\x0e", 2)));
  EXPECT_EQ(*decode_kind_state(encode(state).view()), KindState(state));
  EXPECT_FALSE(decode_kind_state(before + "\x03")) << "half of them";
  EXPECT_FALSE(decode_kind_state(before + std::string("\x03\x0e\x00", 3))) << "more than them";
  EXPECT_EQ(hex(encode(Body(TimeUp{ActivitySeq(1), TimeUp::What::retry}))), "0c0102");
}

// Of a worker whose attempts failed: behind the tries, which are blank.
TEST(golden, failed_attempts_are_added_at_the_end) {
  WorkState state;
  state.attempts = {{Instant::from_micros(7), 503, "busy"}, {Instant::from_micros(9), 500, ""}};
  const std::string bytes = encode(state).str();
  EXPECT_EQ(hex(bytes), "00000000000000000000000100000000020eee07046275737912e80700");
  EXPECT_EQ(*decode_kind_state(bytes), KindState(state));
  EXPECT_FALSE(decode_kind_state(bytes.substr(0, bytes.size() - 1))) << "cut";
  EXPECT_FALSE(decode_kind_state(bytes + std::string(1, '\0'))) << "more than them";
}

// Work without a trace has the same bytes as before traces were kept, and old bytes can be read.
TEST(golden, the_trace_of_work_and_of_a_start_is_added_at_the_end) {
  WorkLife life;
  life.failures = 3;
  const std::string before = encode(life);
  life.trace = "00-x";
  EXPECT_EQ(encode(life), before + "\x04" + "00-x");
  EXPECT_EQ(*decode_life(encode(life)), life);
  EXPECT_FALSE(decode_life(before)->trace);
  StartInput start{Payload("in"), {}, {EarlierRun{}}};
  const std::string started = encode(start);
  start.trace = "00-y";
  EXPECT_EQ(encode(start), started + "\x04" + "00-y");
  EXPECT_EQ(decode_start(encode(start))->trace, "00-y");
  EXPECT_FALSE(decode_start(started)->trace);
}

// One stored row has the fields of all kinds; the kind follows from the fields that are set.
TEST(golden, the_state_of_each_kind) {
  const WaitState wait{Guid{1, 2}, Instant::from_micros(5)};
  const std::pair<KindState, const char*> all[] = {
      {wait, "0102000a00000000000000010000"},
      {HookState{wait, Instant::from_micros(3), MailboxKey{Namespace("n"), Topic("t"), "k"}},
       "0102060a01016e0174016b000000000000010000"},
      {JoinState{wait, {4, 1}, {2}, true, Guid{8, 9}}, "0102000a000002040101020101080900010000"},
      {MapState{wait, 9, 3, 5, 2}, "0102000a00000000000009030502"},
  };
  for (const auto& [state, bytes] : all) {
    EXPECT_EQ(hex(encode(state).view()), bytes);
    EXPECT_EQ(*decode_kind_state(encode(state).view()), state);
  }
  EXPECT_TRUE(encode(KindState()).empty());
  EXPECT_EQ(*decode_kind_state(""), KindState());
}

TEST(golden, a_state_belongs_to_one_kind) {
  const std::string hook_and_child(
      "\x01\x02\x06\x0a\x00\x01"
      "c"
      "\x00\x00\x00\x00\x00\x01\x00\x00",
      15);
  EXPECT_FALSE(decode_kind_state(hook_and_child));
  const Payload join = encode(JoinState{{Guid{1, 2}, Instant()}, {1}, {}, true, {}});
  EXPECT_TRUE(decode_state<JoinState>(join.view()));
  EXPECT_FALSE(decode_state<MapState>(join.view()));
  EXPECT_EQ(*decode_state<MapState>(""), MapState());
  EXPECT_EQ(decode_state<MapState>(encode(WaitState{Guid{1, 2}, Instant()}).view())->request, (Guid{1, 2}));
}

// The messages of children that replace each other differ in their names.
TEST(golden, a_word_of_a_child_names_its_request) {
  const Guid first = Guid{1, 2}.derive(Guid::Purpose::request, 0);
  const Guid second = Guid{1, 2}.derive(Guid::Purpose::request, 1);
  for (const Guid& word : {last_word_of(first), word_of(first, Guid{3, 4}), word_of(first, Guid{5, 6})}) {
    EXPECT_TRUE(is_word_of(first, word));
    EXPECT_FALSE(is_word_of(second, word));
  }
  EXPECT_NE(word_of(first, Guid{3, 4}), word_of(first, Guid{5, 6}));
  EXPECT_EQ(last_word_of(first), first.derive(Guid::Purpose::child_result, 0)) << "stored under it";
}

TEST(golden, guids_are_derived_as_they_always_were) {
  const Guid run = Guid::of_run(RunId(1));
  EXPECT_EQ(run.text(), "b19258350f9eb1e7910a2dec89025cc1");
  EXPECT_EQ(run.derive(Guid::Purpose::start, 0).text(), "17afc8632744dd824c34f3fa1bd67f55");
  EXPECT_EQ(run.derive(Guid::Purpose::transition, 7).text(), "6bd952ed14f5fdfd03aff9cfa59731df");
  EXPECT_EQ(start_message(RunId(1), "").guid, run.derive(Guid::Purpose::start, 0));
  EXPECT_EQ(Guid::parse(run.text()), run);
}

}  // namespace

}  // namespace pawl::core
