// The lettered sequences as an acceptance script: every operation of a job, in order, with its result.
#include <gtest/gtest.h>

#include "base/format.h"
#include "core/test_graph.h"
#include "duplex/engine.h"
#include "store/memory/store.h"

namespace pawl::duplex {
namespace {

class ManualClock final : public Clock {
 public:
  Instant now() const override { return Instant::from_micros(1'000'000) + since_; }
  Duration monotonic() const override { return since_; }
  void advance_to(Duration at) { since_ = std::max(since_, at); }

 private:
  Duration since_{0};
};

std::string_view name_of(const stream::Body& body) {
  return std::visit(Overloaded{
                        [](const stream::Start&) { return "start"; },
                        [](const stream::Transition&) { return "transition"; },
                        [](const stream::Request&) { return "request"; },
                        [](const stream::Reply&) { return "response"; },
                        [](const stream::Cleanup&) { return "cleanup"; },
                    },
                    body);
}

// One line per operation; dequeues that found nothing are left out.
std::string line_of(const Operation& operation, const Outcome& outcome) {
  return std::visit(
      Overloaded{
          [&](const store::StartDuplex&) { return std::string("unique id"); },
          [&](const store::SetCell& o) { return format("set {} {}", o.place.node, outcome.value()); },
          [&](const store::AddToCell& o) { return format("add {} {:015}", o.place.node, outcome.value()); },
          [&](const store::NameCloser& o) { return format("closer {}", o.place.node); },
          [&](const store::OpenAddress& o) { return format("open {}", o.place.node); },
          [&](const store::CloseAddress& o) {
            return format("close {}{}", o.place.node, outcome.none_left() ? " empty" : "");
          },
          [&](const store::Enqueue& o) {
            return format("enqueue {}{}", name_of(o.message.body), o.renew ? " anew" : "");
          },
          [&](const store::Dequeue&) {
            const auto& messages = outcome.handed().messages;
            return messages.empty() ? std::string() : format("dequeue {}", name_of(messages[0].message.body));
          },
          [&](const store::Ack&) { return std::string("ack"); },
          [&](const store::GiveBack&) { return std::string("give back"); },
          [&](const store::EndDuplex&) { return std::string("end"); },
          [&](const store::ParkDuplex&) { return std::string("park"); },
      },
      operation);
}

class Letters : public ::testing::Test, public Events {
 protected:
  Letters() : store_(clock_) {
    const store::Operation open = store::OpenPool{Pool("graphs"), 1};
    EXPECT_TRUE(store_.commit({&open, 1}).ok());
    graph_ = std::make_shared<const Graph>(std::move(*core::TestGraph("g")
                                                          .trigger("t")
                                                          .worker("a", "work")
                                                          .after("t")
                                                          .worker("b", "other")
                                                          .after("a")
                                                          .collation(Collation::duplex)
                                                          .build()));
    restart();
  }

  // The process restarts: what the old one had in memory is gone.
  void restart(std::size_t slots = 4, EngineOptions options = {}) {
    ++epoch_;
    options.seed = epoch_;
    engine_ = std::make_unique<Engine>(
        options, store_.duplex(), clock_, [this](const core::GraphRef&) { return graph_; }, *this);
    engine_->own({{core::LaneId(1), core::Epoch(epoch_)}});
    engine_->serve(Topic("work"));
    engine_->serve(Topic("other"));
    engine_->add_slots(slots);
  }
  void submit(const std::string& id = "job", const Payload& input = "in") {
    const core::GraphRef ref{graph_->name(), graph_->version(), graph_->fingerprint()};
    engine_->submit(store::StartDuplex{Namespace("default"), JobId(id), core::LaneId(1), ref, input, clock_.now()}, 1);
  }
  void answer_reads() {
    for (auto asking = engine_->asking(); !asking.empty(); asking = engine_->asking())
      for (const auto step : asking) engine_->settle_read(step, store_.duplex().answer(engine_->question(step)));
  }
  // The steps to commit, after all reads were made.
  std::vector<Engine::StepId> ready() {
    answer_reads();
    return engine_->ready();
  }
  // Commits until nothing is left or the line was written. Time passes when there is nothing else to do.
  void run(const std::string& until = "") {
    for (int i = 0; i < 1000; ++i) {
      const auto steps = ready();
      if (steps.empty()) {
        const auto wake = engine_->next_wake();
        if (!wake || *wake > clock_.monotonic() + std::chrono::seconds(20)) return;
        clock_.advance_to(*wake);
        continue;
      }
      const Operation operation = engine_->operation(steps.front());
      auto outcome = store_.duplex().commit_one(operation);
      const std::string line = line_of(operation, *outcome);
      engine_->settle(steps.front(), std::move(outcome));
      answer_reads();
      if (!line.empty()) lines_.push_back(line);
      if (!until.empty() && line == until) return;
    }
    ADD_FAILURE() << "it goes round in circles";
  }
  std::vector<std::string> take() { return std::exchange(lines_, {}); }
  void answer(core::ReplyStatus status, std::int32_t code = 200) {
    ASSERT_FALSE(dispatched_.empty());
    engine_->answer(dispatched_.back().hand.guid, Answer{status, code, "out"});
  }
  store::DuplexJob job() { return **store_.duplex().read(**store_.find_run(Namespace("default"), JobId("job"))); }
  std::int64_t state(std::size_t cell) { return job().cells.at(cell).value; }
  void to_worker() {
    submit();
    run();
    ASSERT_EQ(dispatched_.size(), 1u);
    take();
  }

  void dispatch(const HeldRequest& request, const core::JobRow&) override { dispatched_.push_back(request); }
  void submitted(Ticket, Result<Started> result) override { EXPECT_TRUE(result.ok()); }
  void replied(Ticket, Status result) override { replies_.push_back(result.ok()); }
  void answered(Ticket, Result<Outcome> outcome) override { answers_.push_back(std::move(outcome)); }
  void changed(const core::JobRow&, const Graph&, const Change&) override {}
  void ended(RunId) override { ++ended_; }
  void problem(const std::string& text) override { problems_.push_back(text); }

  using Lines = std::vector<std::string>;
  ManualClock clock_;
  store::memory::Store store_;
  std::shared_ptr<const Graph> graph_;
  std::unique_ptr<Engine> engine_;
  std::uint64_t epoch_ = 0;
  Lines lines_;
  std::vector<HeldRequest> dispatched_;
  std::vector<bool> replies_;
  std::vector<Result<Outcome>> answers_;
  std::vector<std::string> problems_;
  int ended_ = 0;
};

TEST_F(Letters, trigger_leg_2_and_worker_leg_1) {
  submit();
  run();
  EXPECT_EQ(take(), (Lines{
                        "unique id",              // A
                        "dequeue start",          //
                        "set 0 888000001000001",  // B
                        "closer 0",               //
                        "open 1",                 //
                        "set 1 999000000000000",  // E, before
                        "enqueue transition",     // C
                        "ack",                    //
                        "dequeue transition",     // a
                        "add 1 899000000000000",  // c
                        "enqueue request",        // d
                        "add 1 889000000000000",  // e
                        "ack",                    // f
                        "dequeue request",        // g, h and X follow
                    }));
  ASSERT_EQ(dispatched_.size(), 1u);
}

TEST_F(Letters, a_synchronous_worker_and_a_response_that_succeeds) {
  to_worker();
  answer(core::ReplyStatus::success);
  run("dequeue transition");
  EXPECT_EQ(take(), (Lines{
                        "enqueue response",       // j
                        "ack",                    // k
                        "dequeue response",       // l
                        "add 1 889000001000000",  // m
                        "closer 1",               //
                        "open 2",                 //
                        "set 2 999000000000000",  // q, before
                        "enqueue transition",     // n
                        "add 1 888000001000001",  // o and p
                        "close 1",                //
                        "ack",                    // s
                        "dequeue transition",
                    }));
}

TEST_F(Letters, the_last_response_closes_the_job_and_enqueues_its_cleanup) {
  to_worker();
  answer(core::ReplyStatus::success);
  run();
  take();
  answer(core::ReplyStatus::success);
  run();
  EXPECT_EQ(take(), (Lines{"enqueue response", "ack", "dequeue response", "add 2 889000001000000", "closer 2",
                           "add 2 888000001000001", "close 2 empty",
                           "enqueue cleanup",  // r
                           "ack",              // s
                           "dequeue cleanup", "end", "ack"}));
  EXPECT_EQ(job().job.status, core::JobStatus::completed);
  EXPECT_EQ(ended_, 1);
}

TEST_F(Letters, an_asynchronous_worker_acknowledges_before_it_answers) {
  to_worker();
  auto deferred = engine_->defer(dispatched_.back().hand.guid);
  ASSERT_TRUE(deferred);
  run();
  EXPECT_EQ(take(), Lines{"ack"});  // k
  restart();                        // the answer comes to another process
  engine_->reply(*deferred, Answer{core::ReplyStatus::success, 200, "out"}, 7);
  run("add 1 888000001000001");
  EXPECT_EQ(take(), (Lines{"enqueue response",  // j
                           "dequeue response", "add 1 889000001000000", "closer 1", "open 2", "set 2 999000000000000",
                           "enqueue transition", "add 1 888000001000001"}));
  EXPECT_EQ(replies_, std::vector<bool>{true});
}

TEST_F(Letters, a_pending_response_leaves_the_activity_open) {
  to_worker();
  answer(core::ReplyStatus::pending, 202);
  run("ack");
  EXPECT_EQ(take(), (Lines{"enqueue response",       // j
                           "dequeue response",       // l
                           "add 1 889000001000000",  // m
                           "open 2", "set 2 999000000000000",
                           "enqueue transition",     // n
                           "add 1 889000001000001",  // o
                           "ack"}));                 // s
}

TEST_F(Letters, an_uncaught_error_fails_the_job) {
  to_worker();
  answer(core::ReplyStatus::error, 500);
  run();
  EXPECT_EQ(take(), (Lines{"enqueue response", "ack",
                           "dequeue response",       // l
                           "add 1 889000001000000",  // m
                           "closer 1",
                           "add 1 887000001000000",  // p
                           "enqueue cleanup",        // r
                           "ack",                    // s
                           "dequeue cleanup", "end", "ack"}));
  EXPECT_EQ(job().job.status, core::JobStatus::failed);
  EXPECT_EQ(job().job.reason, "activity a failed with code 500: out");
}

TEST_F(Letters, a_crash_before_leg_1_was_left_reads_799_and_is_run_again) {
  submit();
  run("enqueue request");
  take();
  restart();
  run("ack");
  EXPECT_EQ(take(), (Lines{"dequeue transition", "dequeue request", "add 1 799000000000000", "enqueue request anew",
                           "add 1 789000000000000", "ack"}));
}

TEST_F(Letters, a_crash_before_the_ack_of_leg_1_reads_789_and_only_looks) {
  submit();
  run("add 1 889000000000000");
  take();
  restart();
  run("ack");
  const Lines lines = take();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "add 1 789000000000000"), 1);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "enqueue request"), 1);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "enqueue request anew"), 0);
  EXPECT_EQ(state(1), 789000000000000);
  run();
  EXPECT_EQ(dispatched_.size(), 1u) << "the request was out already";
}

TEST_F(Letters, the_ninth_entry_of_leg_1_parks_the_job) {
  submit();
  for (int i = 1; i < 9; ++i) {
    run(format("add 1 {}99000000000000", 9 - i));
    restart();
  }
  run();
  EXPECT_EQ(take().back(), "park");
  EXPECT_EQ(state(1), 99000000000000);
  EXPECT_EQ(job().job.status, core::JobStatus::parked);
  EXPECT_EQ(job().job.reason, "activity a at ,0,0 was entered 9 times and never left");
  EXPECT_TRUE(dispatched_.empty());
}

TEST_F(Letters, a_worker_that_never_comes_back_parks_the_job_after_ten_runs) {
  submit();
  for (std::uint32_t i = 0; i < limits::duplex_deliveries_max; ++i) {
    run();
    ASSERT_EQ(dispatched_.size(), i + 1);
    EXPECT_EQ(dispatched_.back().hand.deliveries, i + 1);
    restart();
  }
  run();
  EXPECT_EQ(dispatched_.size(), limits::duplex_deliveries_max);
  EXPECT_EQ(job().job.status, core::JobStatus::parked);
}

TEST_F(Letters, a_reply_that_comes_after_the_end_changes_nothing) {
  to_worker();
  auto deferred = engine_->defer(dispatched_.back().hand.guid);
  run();
  auto late = *deferred;
  engine_->reply(*deferred, Answer{core::ReplyStatus::error, 500, "no"}, 1);
  run();
  ASSERT_EQ(job().job.status, core::JobStatus::failed);
  const store::DuplexJob before = job();
  engine_->reply(late, Answer{core::ReplyStatus::success, 200, "yes"}, 2);
  run();
  EXPECT_EQ(job(), before);
  EXPECT_EQ(replies_, (std::vector<bool>{true, false}));
}

TEST_F(Letters, a_late_response_is_counted_and_taken_back) {
  to_worker();
  const HeldRequest request = dispatched_.back();
  answer(core::ReplyStatus::success);
  run("close 1");
  take();
  const Operation late = enqueue(response_to(request, core::ReplyStatus::pending, 202, 5, "late"));
  ASSERT_TRUE(store_.duplex().commit_one(late).ok());
  engine_->look();
  run();
  const Lines lines = take();
  const auto counted = std::find(lines.begin(), lines.end(), "add 1 888000002000001");
  ASSERT_NE(counted, lines.end());
  EXPECT_NE(std::find(counted, lines.end(), "add 1 888000001000001"), lines.end());
  EXPECT_EQ(state(1), 888000001000001);
}

TEST_F(Letters, an_operation_whose_reply_was_lost_is_asked_for_again) {
  submit();
  int commits = 0;
  for (int i = 0; i < 500; ++i) {
    const auto steps = ready();
    if (steps.empty()) {
      const auto wake = engine_->next_wake();
      if (!wake || *wake > clock_.monotonic() + std::chrono::seconds(20)) break;
      clock_.advance_to(*wake);
      continue;
    }
    const Operation operation = engine_->operation(steps.front());
    auto outcome = store_.duplex().commit_one(operation);
    if (commits++ % 2 == 0)
      engine_->settle(steps.front(), Error{ErrorCode::outcome_unknown, "lost"});
    else
      engine_->settle(steps.front(), std::move(outcome));
  }
  EXPECT_EQ(dispatched_.size(), 1u);
  EXPECT_EQ(state(1), 889000000000000);
  EXPECT_FALSE(problems_.empty());
}

TEST_F(Letters, a_stopping_engine_begins_nothing_and_gives_back_what_no_worker_began) {
  to_worker();
  engine_->stop();
  EXPECT_TRUE(engine_->give_back(dispatched_.back().hand.guid));
  run();
  EXPECT_EQ(take(), Lines{"give back"});
  EXPECT_TRUE(engine_->drained());
  EXPECT_FALSE(engine_->answer(dispatched_.back().hand.guid, Answer{}));
  restart();
  run();
  EXPECT_EQ(dispatched_.size(), 2u);
  EXPECT_EQ(dispatched_.back().hand.deliveries, 1u) << "it was never delivered";
}

// A worker that never returns keeps no slot: the next request gets it.
TEST_F(Letters, a_worker_that_is_written_off_gives_its_slot_back_and_its_answer_still_counts) {
  restart(1);
  submit("first");
  submit("second");
  run();
  ASSERT_EQ(dispatched_.size(), 1u) << "there is one slot";
  EXPECT_TRUE(engine_->write_off(dispatched_[0].hand.guid));
  EXPECT_TRUE(engine_->write_off(dispatched_[0].hand.guid)) << "said twice";
  run();
  ASSERT_EQ(dispatched_.size(), 2u);
  EXPECT_FALSE(engine_->write_off(core::Guid{1, 1}));

  engine_->answer(dispatched_[0].hand.guid, Answer{core::ReplyStatus::success, 200, "late"});
  run();
  EXPECT_EQ(dispatched_.size(), 2u) << "its answer frees no second slot";
  engine_->answer(dispatched_[1].hand.guid, Answer{core::ReplyStatus::success, 200, "out"});
  run();
  EXPECT_EQ(dispatched_.size(), 3u) << "what followed from one of them";
}

// Messages are limited by their bytes as well: large ones are taken one after the other, and none is too large forever.
TEST_F(Letters, large_requests_wait_in_the_store_until_there_is_room_for_their_bytes) {
  EngineOptions options;
  options.work_bytes_max = 1000;
  options.bytes_max = 1000;
  restart(4, options);
  for (const char* id : {"a", "b", "c"}) submit(id, std::string(900, 'x'));
  run();
  ASSERT_EQ(dispatched_.size(), 2u) << "one more is let through; then slots are free, but none for so many bytes";
  EXPECT_EQ(engine_->bytes(), 0u) << "what a worker has is not under way";
  engine_->answer(dispatched_[0].hand.guid, Answer{core::ReplyStatus::error, 500, "no"});
  run();
  EXPECT_EQ(dispatched_.size(), 3u);
}

// A store far away takes its time for a dequeue: callers are not refused for what it might bring.
TEST_F(Letters, what_a_dequeue_may_bring_is_not_under_way_yet) {
  EngineOptions options;
  options.bytes_max = 1000;
  restart(4, options);
  const auto asked = ready();
  ASSERT_FALSE(asked.empty()) << "it looks for messages when it starts";
  EXPECT_EQ(engine_->bytes(), 0u);
}

// A decision from outside is one operation, and the engine looks at the streams that it concerns.
TEST_F(Letters, what_is_asked_from_outside_is_committed_once_and_answered) {
  to_worker();
  store::EndDuplex end{job().job.run, core::JobStatus::interrupted};
  end.reason = "enough";
  engine_->ask(end, 7);
  run();
  EXPECT_EQ(take(), Lines{"end"});
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0]->kind, store::OutcomeKind::committed);
  EXPECT_EQ(ended_, 1);
  engine_->ask(store::Enqueue{response_to(dispatched_[0], core::ReplyStatus::success, 200, 0, "x")}, 8);
  run();
  ASSERT_EQ(answers_.size(), 2u);
  EXPECT_EQ(answers_[1]->kind, store::OutcomeKind::conflict) << "the job is over";
  engine_->ask(end, 9);
  engine_->settle(ready().front(), Error{ErrorCode::retry_later, "full"});
  ASSERT_EQ(answers_.size(), 3u);
  EXPECT_FALSE(answers_[2]) << "whoever asked may ask again";
}

}  // namespace
}  // namespace pawl::duplex
