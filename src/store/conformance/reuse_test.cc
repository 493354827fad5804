// An id that is used again: what each policy does in each state of the id's last run.
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

enum class Old : std::uint8_t { running, parked, paused, completed, failed, interrupted, unfinished, gone, expired };
enum class New : std::uint8_t { exists, begins, replaces };

struct Wish {
  std::string name;
  Old old;
  Reuse reuse;
  New answer;
};

std::vector<Wish> wishes() {
  struct State {
    const char* name;
    Old old;
    New never, after_close, replace;
  };
  const State states[] = {
      {"running", Old::running, New::exists, New::exists, New::replaces},
      {"parked", Old::parked, New::exists, New::exists, New::replaces},
      {"paused", Old::paused, New::exists, New::exists, New::replaces},
      {"completed", Old::completed, New::exists, New::begins, New::begins},
      {"failed", Old::failed, New::exists, New::begins, New::begins},
      {"interrupted", Old::interrupted, New::exists, New::begins, New::begins},
      {"closed_but_unfinished", Old::unfinished, New::exists, New::begins, New::begins},
      {"removed", Old::gone, New::exists, New::begins, New::begins},
      {"removed_and_expired", Old::expired, New::begins, New::begins, New::begins},
  };
  std::vector<Wish> all;
  for (const State& state : states) {
    all.push_back({format("never_while_{}", state.name), state.old, Reuse::never, state.never});
    all.push_back({format("after_close_while_{}", state.name), state.old, Reuse::after_close, state.after_close});
    all.push_back({format("replace_while_{}", state.name), state.old, Reuse::replace, state.replace});
  }
  return all;
}

class Reuses : public StoreCaseTest<Wish> {
 protected:
  Submit order(Reuse reuse) {
    Submit submit{Namespace("default"), JobId("a"), lane_, {GraphName("g"), 1, 1}, "in", clock_.now()};
    submit.reuse = reuse;
    return submit;
  }
  void stop(RunId run, core::JobStatus status) {
    core::Bundle bundle = bundle_for(run);
    std::get<core::JobHead>(bundle.head).status = status;
    ASSERT_EQ(kind_of(std::move(bundle)), OutcomeKind::committed);
  }
  void bring(RunId run, Old old) {
    switch (old) {
      case Old::running:
        return;
      case Old::parked:
        return stop(run, core::JobStatus::parked);
      case Old::paused:
        return stop(run, core::JobStatus::paused);
      case Old::completed:
        return end(run, core::JobStatus::completed);
      case Old::failed:
        return end(run, core::JobStatus::failed);
      case Old::interrupted:
        return end(run, core::JobStatus::interrupted);
      case Old::unfinished:
        return close(run, core::JobStatus::failed);
      case Old::gone:
      case Old::expired:
        end(run);
        ASSERT_EQ(kind_of(RemoveJob{run, clock_.now() + std::chrono::seconds(10)}), OutcomeKind::committed);
        clock_.advance(std::chrono::seconds(old == Old::gone ? 9 : 10));
    }
  }
};

TEST_P(Reuses, of_an_id_follow_the_policy_and_the_state_of_its_last_run) {
  const RunId old = submit("a");
  bring(old, scenario().old);
  const auto before = store_->read_job(old);
  const Outcome outcome = commit(order(scenario().reuse));
  const auto after = store_->read_job(old);
  if (scenario().answer == New::exists) {
    EXPECT_EQ(outcome.kind, OutcomeKind::exists);
    EXPECT_EQ(outcome.run(), old);
    EXPECT_EQ(outcome.replaced(), RunId(0));
    EXPECT_EQ(store_->list_jobs({})->size(), *before ? 1u : 0u);
    return;
  }
  ASSERT_EQ(outcome.kind, OutcomeKind::committed);
  EXPECT_NE(outcome.run(), old);
  EXPECT_EQ(**store_->find_run(Namespace("default"), JobId("a")), outcome.run());
  EXPECT_EQ(job(outcome.run()).inbox.size(), 1u);
  EXPECT_EQ(job(outcome.run()).state.job.rev, core::Rev(0));
  if (scenario().answer == New::begins) {
    EXPECT_EQ(outcome.replaced(), RunId(0));
    EXPECT_EQ(after->has_value(), before->has_value());
    if (*after) {
      EXPECT_EQ((*after)->state, (*before)->state);
      EXPECT_EQ((*after)->inbox, (*before)->inbox);
    }
    return;
  }
  EXPECT_EQ(outcome.replaced(), old);
  EXPECT_EQ((*after)->state, (*before)->state) << "the run itself decides about its end";
  ASSERT_EQ((*after)->inbox.size(), (*before)->inbox.size() + 1);
  const core::Message told = (*after)->inbox.back().message;
  EXPECT_EQ(told.guid, core::Guid::of_run(outcome.run()).derive(core::Guid::Purpose::replaced, 0));
  EXPECT_EQ(told.body, core::Body(core::Interrupt{410, "replaced by a new run of the same id"}));
  const auto waiting = store_->read_waiting(lane_, RunId(0), 10);
  EXPECT_EQ(waiting->size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(stores, Reuses, testing::Combine(testing::ValuesIn(all_stores()), testing::ValuesIn(wishes())),
                         store_case_name<Wish>);

class ReusedIds : public StoreTest {
 protected:
  Submit order(Reuse reuse) {
    Submit submit{Namespace("default"), JobId("a"), lane_, {GraphName("g"), 1, 1}, "in", clock_.now()};
    submit.reuse = reuse;
    return submit;
  }
};

// However often a successor is asked for, also by two at once, and also when the first one has ended already.
TEST_P(ReusedIds, a_run_has_one_successor) {
  const RunId old = submit("a");
  end(old, core::JobStatus::failed);
  Submit next = order(Reuse::after_close);
  next.follows = old;
  const Outcome first = commit(next);
  ASSERT_EQ(first.kind, OutcomeKind::committed);
  EXPECT_EQ(kind_of(next), OutcomeKind::conflict);
  end(first.run());
  const Outcome second = commit(next);
  EXPECT_EQ(second.kind, OutcomeKind::conflict);
  EXPECT_NE(second.reason.find("another run goes on for it"), std::string::npos);
  ASSERT_EQ(kind_of(RemoveJob{first.run(), Instant()}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(next), OutcomeKind::conflict) << "nobody has the id any more";
  EXPECT_EQ(store_->list_jobs({})->size(), 1u);
}

TEST_P(ReusedIds, the_successor_of_an_open_run_is_refused) {
  const RunId old = submit("a");
  Submit next = order(Reuse::after_close);
  next.follows = old;
  const Outcome outcome = commit(next);
  EXPECT_EQ(outcome.kind, OutcomeKind::exists);
  EXPECT_EQ(outcome.run(), old);
}

TEST_P(ReusedIds, a_replacement_that_is_rejected_leaves_the_old_run_alone) {
  const RunId old = submit("a");
  Submit nowhere = order(Reuse::replace);
  nowhere.lane = core::LaneId(60'000);
  EXPECT_EQ(kind_of(nowhere), OutcomeKind::rejected);
  Submit large = order(Reuse::replace);
  large.priority = 2'000'000;
  EXPECT_EQ(kind_of(large), OutcomeKind::rejected);
  EXPECT_EQ(job(old).inbox.size(), 1u);
  EXPECT_EQ(**store_->find_run(Namespace("default"), JobId("a")), old);
}

TEST_P(ReusedIds, a_replacement_in_a_group_with_a_refused_operation_happens_whole) {
  const RunId old = submit("a");
  const RunId other = submit("b");
  enqueue(other, 1);
  const auto outcomes = commit_all(
      {order(Reuse::replace), bundle_with(other, {core::PutMessage{start_message(1)},
                                                  core::DropWork{core::ActivitySeq(0), core::WorkToken(9)}})});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::conflict);
  EXPECT_EQ(job(old).inbox.size(), 2u);
  EXPECT_EQ(job(outcomes[0].run()).inbox.size(), 1u);
}

TEST_P(ReusedIds, runs_that_replace_each_other_each_tell_the_one_before) {
  std::vector<RunId> runs = {submit("a")};
  for (int i = 0; i < 5; ++i) {
    const Outcome outcome = commit(order(Reuse::replace));
    EXPECT_EQ(outcome.replaced(), runs.back());
    runs.push_back(outcome.run());
  }
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) EXPECT_EQ(job(runs[i]).inbox.size(), 2u);
  EXPECT_EQ(job(runs.back()).inbox.size(), 1u);
}

TEST_P(ReusedIds, a_replacement_of_a_job_that_has_not_started_leaves_its_timers) {
  Submit later = order(Reuse::never);
  later.start_at = clock_.now() + std::chrono::seconds(60);
  const RunId old = commit(later).run();
  EXPECT_EQ(commit(order(Reuse::replace)).replaced(), old);
  EXPECT_EQ(job(old).timers.size(), 1u);
  EXPECT_EQ(job(old).inbox.size(), 1u);
}

TEST_P(ReusedIds, a_key_is_over_at_its_very_time) {
  const RunId old = submit("a");
  end(old);
  ASSERT_EQ(kind_of(RemoveJob{old, clock_.now() + std::chrono::seconds(5)}), OutcomeKind::committed);
  clock_.advance(std::chrono::seconds(5) - Duration(1));
  EXPECT_EQ(commit(order(Reuse::never)).run(), old);
  clock_.advance(Duration(1));
  EXPECT_EQ(kind_of(order(Reuse::never)), OutcomeKind::committed);
}

TEST_P(ReusedIds, an_id_is_free_again_only_in_its_own_namespace) {
  const RunId one = submit_to(lane_, "a", "one");
  submit_to(lane_, "a", "two");
  end(one);
  ASSERT_EQ(kind_of(RemoveJob{one, Instant()}), OutcomeKind::committed);
  Submit again = order(Reuse::never);
  again.name_space = Namespace("two");
  EXPECT_EQ(kind_of(again), OutcomeKind::exists);
  again.name_space = Namespace("one");
  EXPECT_EQ(kind_of(again), OutcomeKind::committed);
}

INSTANTIATE_TEST_SUITE_P(stores, ReusedIds, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
