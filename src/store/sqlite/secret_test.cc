// What step 6 of the layout promises: jobs of a file of version 5 get secrets for future work, and work that was
// already handed out keeps the names that outsiders know.
#include "core/secret.h"

#include "store/sqlite/file_test.h"
#include "store/sqlite/open.h"
#include "store/sqlite/schema.h"

namespace pawl::store::sqlite {

class SecretTest : public FileTest {
 protected:
  static RunId run(std::uint64_t number) { return core::make_run(core::LaneId(1), number); }

  // As the program of version 5 left it: an open, a parked, a closed and a duplex job. The open one has handed-out
  // work.
  void make_version_5() {
    { ASSERT_TRUE(open_file(path(), {}, migrations().first(5))); }
    raw("INSERT INTO pools VALUES ('graphs', 1, 1); INSERT INTO lanes VALUES (1, 'graphs', 4, 'engine-a', 9);"
        "INSERT INTO jobs (run, namespace, job_id, graph, version, fingerprint, created_at, rev, bundle, status,"
        " semaphore, threshold, completions, next_activity, closed_at, reason) VALUES"
        " ((1 << 47) + 1, 'default', 'open', 'graph', 1, 7, 5, 3, 30, 0, 3, 0, 0, 1, 0, ''),"
        " ((1 << 47) + 2, 'default', 'parked', 'graph', 1, 7, 5, 3, 31, 4, 3, 0, 0, 0, 0, 'why'),"
        " ((1 << 47) + 3, 'default', 'done', 'graph', 1, 7, 5, 3, 32, 1, 0, 0, 1, 0, 6, ''),"
        " ((1 << 47) + 4, 'default', 'duplex', 'graph', 1, 7, 5, 0, 0, 0, 0, 0, 0, 0, 0, '');"
        "INSERT INTO duplex_jobs VALUES ((1 << 47) + 4);"
        "INSERT INTO activities (run, seq, node, place, ledger, status, code, opened_at, closed_at, position, topic,"
        " request, token, worker, epoch, lease_until, runs) VALUES"
        " ((1 << 47) + 1, 0, 0, ',0', 1100000000000, 0, 0, 5, 0, 10, 'topic', x'000000000000000100000000000000ff', 71,"
        " 'remote', 0, 2000000, 1);");
  }
};

TEST_F(SecretTest, what_is_open_gets_a_secret_of_its_own_and_what_is_out_keeps_its_name_and_token) {
  make_version_5();
  const auto store = make({.clock = &clock_});
  ASSERT_NE(store, nullptr);
  const core::JobState open = (*store->read_job(run(1)))->state;
  const core::JobState parked = (*store->read_job(run(2)))->state;
  EXPECT_TRUE(core::is_set(open.job.secret));
  EXPECT_TRUE(core::is_set(parked.job.secret));
  EXPECT_NE(open.job.secret, parked.job.secret);
  EXPECT_FALSE(core::is_set((*store->read_job(run(3)))->state.job.secret)) << "it asks for nothing any more";
  EXPECT_FALSE(core::is_set((*dynamic_cast<Store&>(*store).duplex().read(run(4)))->job.secret))
      << "its legs may ask again under the old name";
  const core::WorkItem* item = open.find_work(core::ActivitySeq(0));
  ASSERT_NE(item, nullptr);
  EXPECT_TRUE(item->plain_key);
  EXPECT_EQ(item->request, (core::Guid{1, 255}));
  EXPECT_EQ(item->token, core::WorkToken(71)) << "whoever has it answers with it";
}

TEST_F(SecretTest, a_secret_outlives_the_process_and_stands_in_no_view) {
  open_bench();
  Submit submit = a_submit(lane_, "a");
  submit.secret = core::JobSecret(core::Guid{0x0102030405060708, 0x090a0b0c0d0e0f10});
  const RunId made = commit(submit).run();
  store_.reset();
  store_ = make({.clock = &clock_});
  ASSERT_NE(store_, nullptr);
  EXPECT_EQ(job(made).state.job.secret, submit.secret);
  EXPECT_EQ(raw("SELECT count(*) FROM pragma_table_info('job_view') WHERE name LIKE '%secret%'"), "0");
}

}  // namespace pawl::store::sqlite
