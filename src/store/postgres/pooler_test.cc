// pgbouncer between a store and its server: session pooling works, transaction pooling is refused.
#include <thread>

#include "store/postgres/store_test.h"

namespace pawl::store::postgres {

namespace {

constexpr const char* program = "/usr/sbin/pgbouncer";

class PostgresPooler : public PostgresTest {
 protected:
  void start(const std::string& mode, const std::string& more = {}) {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-pool-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    std::ofstream(folder_ / "users") << "\"postgres\" \"\"\n";
    std::ofstream(folder_ / "ini") << "[databases]\npostgres = host=" << SharedServer::get().server()->folder().string()
                                   << " dbname=" << SharedServer::get().database()
                                   << "\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = " << folder_.string()
                                   << "\nlisten_port = 6432\nauth_type = trust\nauth_file = "
                                   << (folder_ / "users").string() << "\npool_mode = " << mode
                                   << "\nlogfile = " << (folder_ / "log").string()
                                   << "\npidfile = " << (folder_ / "pid").string() << "\n"
                                   << more;
    const passwd* user = geteuid() == 0 ? getpwnam("postgres") : nullptr;  // it refuses to run as root
    for (const auto& path : {folder_, folder_ / "users", folder_ / "ini"}) {
      ASSERT_TRUE(user == nullptr || chown(path.c_str(), user->pw_uid, user->pw_gid) == 0);
    }
    child_ = fork();
    if (child_ == 0) {
      if (user != nullptr && (setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0)) _exit(126);
      execl(program, program, "-q", (folder_ / "ini").c_str(), nullptr);
      _exit(127);
    }
    for (int tries = 0; tries < 3000 && !answers(); ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // Its socket exists a moment before it accepts connections.
  bool answers() const { return PQping(address().c_str()) == PQPING_OK; }
  void stop() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = -1;
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { stop(); }
  std::string address() const { return "postgres:///postgres?user=postgres&port=6432&host=" + folder_.string(); }
  Options options() const {
    Options options;
    options.schema = schema_.name();
    return options;
  }

  std::filesystem::path folder_;
  pid_t child_ = -1;
};

TEST_F(PostgresPooler, that_keeps_a_session_works_and_one_that_does_not_is_refused) {
  if (access(program, X_OK) != 0) GTEST_SKIP() << program << " is not installed; scripts/setup installs it";
  open();
  start("session");
  {
    auto store = Store::open(address(), options());
    ASSERT_TRUE(store) << to_string(store.error());
    auto second = Store::open(address(), options());
    ASSERT_TRUE(second) << to_string(second.error());
    acquire(**store, 1, "a");
    const RunId run = commit(**store, submit_of("a")).run();
    EXPECT_EQ(**(*second)->find_run(Namespace("default"), JobId("a")), run);
    EXPECT_EQ(commit(**second, submit_of("a")).kind, OutcomeKind::exists);
  }
  for (const char* mode : {"transaction", "statement"})
    for (const char* more : {"", "server_round_robin = 1\n", "min_pool_size = 4\n"}) {
      stop();
      start(mode, more);
      const auto refused = Store::open(address(), options());
      ASSERT_FALSE(refused) << mode << " " << more;
      EXPECT_EQ(refused.error().code, ErrorCode::unsupported)
          << mode << " " << more << ": " << to_string(refused.error());
      EXPECT_NE(refused.error().detail.find("pool_mode = session"), std::string::npos) << refused.error().detail;
    }
}

}  // namespace

}  // namespace pawl::store::postgres
