// A commit whose connection is cut between any two protocol messages, in either direction. The test checks that the
// store's answer is true, that all of the group is stored or nothing, and that a caller who reads again and continues
// from there does the work once.
#include "store/postgres/gate_test.h"
#include "store/postgres/store_test.h"

namespace pawl::store::postgres {

namespace {

class PostgresCuts : public PostgresTest {
 protected:
  void SetUp() override {
    truth_ = open();
    ASSERT_NE(truth_, nullptr);
    epoch_ = acquire(*truth_, 1, "a");
    ASSERT_TRUE(gate_.is_up());
    Options options;
    options.schema = schema_.name();
    options.connections = options.readers = 1;
    auto through = Store::open(gate_.address(), options);
    ASSERT_TRUE(through) << to_string(through.error());
    store_ = std::move(*through);
    sender_ = commit(*truth_, submit_of("sender")).run();
    receiver_ = commit(*truth_, submit_of("receiver", 2)).run();
  }

  // A group of several kinds of operations: one job begins, another one takes a step and sends to a third one.
  std::vector<Operation> group(int number) {
    return {submit_of(format("job {}", number)),
            bundle_for(*truth_, sender_, epoch_, {core::Send{{receiver_, start(static_cast<std::uint64_t>(number))}}})};
  }
  std::vector<Operation> plain_group(int number) {
    return {submit_of(format("job {}", number)), bundle_for(*truth_, sender_, epoch_)};
  }
  core::Rev rev() { return (*truth_->read_job(sender_))->state.job.rev; }
  bool is_there(int number) {
    return truth_->find_run(Namespace("default"), JobId(format("job {}", number)))->has_value();
  }

  struct Told {
    int done = 0, retry = 0, unknown = 0, unknown_and_there = 0;
  };
  // Breaks one commit after so many messages. `instead`: called at that point; none: the connection is cut. Returns
  // false if the commit had no more messages, so nothing was broken.
  bool break_one(const std::vector<Operation>& group, int number, Gate::Way way, int behind,
                 std::function<void()> instead, Told& told) {
    const core::Rev before = rev();
    gate_.cut_behind(way, behind, std::move(instead));
    const auto outcomes = store_->commit(group);
    if (!gate_.has_cut()) {
      gate_.count();
      EXPECT_TRUE(outcomes && is_there(number)) << "not broken, and not done";
      return false;
    }
    gate_.wait_ended();
    check_broken(group, number, behind, before, outcomes, told);
    return true;
  }
  void check_broken(const std::vector<Operation>& group, int number, int behind, core::Rev before,
                    const Result<std::vector<Outcome>>& outcomes, Told& told) {
    gate_.count();
    const bool there = is_there(number);
    ASSERT_EQ(rev() != before, there) << "a part of a group, broken behind message " << behind;
    if (outcomes) {
      ++told.done;
      EXPECT_TRUE(there) << behind;
    } else if (outcomes.error().code == ErrorCode::outcome_unknown) {
      ++told.unknown;
      told.unknown_and_there += there ? 1 : 0;
    } else {
      ++told.retry;
      EXPECT_EQ(outcomes.error().code, ErrorCode::retry_later) << to_string(outcomes.error());
      EXPECT_FALSE(there) << "it was there, and the answer was: " << to_string(outcomes.error());
    }
    // Commits the same group again, as an engine does after it has read the state: nothing may be done twice.
    const auto again = store_->commit(group);
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_EQ((*again)[0].kind, there ? OutcomeKind::exists : OutcomeKind::committed);
    EXPECT_EQ((*again)[1].kind, there ? OutcomeKind::already_done : OutcomeKind::committed) << (*again)[1].reason;
    EXPECT_EQ(rev().raw(), before.raw() + 1);
  }

  enum class Kind : bool { plain, mixed };
  Told break_everywhere(Kind kind, Gate::Way way, const std::function<void()>& instead = {}) {
    const auto make = [&](int number) { return kind == Kind::plain ? plain_group(number) : group(number); };
    Told told;
    EXPECT_TRUE(store_->commit(make(++number_)));  // prepares its statements
    int broken = 0;
    for (bool more = true; more && !HasFailure(); broken += more ? 1 : 0) {
      const int number = ++number_;
      more = break_one(make(number), number, way, broken, instead, told);
    }
    EXPECT_GT(broken, 10);
    return told;
  }
  std::function<void()> terminated() {
    return [this] {
      if (!admin_) admin_ = SharedServer::get().connect();
      // Wait until the server has done what passed the gate, however slow it is, and waits for more.
      while (
          *admin_->ask("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name"
                       " = 'gated' AND wait_event IS DISTINCT FROM 'ClientRead'") != "0")
        usleep(1000);
      EXPECT_TRUE(
          admin_->execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = "
                          "current_database() AND application_name = 'gated'"));
    };
  }

  Gate gate_{SharedServer::get().server()->folder(), SharedServer::get().database()};
  std::unique_ptr<Store> truth_;  // does not go through the gate
  std::unique_ptr<Store> store_;
  std::unique_ptr<Connection> admin_;
  core::Epoch epoch_{0};
  RunId sender_{0}, receiver_{0};
  int number_ = 0;
};

TEST_F(PostgresCuts, before_every_message_to_the_server) {
  for (const Kind kind : {Kind::plain, Kind::mixed}) {
    const Told told = break_everywhere(kind, Gate::Way::to_server);
    EXPECT_GT(told.retry, 0);
    EXPECT_GT(told.unknown_and_there, 0) << "COMMIT came through";
    EXPECT_LT(told.unknown_and_there, told.unknown) << "COMMIT did not";
  }
}

TEST_F(PostgresCuts, before_every_message_to_the_client) {
  for (const Kind kind : {Kind::plain, Kind::mixed}) {
    const Told told = break_everywhere(kind, Gate::Way::to_client);
    EXPECT_GT(told.retry, 0);
    EXPECT_GT(told.unknown_and_there, 0);
  }
}

TEST_F(PostgresCuts, sessions_that_are_terminated_between_every_two_statements) {
  const Told told = break_everywhere(Kind::mixed, Gate::Way::to_server, terminated());
  EXPECT_GT(told.retry, 0);
  EXPECT_GT(told.unknown + told.done, 0);
}

}  // namespace

}  // namespace pawl::store::postgres
