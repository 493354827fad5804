// Which processes are notified of a commit.
#include "store/postgres/bell.h"

#include <condition_variable>

#include "store/postgres/store_test.h"

namespace pawl::store::postgres {

namespace {

class Ear final : public Listener {
 public:
  void rung(const Change& change) override {
    const std::lock_guard lock(mutex_);
    heard_.push_back(change);
    changed_.notify_all();
  }
  void owner_gone() override {}

  template <class Is>
  bool hears(const Is& is, std::chrono::milliseconds within = std::chrono::seconds(20)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, within, [&] { return std::any_of(heard_.begin(), heard_.end(), is); });
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    heard_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Change> heard_;
};

bool is_everything(const Change& change) { return change == Change::everything(); }
auto names(RunId run) {
  return [run](const Change& change) {
    return std::find(change.runs.begin(), change.runs.end(), run) != change.runs.end();
  };
}

class PostgresBell : public PostgresTest {};

TEST_F(PostgresBell, the_owner_of_a_lane_hears_which_run_another_node_reached_and_not_what_it_did_itself) {
  auto owner = open();
  auto other = open();
  acquire(*owner, 1, "a");
  Ear ear;
  owner->listen(ear);
  ASSERT_TRUE(ear.hears(is_everything)) << "it does not know what it missed before";
  ear.forget();
  const RunId own = commit(*owner, submit_of("own")).run();
  const RunId theirs = commit(*other, submit_of("theirs")).run();
  EXPECT_TRUE(ear.hears(names(theirs)));
  EXPECT_FALSE(ear.hears(names(own), std::chrono::milliseconds(0)));
  ear.forget();
  commit(*other, Deliver{{own, start(7)}});
  EXPECT_TRUE(ear.hears(names(own)));
  owner->stop_listening(ear);
}

TEST_F(PostgresBell, what_a_bundle_sends_into_anothers_lane_is_heard_there) {
  auto one = open();
  auto two = open();
  const core::Epoch epoch = acquire(*one, 1, "a");
  acquire(*two, 2, "b");
  const RunId from = commit(*one, submit_of("from", 1)).run();
  const RunId to = commit(*one, submit_of("to", 2)).run();
  Ear ear;
  two->listen(ear);
  ASSERT_TRUE(ear.hears(is_everything));
  ear.forget();
  commit(*one, bundle_for(*one, from, epoch, {core::Send{{to, start(1)}}}));
  EXPECT_TRUE(ear.hears(names(to)));
  EXPECT_FALSE(ear.hears(names(from), std::chrono::milliseconds(0))) << "what happens in its own lane is nobody else's";
  two->stop_listening(ear);
}

TEST_F(PostgresBell, after_its_connection_was_lost_a_listener_hears_that_anything_may_have_changed) {
  auto store = open("&application_name=deaf_for_a_while");
  Ear ear;
  store->listen(ear);
  ASSERT_TRUE(ear.hears(is_everything));
  ear.forget();
  auto admin = SharedServer::get().connect();
  ASSERT_TRUE(
      admin->execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND "
                     "application_name = 'deaf_for_a_while'"
                     " AND query LIKE 'LISTEN%'"));
  EXPECT_TRUE(ear.hears(is_everything));
  ear.forget();
  auto other = open();
  const RunId run = commit(*other, submit_of("later")).run();
  EXPECT_TRUE(ear.hears(names(run)));
  store->stop_listening(ear);
}

TEST(PostgresRings, are_read_as_they_were_written_unless_they_are_ones_own) {
  Change change;
  change.topics = true;
  for (std::uint64_t run = 1; run <= pawl::limits::changed_runs_max; ++run) change.add(RunId(run << 40));
  const std::string text = Bell::encode_ring(7, change);
  EXPECT_LE(text.size(), limits::notify_bytes_max);
  EXPECT_EQ(Bell::decode_ring(8, text), change);
  EXPECT_EQ(Bell::decode_ring(7, text), std::nullopt);
  for (const char* damaged : {"", "zz", "8", "8 0", "8 xy", "8 0102030405"})
    EXPECT_EQ(Bell::decode_ring(7, damaged), Change::everything()) << damaged;
}

}  // namespace

}  // namespace pawl::store::postgres
