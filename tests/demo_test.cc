// The binary as a person uses it: `pawl demo`, killed and started again, and given bad files.
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "testing.h"

namespace pawl {
namespace {

using namespace testing;

Ran pawl(const std::string& arguments) { return shell(std::string(PAWL_BINARY) + " " + arguments); }

bool has(const Ran& ran, const std::string& part) { return ran.output.find(part) != std::string::npos; }

TEST(Demo, completes_a_job_and_shows_its_ledgers) {
  const TempDir dir;
  const Ran ran = pawl("demo --pace 1 --store " + dir / "demo.db");
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_TRUE(has(ran, "001111100000001")) << ran.output;
  EXPECT_TRUE(has(ran, "completed after")) << ran.output;
  EXPECT_FALSE(has(ran, "\x1b[")) << "colours where nobody sees them";
}

TEST(Demo, ends_with_the_same_ledgers_when_every_step_commits_alone) {
  const TempDir dir;
  const Ran ran = pawl("demo --pace 1 --no-fusion --store " + dir / "demo.db");
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_TRUE(has(ran, "001111100000001")) << ran.output;
}

TEST(Demo, runs_in_memory) {
  const Ran ran = pawl("demo --pace 0 --store :memory:");
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
}

// Killed before the job can be complete; the next process finds that job and ends it.
TEST(Demo, carries_on_with_the_same_job_after_kill_9) {
  const TempDir dir;
  const std::string store = dir / "demo.db";
  for (const char* mode : {"--no-color", "--no-fusion"}) {
    const std::string job = std::string("order") + mode;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (freopen("/dev/null", "w", stdout) == nullptr) _exit(126);
      execl(PAWL_BINARY, PAWL_BINARY, "demo", mode, "--pace", "150", "--store", store.c_str(), "--job", job.c_str(),
            nullptr);
      _exit(127);
    }
    std::this_thread::sleep_for(400ms);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended before it was killed";
    const Ran again = pawl(std::string("demo --pace 1 ") + mode + " --store " + store);
    EXPECT_EQ(again.exit_code, 0) << again.output;
    EXPECT_TRUE(has(again, job + " found open")) << again.output;
    EXPECT_TRUE(has(again, job + "  completed after")) << again.output;
    EXPECT_TRUE(has(again, "100000001")) << again.output;
  }
}

TEST(CommandLine, helps_and_refuses_what_it_does_not_know) {
  const Ran help = pawl("--help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_TRUE(has(help, "demo"));
  EXPECT_EQ(pawl("demo --help").exit_code, 0);
  EXPECT_EQ(pawl("--version").exit_code, 0);
  EXPECT_NE(pawl("").exit_code, 0);
  const Ran unknown = pawl("demo --colour");
  EXPECT_NE(unknown.exit_code, 0);
  EXPECT_TRUE(has(unknown, "--colour"));
  const Ran pace = pawl("demo --pace -5");
  EXPECT_NE(pace.exit_code, 0);
  EXPECT_TRUE(has(pace, "--pace"));
}

TEST(CommandLine, a_file_that_is_not_ours_is_named_and_left_alone) {
  const TempDir dir;
  const std::string path = dir / "notes.txt";
  write_file(path, "shopping list\n");
  const Ran ran = pawl("demo --store " + path);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_TRUE(has(ran, path)) << ran.output;
  EXPECT_TRUE(has(ran, "not an SQLite database")) << ran.output;
  EXPECT_EQ(read_file(path), "shopping list\n");
}

TEST(CommandLine, a_bad_job_id_is_refused_in_words) {
  const TempDir dir;
  const Ran ran = pawl("demo --job 'two words' --store " + dir / "demo.db");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_TRUE(has(ran, "job id: byte 4 (0x20)")) << ran.output;
}

}  // namespace
}  // namespace pawl
