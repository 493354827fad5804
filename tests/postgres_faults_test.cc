// Runtimes on a PostgreSQL that is restarted, crashed, killed, full, or replaced by a standby. Accepted jobs must end,
// with each step done once. If a standby that takes over has lost commits, the runtime must notice it.
#include <sys/mount.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "life.h"
#include "store/postgres/server_test.h"

namespace pawl::testing {
namespace {

using store::postgres::TestServer;

class PostgresFaults : public ::testing::Test {
 protected:
  void TearDown() override {
    nodes_.clear();
    if (server_) server_->remove();
  }
  Runtime* node(const std::string& address, Duration lease = 10s) {
    auto opened = pawl::open({.store = address, .lanes = 8, .lease = lease});
    EXPECT_TRUE(opened.ok()) << (opened ? "" : to_string(opened.error()));
    if (!opened) return nullptr;
    nodes_.push_back(std::make_unique<Runtime>(std::move(*opened)));
    Runtime& runtime = *nodes_.back();
    auto graph =
        GraphBuilder("chain").trigger("t").worker("one", "add").after("t").worker("two", "add").after("one").build();
    EXPECT_TRUE(runtime.deploy(std::move(*graph)).ok());
    EXPECT_TRUE(runtime.serve("add", [](Work& work) { return Reply::success(work.input().str() + "+"); }).ok());
    runtime
        .on_problem([this](const std::string& text) {
          const std::lock_guard lock(mutex_);
          problems_ += text + "\n";
        })
        .keep();
    EXPECT_TRUE(runtime.launch().ok());
    return &runtime;
  }
  bool was_told(const std::string& text) {
    const std::lock_guard lock(mutex_);
    return problems_.find(text) != std::string::npos;
  }
  // Sent again under the same id until it is known to be accepted.
  void submit(Runtime& runtime, const std::string& id, const std::string& input = "x") {
    std::string said;
    EXPECT_TRUE(comes_true(
        [&] {
          const auto job = runtime.start("chain", Payload(input), {.id = id});
          if (job)
            runs_.insert_or_assign(id, job->run());
          else
            said = to_string(job.error());
          return job.ok();
        },
        60s))
        << id << ": " << said;
  }
  void expect_ends(Runtime& runtime) {
    for (const auto& [id, run] : runs_) {
      // The next request notices a connection that died with the server.
      auto end = runtime.job(run).wait(60s);
      for (int tries = 0; !end && tries < 20; ++tries) end = runtime.job(run).wait(10s);
      ASSERT_TRUE(end.ok()) << id << ": " << to_string(end.error());
      EXPECT_EQ(end->status, JobStatus::completed) << id;
    }
  }
  // The server's own rows: every job ended, with two steps, each committed once.
  void expect_rows(const TestServer& server) {
    const std::string psql = (TestServer::programs() / "psql").string() + " -X -A -t -h " + server.folder().string() +
                             " -U postgres -d postgres -c ";
    const auto ask = [&](const std::string& sql) {
      FILE* pipe = popen((psql + "\"" + sql + "\"").c_str(), "r");
      char text[256] = "";
      if (fgets(text, sizeof text, pipe) == nullptr) text[0] = '\0';
      pclose(pipe);
      return std::string(text);
    };
    const std::string jobs = std::to_string(runs_.size());
    EXPECT_EQ(ask("SELECT count(*) FROM pawl.jobs WHERE status = 1 AND semaphore = 0"), jobs + "\n");
    EXPECT_EQ(ask("SELECT count(*) FROM pawl.jobs"), jobs + "\n");
    EXPECT_EQ(ask("SELECT count(*) FROM pawl.activities WHERE ledger % 100000000 = 1"),
              std::to_string(3 * runs_.size()) + "\n")
        << "one message concluded each of three activities";
    EXPECT_EQ(ask("SELECT (SELECT count(*) FROM pawl.inbox) + (SELECT count(*) FROM pawl.work)"), "0\n");
  }

  std::optional<TestServer> server_;
  std::vector<std::unique_ptr<Runtime>> nodes_;
  std::map<std::string, RunId> runs_;
  std::mutex mutex_;
  std::string problems_;
};

TEST_F(PostgresFaults, jobs_outlive_every_way_in_which_a_server_stops) {
  server_ = TestServer::start();
  ASSERT_TRUE(server_);
  const std::string psql = (TestServer::programs() / "psql").string() + " -X -A -t -h " + server_->folder().string() +
                           " -U postgres -d postgres";
  Runtime* first = node(server_->address());
  Runtime* second = node(server_->address());
  ASSERT_TRUE(first != nullptr && second != nullptr);
  const std::map<std::string, std::function<void()>> faults = {
      {"fast", [&] { EXPECT_TRUE(server_->stop("fast") && server_->run_server()); }},
      {"immediate", [&] { EXPECT_TRUE(server_->stop("immediate") && server_->run_server()); }},
      {"postmaster", [&] { EXPECT_TRUE(server_->kill_postmaster() && server_->run_server()); }},
      // The server treats this as damage: it ends all sessions and recovers.
      {"backend",
       [&] {
         const std::string kill = "kill -9 $(" + psql +
                                  " -c \"SELECT pid FROM pg_stat_activity WHERE application_name = 'pawl' ORDER BY "
                                  "query_start DESC LIMIT 1\")";
         EXPECT_EQ(std::system(kill.c_str()), 0);
       }},
      {"sessions",
       [&] {
         const std::string end = psql +
                                 " -c \"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name "
                                 "= 'pawl'\" > /dev/null";
         EXPECT_EQ(std::system(end.c_str()), 0);
       }},
  };
  for (const auto& [name, fault] : faults) {
    for (int i = 0; i < 8; ++i) submit(i % 2 == 0 ? *first : *second, name + "-before-" + std::to_string(i));
    fault();
    for (int i = 0; i < 8; ++i) submit(i % 2 == 0 ? *first : *second, name + "-after-" + std::to_string(i));
  }
  expect_ends(*first);
  expect_rows(*server_);
}

// The server's own log has no room either: it may stop, and must be started again when there is room.
TEST_F(PostgresFaults, jobs_wait_while_the_disk_of_the_server_is_full) {
  TempDir disk;
  if (mount("none", disk.path().c_str(), "tmpfs", 0, "size=120m,mode=0777") != 0)
    GTEST_SKIP() << "a small tmpfs cannot be mounted here: " << strerror(errno);
  const std::string usual = std::filesystem::temp_directory_path();
  setenv("TMPDIR", disk.path().c_str(), 1);
  server_ = TestServer::start({"max_wal_size=32MB"});
  setenv("TMPDIR", usual.c_str(), 1);
  ASSERT_TRUE(server_);
  Runtime* runtime = node(server_->address());
  ASSERT_NE(runtime, nullptr);
  for (int i = 0; i < 5; ++i) submit(*runtime, "before-" + std::to_string(i));
  {
    std::ofstream balloon(disk / "balloon", std::ios::binary);
    const std::string block(1 << 16, 'b');
    while (balloon.write(block.data(), 1 << 16).flush()) {
    }
  }
  // Until the disk is full.
  std::string noise(400'000, ' ');
  std::uint32_t state = 1;
  for (char& c : noise) c = static_cast<char>('a' + ((state = state * 1664525 + 1013904223) >> 24) % 26);
  bool refused = false;
  for (int i = 0; i < 400 && !refused; ++i) {
    const std::string id = "large-" + std::to_string(i);
    const auto job = runtime->start("chain", Payload(noise + id), {.id = id});
    refused = !job.ok();
    if (job) runs_.insert_or_assign(id, job->run());
  }
  EXPECT_TRUE(refused) << "the disk was never full";
  std::filesystem::remove(disk / "balloon");
  if (!server_->is_running()) {
    EXPECT_TRUE(server_->run_server());
  }
  submit(*runtime, "after");
  expect_ends(*runtime);
  nodes_.clear();
  server_->remove();
  server_.reset();
  EXPECT_EQ(umount2(disk.path().c_str(), MNT_DETACH), 0);
}

TEST_F(PostgresFaults, a_standby_that_was_behind_is_noticed_and_the_process_stops) {
  server_ = TestServer::start();
  ASSERT_TRUE(server_);
  auto standby = server_->start_standby("second");
  ASSERT_TRUE(standby);
  const std::string address =
      "postgres:///postgres?user=postgres&target_session_attrs=primary&host=" + server_->folder().string() + "," +
      standby->folder().string();
  Runtime* runtime = node(address, 2s);
  ASSERT_NE(runtime, nullptr);
  submit(*runtime, "kept");
  expect_ends(*runtime);
  ASSERT_TRUE(standby->stop("fast"));
  submit(*runtime, "lost");
  expect_ends(*runtime);
  ASSERT_TRUE(server_->stop("immediate"));
  ASSERT_TRUE(standby->run_server());
  ASSERT_TRUE(standby->promote());
  EXPECT_TRUE(comes_true([&] { return was_told("without commits that it had acknowledged"); }, 60s)) << problems_;
  const auto refused = runtime->start("chain", Payload("x"), {.id = "more"});
  EXPECT_FALSE(refused.ok());
  // A process that starts now continues with what is stored.
  nodes_.clear();
  runs_.clear();
  Runtime* later = node(address, 2s);
  ASSERT_NE(later, nullptr);
  EXPECT_FALSE(later->find("lost")->has_value());
  submit(*later, "new");
  expect_ends(*later);
  nodes_.clear();
  standby->remove();
}

}  // namespace
}  // namespace pawl::testing
