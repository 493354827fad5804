// The single operations of `collation: duplex`: what each does, and that each may be repeated.
#include "base/limits.h"
#include "ledger/duplex_state.h"
#include "store/conformance/conformance.h"
#include "store/fault/store.h"

namespace pawl::store {

namespace {

using Step = ledger::DuplexState::Operation;

constexpr std::int64_t preset = 999000000000000;

DuplexOutcome commit_to(DuplexStore& store, const DuplexOperation& operation) {
  auto outcome = store.commit_one(operation);
  if (outcome) return std::move(*outcome);
  ADD_FAILURE() << to_string(outcome.error());
  return {};
}

class Duplex : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    run = start("job").run();
  }
  DuplexOutcome commit(DuplexOperation operation) { return commit_to(*duplex_, std::move(operation)); }
  OutcomeKind kind_of(DuplexOperation operation) { return commit(std::move(operation)).kind; }
  static StartDuplex a_start(core::LaneId lane, const std::string& id) {
    return StartDuplex{Namespace("default"),
                       JobId(id),
                       lane,
                       {GraphName("g"), 1, 7},
                       "input",
                       Instant::from_micros(5),
                       core::JobSecret(core::Guid{7, 7})};
  }
  DuplexOutcome start(const std::string& id) { return commit(a_start(lane_, id)); }
  static Place place(std::uint32_t node) { return Place{node, *ledger::Dimensions::parse(",0,0")}; }
  DuplexOutcome set(std::uint32_t node, std::int64_t value = preset) {
    return commit(SetCell{run, place(node), value, clock_.now()});
  }
  DuplexOutcome add(std::uint32_t node, Step step, std::uint64_t mark) {
    return commit(AddToCell{run, place(node), ledger::DuplexState::delta(step), guid(mark)});
  }
  // A reply, or a request for a worker of `topic`.
  StreamMessage message(std::uint64_t number, const std::string& topic = "") {
    stream::Body body = stream::Reply{place(3), core::ReplyStatus::pending, -7, 9, "data"};
    if (!topic.empty()) body = stream::Request{place(3), Topic(topic), "data"};
    return {run, guid(number), std::move(body)};
  }
  DuplexOutcome dequeue_all(std::uint64_t claim, std::size_t items_max = 10, std::uint64_t epoch = 1,
                            const std::string& topic = "") {
    return commit(Dequeue{lane_, Topic(topic), items_max, ClaimId(claim), core::Epoch(epoch), lease});
  }
  Handed dequeue(std::uint64_t claim, std::size_t items_max = 10, std::uint64_t epoch = 1,
                 const std::string& topic = "") {
    return dequeue_all(claim, items_max, epoch, topic).take_handed();
  }
  DuplexJob read() {
    auto found = duplex_->read(run);
    if (found && *found) return std::move(**found);
    ADD_FAILURE() << "no duplex job";
    return {};
  }
  void end(core::JobStatus status = core::JobStatus::completed) {
    ASSERT_EQ(kind_of(EndDuplex{run, status, "result", "", clock_.now(), core::Guid{}}), OutcomeKind::committed);
  }

  RunId run{0};
};

TEST_P(Duplex, a_start_makes_the_job_its_id_and_its_start_message) {
  EXPECT_EQ(*store_->find_run(Namespace("default"), JobId("job")), run);
  const StoredJob stored = job(run);
  EXPECT_EQ(stored.state.job.status, core::JobStatus::running);
  EXPECT_EQ(stored.state.job.semaphore, 0);
  EXPECT_EQ(stored.state.job.secret, a_start(lane_, "job").secret);
  EXPECT_EQ(read().job.secret, stored.state.job.secret);
  EXPECT_TRUE(stored.inbox.empty()) << "the other engine has nothing to do with it";
  EXPECT_TRUE(store_->read_waiting(lane_, RunId(0), 10)->empty());
  ASSERT_EQ(read().stream.size(), 1u);
  EXPECT_EQ(read().stream[0].message, duplex_start(run, "input"));
  EXPECT_EQ(read().stream[0].claim, ClaimId(0));
}

TEST_P(Duplex, a_taken_id_is_answered_with_the_run_that_has_it_whatever_its_collation) {
  const DuplexOutcome again = start("job");
  EXPECT_EQ(again.kind, OutcomeKind::exists);
  EXPECT_EQ(again.run(), run);
  const RunId other = submit("ledger-job");
  EXPECT_EQ(start("ledger-job").kind, OutcomeKind::exists);
  EXPECT_EQ(start("ledger-job").run(), other);
  EXPECT_FALSE(duplex_->read(other)->has_value());
  EXPECT_FALSE(duplex_->view(other, place(0))->has_value());
}

TEST_P(Duplex, a_start_in_a_lane_that_does_not_exist_is_rejected) {
  EXPECT_EQ(kind_of(a_start(core::LaneId(77), "x")), OutcomeKind::rejected);
  EXPECT_FALSE(store_->find_run(Namespace("default"), JobId("x"))->has_value());
}

TEST_P(Duplex, a_cell_is_set_once_and_answers_what_it_holds) {
  EXPECT_EQ(set(1).kind, OutcomeKind::committed);
  EXPECT_EQ(set(1, 5).kind, OutcomeKind::already_done);
  EXPECT_EQ(set(1, 5).value(), preset);
  ASSERT_EQ(read().cells.size(), 1u);
  EXPECT_EQ(read().cells[0].value, preset);
  EXPECT_EQ(read().cells[0].place, place(1));
  EXPECT_EQ(read().cells[0].opened_at, clock_.now());
}

TEST_P(Duplex, an_add_returns_the_new_value_and_the_same_mark_adds_nothing) {
  set(1);
  EXPECT_EQ(add(1, Step::leg1_entry, 1).value(), 899000000000000);
  const DuplexOutcome again = add(1, Step::leg1_entry, 1);
  EXPECT_EQ(again.kind, OutcomeKind::already_done);
  EXPECT_EQ(again.value(), 899000000000000);
  EXPECT_EQ(add(1, Step::leg1_entry, 2).value(), 799000000000000);
  EXPECT_EQ(add(1, Step::leg1_exit, 3).value(), 789000000000000);
  EXPECT_EQ(add(1, Step::leg2_entry, 4).value(), 789000001000000);
  EXPECT_EQ(add(1, Step::conclude, 5).value(), 788000001000001);
  EXPECT_EQ(add(1, Step::leg1_entry, 2).value(), 788000001000001) << "a repeated mark sees what came since";
}

TEST_P(Duplex, a_cell_that_was_never_set_cannot_be_entered_or_closed) {
  EXPECT_EQ(add(1, Step::leg1_entry, 1).kind, OutcomeKind::rejected);
  EXPECT_EQ(kind_of(NameCloser{run, place(1), guid(1)}), OutcomeKind::rejected);
  set(1);
  EXPECT_EQ(add(1, Step::leg1_entry, 1).value(), 899000000000000) << "the refused add left no mark";
}

TEST_P(Duplex, the_first_closer_wins_and_keeps_its_answer) {
  set(1);
  const NameCloser first{run, place(1), guid(1), core::ActivityStatus::errored, 402, Instant::from_micros(9), "no"};
  const NameCloser second{run,  place(1), guid(2), core::ActivityStatus::completed, 200, Instant::from_micros(10),
                          "yes"};
  EXPECT_EQ(kind_of(first), OutcomeKind::committed);
  EXPECT_EQ(kind_of(second), OutcomeKind::exists);
  EXPECT_EQ(kind_of(first), OutcomeKind::already_done);
  const DuplexCell cell = *(*duplex_->view(run, place(1)))->cell;
  EXPECT_EQ(cell.closer, guid(1));
  EXPECT_EQ(cell.status, core::ActivityStatus::errored);
  EXPECT_EQ(cell.code, 402);
  EXPECT_EQ(cell.closed_at, Instant::from_micros(9));
  EXPECT_EQ(cell.output.str(), "no");
}

TEST_P(Duplex, the_set_of_addresses_says_when_it_is_empty) {
  EXPECT_FALSE(commit(OpenAddress{run, place(1)}).none_left());
  EXPECT_EQ(kind_of(OpenAddress{run, place(1)}), OutcomeKind::already_done);
  EXPECT_FALSE(commit(OpenAddress{run, place(2)}).none_left());
  EXPECT_EQ(read().open, (std::vector<Place>{place(1), place(2)}));
  EXPECT_EQ(job(run).state.job.semaphore, 2);
  EXPECT_FALSE(commit(CloseAddress{run, place(1)}).none_left());
  EXPECT_TRUE(commit(CloseAddress{run, place(2)}).none_left());
  const DuplexOutcome again = commit(CloseAddress{run, place(1)});
  EXPECT_EQ(again.kind, OutcomeKind::already_done);
  EXPECT_TRUE(again.none_left()) << "who comes again sees the same";
  EXPECT_EQ(kind_of(CloseAddress{run, place(9)}), OutcomeKind::rejected);
}

TEST_P(Duplex, an_address_that_was_closed_is_not_opened_again) {
  commit(OpenAddress{run, place(1)});
  commit(CloseAddress{run, place(1)});
  const DuplexOutcome again = commit(OpenAddress{run, place(1)});
  EXPECT_EQ(again.kind, OutcomeKind::already_done);
  EXPECT_TRUE(again.none_left());
  EXPECT_TRUE(read().open.empty());
}

TEST_P(Duplex, what_is_under_way_is_read_without_what_is_done) {
  // Claim: it reads the stream and its activities, however many others the job has.
  for (std::uint32_t node = 1; node <= 50; ++node) kind_of(SetCell{run, place(node), preset, clock_.now()});
  kind_of(Enqueue{StreamMessage{run, guid(1), stream::Request{place(7), Topic("topic"), "seven"}}});
  kind_of(Enqueue{StreamMessage{run, guid(2), stream::Reply{place(7), core::ReplyStatus::pending, 202, 0, "word"}}});
  kind_of(Enqueue{StreamMessage{run, guid(3), stream::Transition{place(9), "nine"}}});
  const DuplexJob whole = read();
  ASSERT_EQ(whole.cells.size(), 50u);
  const auto found = duplex_->read_under_way(run);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->job, whole.job);
  EXPECT_EQ((*found)->stream, whole.stream);
  EXPECT_EQ((*found)->cells, (std::vector<DuplexCell>{whole.cells[6], whole.cells[8]}));
  EXPECT_FALSE(duplex_->read_under_way(RunId(run.raw() + 1))->has_value());
}

TEST_P(Duplex, a_message_waits_once_with_all_its_fields_and_comes_back_never) {
  commit(Ack{run, dequeue(1).messages.at(0).message.guid, ClaimId(1)});
  EXPECT_EQ(kind_of(Enqueue{message(5)}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(Enqueue{message(5)}), OutcomeKind::already_done);
  const auto claimed = dequeue(2).messages;
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].message, message(5));
  EXPECT_EQ(claimed[0].claim, ClaimId(2));
  EXPECT_EQ(claimed[0].deliveries, 1u);
  EXPECT_EQ(kind_of(Ack{run, guid(5), ClaimId(2)}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(Ack{run, guid(5), ClaimId(2)}), OutcomeKind::already_done);
  EXPECT_EQ(kind_of(Enqueue{message(5)}), OutcomeKind::already_done);
  EXPECT_TRUE(read().stream.empty());
  EXPECT_TRUE(dequeue(3).messages.empty());
}

TEST_P(Duplex, every_kind_of_message_comes_back_as_it_was) {
  using Failure = stream::Cleanup::Failure;
  const stream::Body bodies[] = {stream::Start{"in"},
                                 stream::Transition{place(2), "data"},
                                 stream::Request{place(4), Topic("t"), "data"},
                                 stream::Reply{place(5), core::ReplyStatus::error, 500, 3, "why"},
                                 stream::Reply{place(5), core::ReplyStatus::pending, 202, 1, ""},
                                 stream::Cleanup{},
                                 stream::Cleanup{Failure{402, "no money"}}};
  std::uint64_t number = 20;
  for (const stream::Body& body : bodies) {
    const StreamMessage sent{run, guid(++number), body};
    commit(Enqueue{sent});
    EXPECT_EQ(read().stream.back().message, sent) << body.index();
    EXPECT_EQ(stream_of(body), Topic(body.index() == 2 ? "t" : ""));
  }
  EXPECT_EQ(dequeue(1).messages.size(), 1 + std::size(bodies) - 1) << "the start, and all but the request";
  EXPECT_EQ(dequeue(2, 10, 1, "t").messages.size(), 1u);
}

TEST_P(Duplex, messages_come_oldest_first_and_only_from_their_stream_and_lane) {
  for (std::uint64_t i = 0; i < 5; ++i) commit(Enqueue{message(10 - i, i % 2 == 0 ? "red" : "blue")});
  const auto red = dequeue(1, 2, 1, "red").messages;
  ASSERT_EQ(red.size(), 2u);
  EXPECT_EQ(red[0].message.guid, guid(10));
  EXPECT_EQ(red[1].message.guid, guid(8));
  EXPECT_EQ(dequeue(2, 10, 1, "red").messages.size(), 1u);
  EXPECT_EQ(dequeue(3, 10, 1, "blue").messages.size(), 2u);
  EXPECT_EQ(dequeue(4, 10, 1, "").messages.size(), 1u) << "the start message";
  EXPECT_TRUE(
      commit(Dequeue{other_lane_, Topic("red"), 10, ClaimId(5), core::Epoch(1), lease}).handed().messages.empty());
  EXPECT_EQ(kind_of(Dequeue{lane_, Topic(""), 1, ClaimId(0), core::Epoch(1), lease}), OutcomeKind::rejected);
  EXPECT_EQ(kind_of(Dequeue{lane_, Topic(""), 1, ClaimId(9), core::Epoch(0), lease}), OutcomeKind::rejected);
}

TEST_P(Duplex, a_dequeue_takes_no_more_bytes_than_it_asks_for_and_one_message_however_large) {
  const auto put = [&](std::uint64_t number, std::size_t bytes) {
    commit(Enqueue{{run, guid(number), stream::Request{place(3), Topic("t"), std::string(bytes, 'x')}}});
  };
  put(10, 100);
  put(11, 60);
  put(12, 40);
  put(13, 1);
  const auto take = [&](std::uint64_t claim, std::size_t bytes_max) {
    Dequeue dequeue{lane_, Topic("t"), 10, ClaimId(claim), core::Epoch(1), lease};
    dequeue.bytes_max = bytes_max;
    return commit(dequeue).take_handed();
  };
  const Handed first = take(1, 50);
  ASSERT_EQ(first.messages.size(), 1u) << "it alone is larger";
  EXPECT_EQ(first.messages[0].message.guid, guid(10));
  EXPECT_EQ(first.next_free, clock_.now());
  ASSERT_EQ(take(2, 100).messages.size(), 2u);
  const Handed last = take(3, 0);
  ASSERT_EQ(last.messages.size(), 1u);
  EXPECT_EQ(last.next_free, clock_.now() + lease) << "the others are with somebody";
}

TEST_P(Duplex, what_became_free_again_is_in_line_with_the_others_by_its_age) {
  for (std::uint64_t number = 10; number < 14; ++number) commit(Enqueue{message(number, "t")});
  ASSERT_EQ(dequeue(1, 2, 3, "t").messages.size(), 2u);  // 10, 11
  commit(GiveBack{run, guid(10), ClaimId(1), Duration(7)});
  clock_.advance(Duration(7));
  const auto first = dequeue(2, 2, 3, "t").messages;
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].message.guid, guid(10)) << "it is older than what never was with anybody";
  EXPECT_EQ(first[1].message.guid, guid(12));
  const Handed orphans = dequeue(3, 3, 4, "t");
  ASSERT_EQ(orphans.messages.size(), 3u);
  EXPECT_EQ(orphans.messages[0].message.guid, guid(10));
  EXPECT_EQ(orphans.messages[1].message.guid, guid(11));
  EXPECT_EQ(orphans.messages[2].message.guid, guid(12));
  EXPECT_EQ(orphans.next_free, clock_.now());
}

TEST_P(Duplex, a_consumer_of_an_earlier_epoch_finds_what_is_free_and_hears_when_the_others_are) {
  commit(Enqueue{message(10, "t")});
  commit(Enqueue{message(11, "t")});
  ASSERT_EQ(dequeue(1, 1, 5, "t").messages.size(), 1u);
  const Handed old = dequeue(2, 10, 4, "t");
  ASSERT_EQ(old.messages.size(), 1u);
  EXPECT_EQ(old.messages[0].message.guid, guid(11));
  EXPECT_EQ(old.next_free, clock_.now() + lease);
  clock_.advance(lease);
  EXPECT_EQ(dequeue(3, 10, 4, "t").messages.size(), 2u);
}

TEST_P(Duplex, whose_lease_is_over_may_finish_until_somebody_else_has_it) {
  commit(Enqueue{message(10, "t")});
  commit(Enqueue{message(11, "t")});
  ASSERT_EQ(dequeue(1, 2, 1, "t").messages.size(), 2u);
  clock_.advance(lease);
  ASSERT_EQ(dequeue(2, 1, 1, "t").messages.size(), 1u);
  EXPECT_EQ(kind_of(Ack{run, guid(10), ClaimId(1)}), OutcomeKind::conflict);
  EXPECT_EQ(kind_of(Ack{run, guid(11), ClaimId(1)}), OutcomeKind::committed);
  EXPECT_TRUE(dequeue(3, 1, 1, "t").messages.empty());
}

TEST_P(Duplex, the_same_claim_again_is_answered_with_the_same_messages) {
  const Handed first = dequeue(7);
  commit(Enqueue{message(5)});
  const DuplexOutcome again = dequeue_all(7);
  EXPECT_EQ(again.kind, OutcomeKind::already_done);
  EXPECT_EQ(again.handed().messages, first.messages);
  EXPECT_EQ(again.handed().next_free, clock_.now()) << "there is more to claim";
}

TEST_P(Duplex, a_claim_ends_with_its_lease_or_with_its_epoch) {
  ASSERT_EQ(dequeue(1, 10, 3).messages.size(), 1u);
  const Handed nothing = dequeue(2, 10, 3);
  EXPECT_TRUE(nothing.messages.empty());
  EXPECT_EQ(nothing.next_free, clock_.now() + lease);
  const Handed next_epoch = dequeue(3, 10, 4);
  ASSERT_EQ(next_epoch.messages.size(), 1u);
  EXPECT_EQ(next_epoch.messages[0].deliveries, 2u);
  clock_.advance(lease - Duration(1));
  EXPECT_TRUE(dequeue(4, 10, 4).messages.empty());
  clock_.advance(Duration(1));
  EXPECT_EQ(dequeue(5, 10, 4).messages.at(0).deliveries, 3u);
}

TEST_P(Duplex, only_the_claim_that_holds_a_message_acknowledges_it_or_gives_it_back) {
  const core::Guid start_guid = dequeue(1).messages.at(0).message.guid;
  clock_.advance(lease);
  ASSERT_EQ(dequeue(2).messages.size(), 1u);
  EXPECT_EQ(kind_of(Ack{run, start_guid, ClaimId(1)}), OutcomeKind::conflict);
  EXPECT_EQ(kind_of(GiveBack{run, start_guid, ClaimId(1), Duration(0)}), OutcomeKind::conflict);
  EXPECT_EQ(kind_of(Ack{run, start_guid, ClaimId(2)}), OutcomeKind::committed);
}

TEST_P(Duplex, a_message_given_back_is_free_after_its_delay_and_was_not_delivered) {
  const core::Guid start_guid = dequeue(1).messages.at(0).message.guid;
  EXPECT_EQ(kind_of(GiveBack{run, start_guid, ClaimId(1), Duration(500)}), OutcomeKind::committed);
  const Handed nothing = dequeue(2, 10, 9);
  EXPECT_TRUE(nothing.messages.empty()) << "an epoch does not shorten the delay";
  EXPECT_EQ(nothing.next_free, clock_.now() + Duration(500));
  clock_.advance(Duration(500));
  const ClaimedMessage claimed = dequeue(3).messages.at(0);
  EXPECT_EQ(claimed.deliveries, 1u);
  EXPECT_EQ(claimed.given_back, 1u);
}

TEST_P(Duplex, renewing_frees_a_message_that_somebody_holds_and_no_other) {
  commit(Enqueue{message(5, "t")});
  ASSERT_EQ(dequeue(1, 1, 1, "t").messages.size(), 1u);
  EXPECT_EQ(kind_of(Enqueue{message(5, "t"), true}), OutcomeKind::already_done);
  EXPECT_EQ(kind_of(Ack{run, guid(5), ClaimId(1)}), OutcomeKind::conflict);
  ASSERT_EQ(dequeue(2, 1, 1, "t").messages.size(), 1u);
  commit(Ack{run, guid(5), ClaimId(2)});
  EXPECT_EQ(kind_of(Enqueue{message(5, "t"), true}), OutcomeKind::already_done);
  EXPECT_TRUE(dequeue(3, 1, 1, "t").messages.empty()) << "what is acknowledged stays so";

  commit(Enqueue{message(6, "t")});
  ASSERT_EQ(dequeue(4, 1, 1, "t").messages.size(), 1u);
  commit(GiveBack{run, guid(6), ClaimId(4), Duration(500)});
  EXPECT_EQ(kind_of(Enqueue{message(6, "t"), true}), OutcomeKind::already_done);
  EXPECT_TRUE(dequeue(5, 1, 1, "t").messages.empty()) << "its time is not over: somebody may have its token";
}

TEST_P(Duplex, an_end_closes_the_job_once_and_takes_everything_but_the_cells_and_one_message) {
  set(1);
  add(1, Step::leg1_entry, 1);
  commit(OpenAddress{run, place(1)});
  commit(Enqueue{message(5)});
  commit(Enqueue{message(6)});
  dequeue(1);
  const EndDuplex end{run, core::JobStatus::completed, "done", "", Instant::from_micros(77), guid(6)};
  EXPECT_EQ(kind_of(end), OutcomeKind::committed);
  EndDuplex other = end;
  other.status = core::JobStatus::failed;
  other.result = "other";
  EXPECT_EQ(kind_of(other), OutcomeKind::already_done);
  const DuplexJob after = read();
  EXPECT_EQ(after.job.status, core::JobStatus::completed);
  EXPECT_EQ(after.job.completions, 1u);
  EXPECT_EQ(after.job.semaphore, 0);
  EXPECT_EQ(after.job.result.str(), "done");
  EXPECT_EQ(after.job.closed_at, Instant::from_micros(77));
  EXPECT_EQ(after.cells.size(), 1u);
  EXPECT_TRUE(after.open.empty());
  ASSERT_EQ(after.stream.size(), 1u);
  EXPECT_EQ(after.stream[0].message.guid, guid(6));
  EXPECT_EQ(kind_of(Ack{run, guid(6), ClaimId(1)}), OutcomeKind::committed);
  EXPECT_TRUE(read().stream.empty());
  EXPECT_EQ(job(run).state.job, read().job);
  EXPECT_EQ(store_->list_jobs({std::nullopt, core::JobStatus::completed, RunId(0), 10})->size(), 1u);
}

// What a job that is not running must refuse.
TEST_P(Duplex, a_closed_or_parked_job_takes_nothing) {
  for (const bool parks : {false, true}) {
    run = start(parks ? "parked" : "closed").run();
    set(1);
    commit(OpenAddress{run, place(1)});
    if (parks) {
      ASSERT_EQ(kind_of(ParkDuplex{run, "why"}), OutcomeKind::committed);
    } else {
      end();
    }
    const DuplexJob before = read();
    const std::vector<DuplexOperation> refused = {
        SetCell{run, place(2), preset, clock_.now()},
        AddToCell{run, place(1), -1, guid(1)},
        NameCloser{run, place(1), guid(1)},
        OpenAddress{run, place(2)},
        CloseAddress{run, place(1)},
        Enqueue{message(5)},
        Enqueue{message(6), true},
        GiveBack{run, guid(1), ClaimId(1), Duration(0)},
    };
    for (const DuplexOperation& operation : refused)
      EXPECT_EQ(kind_of(operation), OutcomeKind::conflict) << operation.index();
    EXPECT_EQ(kind_of(ParkDuplex{run, "again"}), parks ? OutcomeKind::already_done : OutcomeKind::conflict);
    if (parks) {
      EXPECT_EQ(kind_of(EndDuplex{run, core::JobStatus::failed}), OutcomeKind::conflict);
    }
    EXPECT_EQ(kind_of(Ack{run, guid(1), ClaimId(1)}), OutcomeKind::already_done);
    EXPECT_EQ(read(), before);
  }
}

TEST_P(Duplex, a_parked_jobs_messages_stay_and_are_handed_to_nobody) {
  const RunId other = start("other").run();
  commit(ParkDuplex{run, "why"});
  EXPECT_EQ(read().job.status, core::JobStatus::parked);
  EXPECT_EQ(read().job.reason, "why");
  const auto claimed = dequeue(1).messages;
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].message.run, other);
  EXPECT_EQ(read().stream.size(), 1u);
  const auto waiting = read().stream[0];
  EXPECT_EQ(dequeue(2).next_free, clock_.now() + lease) << "that of the other job; nobody is told to look for this one";
  EXPECT_EQ(kind_of(Ack{run, waiting.message.guid, ClaimId(1)}), OutcomeKind::conflict);
}

TEST_P(Duplex, whoever_holds_a_message_of_a_parked_job_may_acknowledge_it) {
  const auto claimed = dequeue(1).messages;
  ASSERT_EQ(claimed.size(), 1u);
  commit(ParkDuplex{run, "why"});
  clock_.advance(lease);
  EXPECT_TRUE(dequeue(2, 10, 2).messages.empty());
  EXPECT_EQ(kind_of(Ack{run, claimed[0].message.guid, ClaimId(1)}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(Ack{run, claimed[0].message.guid, ClaimId(1)}), OutcomeKind::already_done);
  EXPECT_TRUE(read().stream.empty());
}

TEST_P(Duplex, a_job_that_does_not_exist_is_rejected) {
  const RunId real = run;
  for (const RunId where : {core::make_run(lane_, 4711), submit("ledger-job")}) {
    run = where;
    EXPECT_EQ(set(1).kind, OutcomeKind::rejected);
    EXPECT_EQ(add(1, Step::leg1_entry, 1).kind, OutcomeKind::rejected);
    EXPECT_EQ(kind_of(OpenAddress{run, place(1)}), OutcomeKind::rejected);
    EXPECT_EQ(kind_of(Enqueue{message(1)}), OutcomeKind::rejected);
    EXPECT_EQ(kind_of(EndDuplex{run, core::JobStatus::failed}), OutcomeKind::rejected);
    EXPECT_EQ(kind_of(ParkDuplex{run, ""}), OutcomeKind::rejected);
    EXPECT_EQ(kind_of(Ack{run, guid(1), ClaimId(1)}), OutcomeKind::already_done);
  }
  run = real;
  EXPECT_EQ(read().stream.size(), 1u);
}

TEST_P(Duplex, what_is_too_large_is_rejected) {
  set(1);
  const Payload large = std::string(limits::payload_bytes_max + 1, 'x');
  const stream::Body bodies[] = {stream::Start{large}, stream::Transition{place(3), large},
                                 stream::Request{place(3), Topic("t"), large},
                                 stream::Reply{place(3), core::ReplyStatus::success, 200, 0, large},
                                 stream::Cleanup{stream::Cleanup::Failure{500, large}}};
  for (const stream::Body& body : bodies)
    EXPECT_EQ(kind_of(Enqueue{{run, guid(5), body}}), OutcomeKind::rejected) << body.index();
  NameCloser closer{run, place(1), guid(1)};
  closer.output = large;
  EXPECT_EQ(kind_of(closer), OutcomeKind::rejected);
  EXPECT_EQ(kind_of(ParkDuplex{run, std::string(limits::reason_bytes_max + 1, 'x')}), OutcomeKind::rejected);
  StartDuplex big = a_start(lane_, "big");
  big.input = large;
  EXPECT_EQ(kind_of(big), OutcomeKind::rejected);
}

INSTANTIATE_TEST_SUITE_P(stores, Duplex, testing::ValuesIn(all_stores()), store_name);

// Each operation with its reply lost: sent again, it changes nothing and answers the same.
struct Single {
  std::string name;
  std::function<DuplexOperation(RunId, core::LaneId, const Place&, const core::Guid&)> make;
  OutcomeKind again = OutcomeKind::already_done;
};

class SingleOperations : public StoreCaseTest<Single> {
 protected:
  void SetUp() override {
    StoreCaseTest<Single>::SetUp();
    run = commit(StartDuplex{Namespace("default"), JobId("job"), lane_, {GraphName("g"), 1, 7}, "in", Instant()}).run();
    commit(SetCell{run, Place{1, {}}, preset, Instant()});
    commit(OpenAddress{run, Place{1, {}}});
    start =
        commit(Dequeue{lane_, Topic(""), 1, ClaimId(1), core::Epoch(1), lease}).handed().messages.at(0).message.guid;
    StreamMessage waiting = duplex_start(run, "more");
    waiting.guid = guid(99);
    commit(Enqueue{waiting});
  }
  DuplexOutcome commit(DuplexOperation operation) { return commit_to(*duplex_, std::move(operation)); }
  RunId run{0};
  core::Guid start;
};

const std::vector<Single> singles = {
    {"SetCell",
     [](RunId run, core::LaneId, const Place&, const core::Guid&) -> DuplexOperation {
       return SetCell{run, Place{2, {}}, preset, Instant()};
     }},
    {"AddToCell",
     [](RunId run, core::LaneId, const Place& place, const core::Guid&) -> DuplexOperation {
       return AddToCell{run, place, -7, core::Guid{4, 4}};
     }},
    {"NameCloser",
     [](RunId run, core::LaneId, const Place& place, const core::Guid&) -> DuplexOperation {
       return NameCloser{run, place, core::Guid{4, 4}};
     }},
    {"OpenAddress",
     [](RunId run, core::LaneId, const Place&, const core::Guid&) -> DuplexOperation {
       return OpenAddress{run, Place{2, {}}};
     }},
    {"CloseAddress",
     [](RunId run, core::LaneId, const Place& place, const core::Guid&) -> DuplexOperation {
       return CloseAddress{run, place};
     }},
    {"Enqueue",
     [](RunId run, core::LaneId, const Place&, const core::Guid&) -> DuplexOperation {
       StreamMessage message = duplex_start(run, "x");
       message.guid = core::Guid{4, 4};
       return Enqueue{message};
     }},
    {"Dequeue",
     [](RunId, core::LaneId lane, const Place&, const core::Guid&) -> DuplexOperation {
       return Dequeue{lane, Topic(""), 5, ClaimId(2), core::Epoch(1), std::chrono::seconds(1)};
     }},
    {"Ack",
     [](RunId run, core::LaneId, const Place&, const core::Guid& start) -> DuplexOperation {
       return Ack{run, start, ClaimId(1)};
     }},
    {"GiveBack",
     [](RunId run, core::LaneId, const Place&, const core::Guid& start) -> DuplexOperation {
       return GiveBack{run, start, ClaimId(1), Duration(0)};
     }},
    {"EndDuplex",
     [](RunId run, core::LaneId, const Place&, const core::Guid& start) -> DuplexOperation {
       return EndDuplex{run, core::JobStatus::failed, "", "why", Instant(), start};
     }},
    {"ParkDuplex",
     [](RunId run, core::LaneId, const Place&, const core::Guid&) -> DuplexOperation {
       return ParkDuplex{run, "why"};
     }},
    {"StartDuplex",
     [](RunId, core::LaneId lane, const Place&, const core::Guid&) -> DuplexOperation {
       return StartDuplex{Namespace("default"), JobId("b"), lane, {GraphName("g"), 1, 7}, "in", Instant()};
     },
     OutcomeKind::exists},
};

TEST_P(SingleOperations, whose_reply_was_lost_are_answered_the_same_and_change_nothing) {
  const DuplexOperation operation = scenario().make(run, lane_, Place{1, {}}, start);
  const DuplexJob before = **duplex_->read(run);
  const DuplexOutcome first = commit(operation);
  ASSERT_EQ(first.kind, OutcomeKind::committed) << first.reason;
  const DuplexJob once = **duplex_->read(run);
  if (scenario().name != "StartDuplex") {
    EXPECT_FALSE(once == before) << "it did nothing";
  }
  const DuplexOutcome again = commit(operation);
  EXPECT_EQ(again.kind, scenario().again) << again.reason;
  EXPECT_EQ(again.answer, first.answer);
  EXPECT_EQ(**duplex_->read(run), once) << "the repetition did something";
}

TEST_P(SingleOperations, that_never_arrived_leave_no_trace) {
  fault::Store breaks(*store_, {fault::at_call(1, {fault::Kind::error_before}), nullptr});
  DuplexStore& faulty = breaks.wrap(*duplex_);
  const std::vector<DuplexOperation> group = {scenario().make(run, lane_, Place{1, {}}, start)};
  const DuplexJob before = **duplex_->read(run);
  EXPECT_FALSE(faulty.commit(group));
  EXPECT_EQ(**duplex_->read(run), before);
  EXPECT_EQ(faulty.commit(group)->front().kind, OutcomeKind::committed);
  EXPECT_EQ(breaks.calls(), 2u);
}

TEST_P(SingleOperations, that_arrive_twice_or_alone_of_their_batch_count_once) {
  const DuplexOperation operation = scenario().make(run, lane_, Place{1, {}}, start);
  const DuplexJob before = **duplex_->read(run);
  {
    fault::Store breaks(*store_, {fault::at_call(1, {fault::Kind::drop_midway, 0}), nullptr});
    EXPECT_EQ(breaks.wrap(*duplex_).commit_one(operation).error().code, ErrorCode::outcome_unknown);
    EXPECT_EQ(**duplex_->read(run), before);
  }
  fault::Store breaks(*store_, {fault::at_call(1, {fault::Kind::duplicate}), nullptr});
  EXPECT_EQ(breaks.wrap(*duplex_).commit_one(operation)->kind, scenario().again);
  const DuplexJob once = **duplex_->read(run);
  commit(operation);
  EXPECT_EQ(**duplex_->read(run), once);
}

INSTANTIATE_TEST_SUITE_P(stores, SingleOperations,
                         testing::Combine(testing::ValuesIn(all_stores()), testing::ValuesIn(singles)),
                         store_case_name<Single>);

}  // namespace

}  // namespace pawl::store
