// Bytes, not counts: under any load a process keeps to a budget of bytes. Each case runs in a separate process with
// more data than the budget, and measures the peak memory of that process.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "testing.h"

namespace pawl::testing {

namespace {

constexpr std::size_t mega = std::size_t{1} << 20;

struct Peak : ::testing::Test {
  std::size_t of(int count, std::size_t bytes, const std::string& what) {
    const std::string command = std::string(MEMORY_NODE) + " " + dir.path() + " " + std::to_string(count) + " " +
                                std::to_string(bytes) + " " + what;
    std::FILE* node = popen(command.c_str(), "r");
    unsigned long long peak = 0;
    EXPECT_EQ(std::fscanf(node, "%llu", &peak), 1) << command;
    EXPECT_EQ(pclose(node), 0) << command;
    std::printf("%s: %.1f MB\n", what.c_str(), static_cast<double>(peak) / static_cast<double>(mega));
    return peak;
  }
  static std::size_t allowed(std::size_t bytes) { return 256 * mega + 2 * bytes; }

  TempDir dir;
};

TEST_F(Peak, of_submits_that_come_all_at_once) { EXPECT_LT(of(80, 4 * mega, "flood"), allowed(4 * mega)); }

TEST_F(Peak, of_callers_that_wait_for_their_submit) { EXPECT_LT(of(80, 4 * mega, "callers"), allowed(4 * mega)); }

TEST_F(Peak, of_answers_as_large_as_the_inputs) { EXPECT_LT(of(40, 4 * mega, "echo"), allowed(4 * mega)); }

TEST_F(Peak, of_jobs_that_wait_and_of_the_process_that_finds_them) {
  EXPECT_LT(of(300, mega, "flood"), allowed(mega));
  EXPECT_LT(of(300, mega, "recover"), allowed(mega));
}

}  // namespace

}  // namespace pawl::testing
