// A store may keep jobs of either collation or of both: what a runtime reports over one without duplex.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "pawl/runtime.h"
#include "runtime/local_runtime.h"
#include "store/memory/store.h"

namespace pawl::runtime {
namespace {

using namespace std::chrono_literals;

// The memory store with its duplex half, or like a store that has none.
std::unique_ptr<Runtime> open_over_memory(bool with_duplex) {
  OpenedStore opened;
  auto memory = std::make_unique<store::memory::Store>(process_clock());
  if (with_duplex) opened.duplex = &memory->duplex();
  opened.store = std::move(memory);
  const store::Operation pool = store::OpenPool{Pool("graphs"), 1};
  EXPECT_TRUE(opened.store->commit({&pool, 1}));
  const auto info = opened.store->read_pool(Pool("graphs"));
  opened.lease = std::chrono::hours(24);
  opened.stats = [] { return RuntimeStats{}; };
  return std::make_unique<Runtime>(std::make_shared<LocalRuntime>(RuntimeOptions{}, std::move(opened), **info));
}

AppText step(Collation collation, const std::string& name) {
  return std::move(*GraphBuilder(name).trigger("t").worker("act", "work").after("t").collation(collation).build());
}

TEST(StoreWithoutDuplex, refuses_a_deploy_of_such_a_graph_and_says_what_to_do) {
  const auto runtime = open_over_memory(false);
  const auto refused = runtime->deploy(step(Collation::duplex, "double"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().detail.find("graph double has collation duplex"), std::string::npos)
      << refused.error().detail;
  EXPECT_NE(refused.error().detail.find("use collation ledger"), std::string::npos) << refused.error().detail;
  EXPECT_TRUE(open_over_memory(true)->deploy(step(Collation::duplex, "double")).ok());
}

TEST(StoreWithoutDuplex, refuses_an_app_of_such_a_graph_before_it_is_stored) {
  const auto path = std::filesystem::temp_directory_path() / "pawl-no-duplex.yaml";
  std::ofstream(path)
      << "app:\n  id: twice\n  version: \"1\"\n  graphs:\n    - subscribes: one\n      collation: duplex\n"
         "      activities: {t: {type: trigger}}\n";
  const auto runtime = open_over_memory(false);
  const auto refused = runtime->deploy(AppFile{path.string()});
  std::filesystem::remove(path);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported) << refused.error().detail;
  EXPECT_TRUE(runtime->apps()->empty());
}

TEST(StoreWithoutDuplex, runs_everything_else) {
  const auto runtime = open_over_memory(false);
  ASSERT_TRUE(runtime->deploy(step(Collation::ledger, "plain")).ok());
  ASSERT_TRUE(runtime->serve("work", [](Work&) { return Reply::success("done"); }).ok());
  ASSERT_TRUE(runtime->launch().ok());
  const auto job = runtime->start("plain", Payload("{}"), {.id = "j"});
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->wait(30s)->status, JobStatus::completed);
  EXPECT_TRUE(job->inspect().ok());
  EXPECT_FALSE(job->interrupt("late").ok()) << "it has ended; nobody asked a store that is not there";
}

}  // namespace
}  // namespace pawl::runtime
