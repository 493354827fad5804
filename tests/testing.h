// What the tests of this folder share: a temporary directory, a shell, and a runtime.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "pawl/pawl.h"

namespace pawl::testing {

using namespace std::chrono_literals;

// Under a sanitizer a test would measure the sanitizer's own memory and time.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
// Time limits of a test are longer by this factor.
inline constexpr int slow_factor = sanitized ? 10 : 1;

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "pawl-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

struct Ran {
  int exit_code = -1;  // -1: ended by a signal
  std::string output;  // both streams
};

inline Ran shell(const std::string& command) {
  Ran ran;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> bytes;
  while (const std::size_t count = std::fread(bytes.data(), 1, bytes.size(), pipe))
    ran.output.append(bytes.data(), count);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ran.exit_code = WEXITSTATUS(status);
  return ran;
}

// An error of that code whose text contains all these parts.
template <class T>
::testing::AssertionResult fails_with(const Result<T>& result, ErrorCode code,
                                      std::initializer_list<std::string> parts) {
  if (result.ok()) return ::testing::AssertionFailure() << "it succeeded";
  const Error& error = result.error();
  if (error.code != code) return ::testing::AssertionFailure() << to_string(error);
  for (const std::string& part : parts)
    if (error.detail.find(part) == std::string::npos)
      return ::testing::AssertionFailure() << "no '" << part << "' in: " << to_string(error);
  return ::testing::AssertionSuccess();
}

inline AppText chain_graph() {
  auto graph =
      GraphBuilder("chain").trigger("t").worker("one", "work").after("t").worker("two", "work").after("one").build();
  return std::move(*graph);
}

// Opened and with the chain deployed; the caller serves and starts. Null, with a failure,
// otherwise.
inline std::unique_ptr<Runtime> open_runtime(RuntimeOptions options) {
  auto opened = pawl::open(std::move(options));
  if (!opened) {
    ADD_FAILURE() << to_string(opened.error());
    return nullptr;
  }
  EXPECT_TRUE(opened->deploy(chain_graph()).ok());
  return std::make_unique<Runtime>(std::move(*opened));
}

inline Reply echo(Work& work) { return Reply::success(work.input().str() + "+"); }

inline std::unique_ptr<Runtime> start_runtime(RuntimeOptions options, Worker worker = echo) {
  auto runtime = open_runtime(std::move(options));
  if (!runtime) return nullptr;
  EXPECT_TRUE(runtime->serve("work", std::move(worker)).ok());
  EXPECT_TRUE(runtime->launch().ok());
  return runtime;
}

// Runs one chain to its end.
inline void expect_runs(Runtime& runtime, const std::string& id) {
  const auto job = runtime.start("chain", Payload("x"), {.id = id});
  ASSERT_TRUE(job.ok()) << to_string(job.error());
  const auto end = job->wait(20s);
  ASSERT_TRUE(end.ok()) << to_string(end.error());
  EXPECT_EQ(end->status, JobStatus::completed);
  EXPECT_EQ(end->result.str(), "x++");
}

// The job that an earlier process on the store completed.
inline void expect_readable(Runtime& runtime, const std::string& id) {
  const auto run = runtime.find(id);
  ASSERT_TRUE(run.ok() && run->has_value()) << id;
  const auto detail = (*run)->inspect();
  ASSERT_TRUE(detail.ok()) << to_string(detail.error());
  EXPECT_EQ(detail->job.status, JobStatus::completed);
  EXPECT_EQ(detail->job.result.str(), "x++");
}

}  // namespace pawl::testing
