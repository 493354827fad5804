// The append-only file of a server that crashed during a write: it is cut in its last transaction, and a server is
// started on the rest. It must have all of that transaction or nothing of it, and a new engine must be able to
// continue. At every byte with PAWL_EVERY_BYTE=1, as `make storm` does.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "store/redis/bench_test.h"

namespace pawl::store::redis {

namespace {

using std::chrono::seconds;

class RedisLog : public OwnStore {
 protected:
  static ServerOptions always() {
    ServerOptions options;
    options.appendfsync = "always";
    return options;
  }
  void SetUp() override { use(server_.url()); }

  std::filesystem::path log() const {
    for (const auto& file : std::filesystem::directory_iterator(server_.folder() / "appendonlydir"))
      if (file.path().string().ends_with(".incr.aof")) return file.path();
    return {};
  }
  // What `write` adds to the file is cut after each byte. `check` learns whether all of it must be there, and gets a
  // store without any memory.
  void cut_everywhere(const std::function<void()>& write, const std::function<void(Store&, bool)>& check) {
    const std::uintmax_t before = std::filesystem::file_size(log());
    write();
    std::ifstream file(log(), std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    ASSERT_GT(whole.size(), before);
    const std::size_t step =
        std::getenv("PAWL_EVERY_BYTE") == nullptr ? std::max<std::size_t>(1, (whole.size() - before) / 40) : 1;
    std::size_t tried = 0;
    for (std::size_t size = before; size <= whole.size();
         size = size == whole.size() ? size + 1 : std::min(size + step, whole.size())) {
      server_.kill();
      std::ofstream(log(), std::ios::binary | std::ios::trunc).write(whole.data(), static_cast<std::streamsize>(size));
      server_.start();
      ASSERT_TRUE(server_.runs()) << size;
      const auto fresh = open_at(server_.url());
      ASSERT_TRUE(fresh) << to_string(fresh.error());
      check(**fresh, size == whole.size());
      ASSERT_FALSE(HasFailure()) << "cut at byte " << size << " of " << before << " to " << whole.size();
      ++tried;
    }
    std::printf("tried: the log cut at %zu of %zu places\n", tried,
                static_cast<std::size_t>(whole.size() - before + 1));
  }

  TestServer server_{always()};
};

TEST_F(RedisLog, cut_anywhere_in_a_script_has_all_of_it_or_nothing) {
  const RunId run = submit("a");
  const core::Guid start = job(run).inbox.at(0).message.guid;
  core::Bundle bundle = bundle_for(run);
  auto& head = std::get<core::JobHead>(bundle.head);
  core::Activity activity;
  activity.ledger = *ledger::ActivityLedger::decode(1'100'000'000'000);
  head.next_activity = 1;
  core::WorkItem item;
  item.run = run;
  item.topic = Topic("t");
  item.request = core::Guid{8, 8};
  item.input = "work";
  bundle.writes = {core::Consume{start}, core::PutActivity{std::nullopt, activity}, core::PutWork{item},
                   core::PutMessage{{core::Guid{1, 3}, core::Pause{"p"}}, store_->now() + seconds(60)}};
  cut_everywhere([&] { ASSERT_EQ(commit(bundle).kind, OutcomeKind::committed); },
                 [&](Store& fresh, bool all) {
                   const StoredJob stored = **fresh.read_job(run);
                   EXPECT_EQ(stored.state.job.rev, core::Rev(all ? 1 : 0));
                   EXPECT_EQ(stored.inbox.size(), all ? 0u : 1u);
                   EXPECT_EQ(stored.timers.size(), all ? 1u : 0u);
                   EXPECT_EQ(stored.state.activities().size(), all ? 1u : 0u);
                   EXPECT_EQ(stored.state.find_work(core::ActivitySeq(0)) != nullptr, all);
                   // The store continues: the same bundle is the next one, or was already applied.
                   const Operation again = bundle;
                   const auto outcomes = fresh.commit({&again, 1});
                   ASSERT_TRUE(outcomes) << to_string(outcomes.error());
                   EXPECT_EQ(outcomes->front().kind, all ? OutcomeKind::already_done : OutcomeKind::committed)
                       << outcomes->front().reason;
                   EXPECT_EQ((**fresh.read_job(run)).state.job.rev, core::Rev(1));
                 });
}

// The start message, which the first step takes, is never written: neither half may be there alone.
TEST_F(RedisLog, cut_anywhere_in_a_submit_with_its_first_step_has_both_or_nothing) {
  const RunId run(submit("before").raw() + 1);
  core::Bundle bundle;
  bundle.entity = run;
  bundle.epoch = epoch_;
  bundle.id = core::BundleId(5);
  bundle.with_submit = true;
  core::JobHead head;
  head.semaphore = core::SemaphoreStep{1, 1, 0, false};
  head.next_activity = 1;
  bundle.head = head;
  core::Activity activity;
  activity.ledger = *ledger::ActivityLedger::decode(1'100'000'000'000);
  core::WorkItem item;
  item.run = run;
  item.topic = Topic("t");
  item.request = core::Guid{8, 8};
  item.input = "work";
  bundle.writes = {core::PutActivity{std::nullopt, activity}, core::PutWork{item},
                   core::Consume{core::start_message(run, {}).guid}};
  const std::vector<Operation> group = {a_job("a", lane_), bundle};
  cut_everywhere(
      [&] {
        const auto outcomes = store_->commit(group);
        ASSERT_TRUE(outcomes) << to_string(outcomes.error());
        ASSERT_EQ((*outcomes)[0].run(), run);
        ASSERT_EQ((*outcomes)[1].kind, OutcomeKind::committed) << (*outcomes)[1].reason;
      },
      [&](Store& fresh, bool all) {
        EXPECT_EQ(fresh.read_job(run)->has_value(), all);
        EXPECT_EQ(fresh.read_waiting(lane_, RunId(0), 10)->size(), 1u) << "only the job before waits";
        const auto again = fresh.commit(group);
        ASSERT_TRUE(again) << to_string(again.error());
        EXPECT_EQ((*again)[0].kind, all ? OutcomeKind::exists : OutcomeKind::committed);
        EXPECT_EQ((*again)[0].run(), run);
        EXPECT_EQ((*again)[1].kind, all ? OutcomeKind::conflict : OutcomeKind::committed) << (*again)[1].reason;
        const StoredJob stored = **fresh.read_job(run);
        EXPECT_EQ(stored.state.job.rev, core::Rev(1));
        EXPECT_TRUE(stored.inbox.empty());
        EXPECT_NE(stored.state.find_work(core::ActivitySeq(0)), nullptr);
      });
}

TEST_F(RedisLog, cut_anywhere_in_a_step_of_duplex_has_all_of_it_or_nothing) {
  const StartDuplex start{Namespace("n"), JobId("job"), lane_, {GraphName("g"), 1, 7}, "in", store_->now()};
  const RunId run = store_->duplex().commit_one(start)->run();
  const DuplexOperation put = Enqueue{{run, core::Guid{1, 1}, stream::Request{Place{}, Topic("work"), "data"}}};
  cut_everywhere([&] { ASSERT_EQ(store_->duplex().commit_one(put)->kind, OutcomeKind::committed); },
                 [&](Store& fresh, bool all) {
                   EXPECT_EQ((**fresh.duplex().read(run)).stream.size(), all ? 2u : 1u);
                   const auto again = fresh.duplex().commit_one(put);
                   ASSERT_TRUE(again) << to_string(again.error());
                   EXPECT_EQ(again->kind, all ? OutcomeKind::already_done : OutcomeKind::committed);
                   EXPECT_EQ((**fresh.duplex().read(run)).stream.size(), 2u);
                   auto handed = fresh.duplex().commit_one(
                       Dequeue{lane_, Topic("work"), 10, ClaimId(3), core::Epoch(1), seconds(30)});
                   ASSERT_TRUE(handed);
                   EXPECT_EQ(handed->take_handed().messages.size(), 1u);
                 });
}

}  // namespace

}  // namespace pawl::store::redis
