// Idle nodes on a PostgreSQL server send it only the renewals of their leases: the server's log shows it.
#include <atomic>
#include <map>
#include <set>

#include "life.h"
#include "store/postgres/server_test.h"
#include "testing.h"

namespace pawl::testing {
namespace {

class PostgresIdle : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = store::postgres::TestServer::start({"log_statement=all"});
    ASSERT_TRUE(server_);
  }
  void TearDown() override {
    if (server_) server_->remove();
  }
  std::unique_ptr<Runtime> node() {
    auto opened = pawl::open({.store = server_->address(), .lanes = 4, .lease = 3s});
    EXPECT_TRUE(opened.ok()) << to_string(opened.error());
    if (!opened) return nullptr;
    auto graph = GraphBuilder("one").trigger("t").worker("w", "work").after("t").build();
    EXPECT_TRUE(opened->deploy(std::move(*graph)).ok());
    EXPECT_TRUE(opened->serve("work", [](Work&) { return Reply::success("{}"); }).ok());
    opened->observe([this](const Event& event) { ended_ += event.kind == Event::Kind::job_closed ? 1 : 0; }).keep();
    EXPECT_TRUE(opened->launch().ok());
    return std::make_unique<Runtime>(std::move(*opened));
  }
  std::size_t log_size() const { return std::filesystem::file_size(server_->log()); }
  // How often each prepared statement was executed since.
  std::map<std::string, int> executed_since(std::size_t size) const {
    std::map<std::string, int> counts;
    std::istringstream lines(read_file(server_->log().string()).substr(size));
    const std::string lead = "LOG:  execute ";
    for (std::string line; std::getline(lines, line);) {
      const auto at = line.find(lead);
      if (at != std::string::npos)
        ++counts[line.substr(at + lead.size(), line.find(':', at + lead.size()) - at - lead.size())];
    }
    return counts;
  }

  std::optional<store::postgres::TestServer> server_;
  std::atomic<int> ended_{0};
};

TEST_F(PostgresIdle, nodes_without_traffic_send_their_renewals_and_nothing_else) {
  auto first = node();
  auto second = node();
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(comes_true([&] { return first->owns() && second->owns(); }));
  for (int i = 0; i < 10; ++i) {
    const auto job = first->start("one", Payload("x"), {.id = std::to_string(i)});
    ASSERT_TRUE(job.ok()) << to_string(job.error());
  }
  ASSERT_TRUE(comes_true([&] { return ended_ == 10; }, 60s));
  // The statements of a renewal and of the engine's own row, which is renewed with it.
  const std::set<std::string> renewal = {"pawl_begin",       "lock_lanes_to_renew", "put_lanes",         "find_pool",
                                         "put_engine",       "read_clock",          "drop_dead_engines", "read_engines",
                                         "read_commit_mark", "pawl_commit"};
  const auto others = [&](const std::map<std::string, int>& counts) {
    std::string names;
    for (const auto& [name, count] : counts)
      if (!renewal.contains(name)) names += name + " x " + std::to_string(count) + "; ";
    return names;
  };
  // The jobs may leave some work for a while. After that nothing else is sent, over many renewals of both nodes.
  std::map<std::string, int> counts;
  const bool quiet = comes_true(
      [&] {
        const std::size_t begin = log_size();
        while (executed_since(begin)["put_lanes"] < 4) std::this_thread::sleep_for(50ms);
        counts = executed_since(begin);
        return others(counts).empty();
      },
      60s);
  EXPECT_TRUE(quiet) << others(counts);
  EXPECT_LE(counts["pawl_commit"], counts["lock_lanes_to_renew"] + counts["put_engine"] + 2);
}

}  // namespace
}  // namespace pawl::testing
