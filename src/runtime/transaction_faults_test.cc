// A worker's transaction over a real file, with every commit broken in each way: its writes are there once.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "base/format.h"
#include "pawl/runtime.h"
#include "runtime/local_runtime.h"
#include "store/fault/transactions.h"
#include "store/sqlite/store.h"

namespace pawl::runtime {
namespace {

using namespace std::chrono_literals;
using store::fault::Fault;
using store::fault::Kind;

class TransactionFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "pawl-faults-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Whether the plan had a commit with this number, after the job has completed.
  bool run_with(std::uint64_t number, Kind kind) {
    const std::string path = format("{}/{}-{}.db", folder_, static_cast<int>(kind), number);
    auto file = store::sqlite::Store::open(path, {});
    EXPECT_TRUE(file.ok());
    auto transactions = (*file)->transactions();
    const store::Operation pool = store::OpenPool{Pool("graphs"), 1};
    EXPECT_TRUE((*file)->commit({&pool, 1}).ok());
    auto faults = std::make_unique<store::fault::Store>(
        std::move(*file), store::fault::Options{store::fault::at_call(number, Fault{kind})});
    store::fault::Store& broken = *faults;
    OpenedStore opened;
    opened.transactions = std::make_shared<store::fault::Transactions>(broken, transactions);
    opened.stats = [] { return RuntimeStats{}; };
    opened.store = std::move(faults);
    const auto info = opened.store->read_pool(Pool("graphs"));
    auto runtime =
        std::make_unique<Runtime>(std::make_shared<LocalRuntime>(RuntimeOptions{}, std::move(opened), **info));
    auto graph =
        GraphBuilder("step").trigger("t").worker("one", "work").after("t").worker("two", "work").after("one").build();
    bool deployed = false;  // a deploy is a commit too: it is repeated like a submit
    for (int tries = 0; tries < 100 && !deployed; ++tries) deployed = runtime->deploy(*graph).ok();
    EXPECT_TRUE(deployed) << path;
    EXPECT_TRUE(runtime
                    ->serve_transaction("work",
                                        [](Work& work, Transaction& sql) {
                                          const bool made =
                                              sql.execute("CREATE TABLE IF NOT EXISTS note (id TEXT)").ok() &&
                                              sql.execute("INSERT INTO note VALUES ($1)", {work.key()}).ok();
                                          return made ? Reply::success("1") : Reply::error("\"no\"");
                                        })
                    .ok());
    EXPECT_TRUE(runtime->launch().ok());
    Result<Job<>> job = Error{ErrorCode::invalid, ""};
    for (int tries = 0; tries < 20'000 && !job; ++tries) {
      if (tries > 0) std::this_thread::sleep_for(1ms);  // a store that refused is asked again later
      job = runtime->start("step", Payload("1"), {.id = "a"});
    }
    if (!job) {
      ADD_FAILURE() << path << ": " << to_string(job.error());
      return false;
    }
    const auto end = job->wait(60s);
    EXPECT_TRUE(end.ok() && end->status == JobStatus::completed) << path;
    const bool fired = broken.fired() > 0;
    runtime.reset();
    sqlite3* look = nullptr;
    std::string counts;
    sqlite3_open(path.c_str(), &look);
    sqlite3_exec(
        look, "SELECT count(*) || ' ' || count(DISTINCT id) FROM note",
        [](void* into, int, char** values, char**) { return *static_cast<std::string*>(into) = values[0], 0; }, &counts,
        nullptr);
    sqlite3_close(look);
    EXPECT_EQ(counts, "2 2") << path;
    return fired;
  }

  std::string folder_;
};

TEST_F(TransactionFaults, every_commit_broken_in_every_way) {
  for (const Kind kind : {Kind::error_before, Kind::error_after, Kind::drop_midway, Kind::duplicate})
    for (std::uint64_t number = 1; run_with(number, kind); ++number)
      if (HasFailure()) return;
}

}  // namespace
}  // namespace pawl::runtime
