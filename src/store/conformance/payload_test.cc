// Payloads: every byte value, in every place that holds one, up to the limit and not beyond.
#include "base/limits.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

// One place that holds a payload. `put` returns the store's outcome, `get` reads it back.
struct Place {
  std::string name;
  std::function<Operation(class Payloads&, Payload)> put;
  std::function<Payload(class Payloads&)> get;
};

class Payloads : public StoreCaseTest<Place> {
 public:
  using Bench::answer_to;
  using Bench::bundle_for_mailbox;
  using Bench::bundle_with;
  using Bench::commit;
  using Bench::guid;
  using Bench::job;
  using Bench::mailbox;
  using Bench::to_job;
  using Bench::to_mailbox;
  using Bench::to_run;

  void SetUp() override {
    StoreCaseTest<Place>::SetUp();
    run = submit("a");
    enqueue(run, 1);
    claimed = commit(ClaimWork{{Topic("topic")}, 1, "w", lease}).items().front();
    box = commit(to_mailbox(key(), {guid(1), core::Signal{}}, lane_)).run();
  }
  static core::MailboxKey key() { return {Namespace("default"), Topic("t"), "k"}; }
  core::LaneId lane() const { return lane_; }
  Store& store() { return *store_; }
  const core::Body& newest_message() {
    read_ = job(run);
    return read_.inbox.back().message.body;
  }

  RunId run{0};
  RunId box{0};
  core::WorkItem claimed;

 private:
  StoredJob read_;
};

core::Message deliverable(Payloads& at, core::Body body) { return {at.guid(50), std::move(body)}; }

const std::vector<Place> places = {
    {"Submit",
     [](Payloads& at, Payload p) -> Operation {
       return Submit{Namespace("default"), JobId("big"), at.lane(), {GraphName("g"), 1, 1}, std::move(p), Instant()};
     },
     [](Payloads& at) {
       const auto run = at.store().find_run(Namespace("default"), JobId("big"));
       return std::get<core::Start>(at.job(**run).inbox.front().message.body).input;
     }},
    {"DeliverTransition",
     [](Payloads& at, Payload p) -> Operation {
       return at.to_run(at.run, deliverable(at, core::Transition{1, {}, core::ActivitySeq(0), std::move(p)}));
     },
     [](Payloads& at) { return std::get<core::Transition>(at.newest_message()).input; }},
    {"DeliverResume",
     [](Payloads& at, Payload p) -> Operation {
       return at.to_run(at.run, deliverable(at, core::Resume{core::ActivitySeq(0), {}, std::move(p)}));
     },
     [](Payloads& at) { return std::get<core::Resume>(at.newest_message()).data; }},
    {"DeliverSignal",
     [](Payloads& at, Payload p) -> Operation {
       return at.to_mailbox(Payloads::key(), deliverable(at, core::Signal{std::move(p)}), at.lane());
     },
     [](Payloads& at) { return std::get<core::Signal>(at.mailbox(at.box).inbox.back().message.body).data; }},
    {"DeliverReply",
     [](Payloads& at, Payload p) -> Operation {
       core::Message answer = at.answer_to(at.claimed);
       std::get<core::Reply>(answer.body).data = std::move(p);
       return DeliverReply{at.run, at.claimed.activity, at.claimed.token, std::move(answer)};
     },
     [](Payloads& at) { return std::get<core::Reply>(at.newest_message()).data; }},
    {"PutActivity",
     [](Payloads& at, Payload p) -> Operation {
       core::Activity after = at.job(at.run).state.activities()[0];
       after.output = std::move(p);
       return at.bundle_with(at.run, {core::PutActivity{after.ledger, after}});
     },
     [](Payloads& at) { return at.job(at.run).state.activities()[0].output; }},
    {"PutMessage",
     [](Payloads& at, Payload p) -> Operation {
       return at.bundle_with(at.run, {core::PutMessage{deliverable(at, core::Start{std::move(p)})}});
     },
     [](Payloads& at) { return std::get<core::Start>(at.newest_message()).input; }},
    {"PutWork",
     [](Payloads& at, Payload p) -> Operation {
       core::WorkItem item = at.claimed;
       item.input = std::move(p);
       return at.bundle_with(at.run, {core::PutWork{std::move(item)}});
     },
     [](Payloads& at) { return at.job(at.run).state.find_work(at.claimed.activity)->input; }},
    {"Send",
     [](Payloads& at, Payload p) -> Operation {
       return at.bundle_with(at.run, {core::Send{{at.run, deliverable(at, core::Start{std::move(p)})}}});
     },
     [](Payloads& at) {
       if (at.store().sends_directly()) return std::get<core::Start>(at.newest_message()).input;
       return std::get<core::Start>(at.store().read_outbox(at.lane(), 1)->front().envelope.message.body).input;
     }},
    {"PutEntry",
     [](Payloads& at, Payload p) -> Operation {
       core::Bundle bundle = at.bundle_for_mailbox(at.box);
       std::get<core::MailboxHead>(bundle.head).next_entry = 1;
       bundle.writes = {core::PutEntry{{0, at.guid(50), core::Signal{std::move(p)}}}};
       return bundle;
     },
     [](Payloads& at) { return std::get<core::Signal>(at.mailbox(at.box).state.entries.at(0).what).data; }},
    {"Data",
     [](Payloads& at, Payload p) -> Operation {
       core::Bundle bundle = at.bundle_with(at.run, {});
       std::get<core::JobHead>(bundle.head).data = std::move(p);
       return bundle;
     },
     [](Payloads& at) { return at.job(at.run).state.job.data; }},
    {"State",
     [](Payloads& at, Payload p) -> Operation {
       core::Activity after = at.job(at.run).state.activities()[0];
       after.state = std::move(p);
       return at.bundle_with(at.run, {core::PutActivity{after.ledger, after}});
     },
     [](Payloads& at) { return at.job(at.run).state.activities()[0].state; }},
    {"PutRecord",
     [](Payloads& at, Payload p) -> Operation {
       return at.bundle_with(
           at.run,
           {core::PutRecord{std::nullopt,
                            {at.guid(50), core::ActivitySeq(0), *ledger::MessageLedger::decode(1), std::move(p)}}});
     },
     [](Payloads& at) { return at.job(at.run).state.find_message(at.guid(50))->output; }},
    {"StartChild",
     [](Payloads& at, Payload p) -> Operation {
       core::StartChild start;
       start.input = std::move(p);
       return at.to_job({Namespace("default"), JobId("big")}, deliverable(at, start), at.lane());
     },
     [](Payloads& at) {
       const auto run = at.store().find_run(Namespace("default"), JobId("big"));
       return std::get<core::Start>(at.job(**run).inbox.front().message.body).input;
     }},
    {"DeliverChildDone",
     [](Payloads& at, Payload p) -> Operation {
       core::ChildDone done;
       done.data = std::move(p);
       return at.to_run(at.run, deliverable(at, done));
     },
     [](Payloads& at) { return std::get<core::ChildDone>(at.newest_message()).data; }},
    {"PutReenter",
     [](Payloads& at, Payload p) -> Operation {
       return at.bundle_with(at.run,
                             {core::PutMessage{deliverable(at, core::Reenter{core::ActivitySeq(0), std::move(p)})}});
     },
     [](Payloads& at) { return std::get<core::Reenter>(at.newest_message()).data; }},
    {"Result",
     [](Payloads& at, Payload p) -> Operation {
       core::Bundle bundle = at.bundle_with(at.run, {});
       std::get<core::JobHead>(bundle.head).result = std::move(p);
       return bundle;
     },
     [](Payloads& at) { return at.job(at.run).state.job.result; }},
};

TEST_P(Payloads, of_no_byte_are_kept) {
  ASSERT_EQ(commit(scenario().put(*this, Payload())).kind, OutcomeKind::committed);
  EXPECT_TRUE(scenario().get(*this).empty());
}

TEST_P(Payloads, of_every_byte_are_kept) {
  std::string bytes(1, '\0');
  for (int c = 255; c >= 0; --c) bytes.push_back(static_cast<char>(c));
  bytes.append("'\"\\\r\n$5\r\nx\xc3\x28");
  ASSERT_EQ(commit(scenario().put(*this, Payload(bytes))).kind, OutcomeKind::committed);
  EXPECT_EQ(scenario().get(*this), Payload(bytes));
}

TEST_P(Payloads, of_the_limit_are_kept) {
  const Payload largest(std::string(limits::payload_bytes_max, 'x'));
  ASSERT_EQ(commit(scenario().put(*this, largest)).kind, OutcomeKind::committed);
  EXPECT_TRUE(scenario().get(*this) == largest);
}

TEST_P(Payloads, beyond_the_limit_are_rejected_without_a_trace) {
  const auto inbox = job(run).inbox;
  const auto state = job(run).state;
  const Payload too_large(std::string(limits::payload_bytes_max + 1, 'x'));
  const Outcome outcome = commit(scenario().put(*this, too_large));
  EXPECT_EQ(outcome.kind, OutcomeKind::rejected);
  EXPECT_FALSE(outcome.reason.empty());
  EXPECT_TRUE(job(run).state == state);
  EXPECT_EQ(job(run).inbox.size(), inbox.size());
  EXPECT_FALSE(store().find_run(Namespace("default"), JobId("big"))->has_value());
  EXPECT_EQ(mailbox(box).state.rev, core::Rev(0));
  EXPECT_EQ(mailbox(box).inbox.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(stores, Payloads, testing::Combine(testing::ValuesIn(all_stores()), testing::ValuesIn(places)),
                         store_case_name<Place>);

class Reasons : public StoreTest {};

TEST_P(Reasons, are_kept_up_to_their_limit_and_rejected_beyond) {
  const RunId run = submit("a");
  core::Bundle fits = bundle_for(run);
  std::get<core::JobHead>(fits.head).reason = std::string(limits::reason_bytes_max, 'r');
  EXPECT_EQ(kind_of(fits), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.reason.size(), limits::reason_bytes_max);
  core::Bundle too_long = bundle_for(run);
  std::get<core::JobHead>(too_long.head).reason = std::string(limits::reason_bytes_max + 1, 'r');
  EXPECT_EQ(kind_of(too_long), OutcomeKind::rejected);
}

INSTANTIATE_TEST_SUITE_P(stores, Reasons, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
