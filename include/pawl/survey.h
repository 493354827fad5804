// Survey: how a store is doing, in one look. What `pawl status` prints.
//
//   void look(pawl::Runtime& runtime) {
//     const auto survey = runtime.survey();
//     if (!survey) return;
//     for (const pawl::ErrorCount& error : survey->errors)
//       std::printf("%llu x %s\n", static_cast<unsigned long long>(error.jobs), error.text.c_str());
//   }
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pawl/ids.h"
#include "pawl/time.h"
#include "pawl/view.h"

namespace pawl {

inline constexpr std::size_t job_statuses = 6;

struct GraphCount {
  GraphName graph{""};
  std::array<std::uint64_t, job_statuses> jobs{};  // by JobStatus
  std::uint64_t of(JobStatus status) const { return jobs[static_cast<std::size_t>(status)]; }
};

// Failed and parked jobs with the same error. Numbers within it may differ: they are shown as #.
struct ErrorCount {
  std::int32_t code = 0;
  std::string text;
  std::uint64_t jobs = 0;
  JobId example{""};  // the newest of them
  Instant last;       // when that one was made
};

struct TopicView {
  std::string topic;
  std::uint64_t ready = 0;               // a worker could take it now
  std::uint64_t taken = 0;               // a worker has it
  std::uint64_t later = 0;               // it waits for the time of its next attempt
  std::uint64_t held = 0;                // its job is parked or paused
  Instant since{};                       // the longest that one which is ready waits; 0: none is ready
  std::optional<std::uint32_t> servers;  // processes that serve it; none: a file does not say
  bool paused = false;
  bool stuck = false;  // work is ready for longer than 10 s (unserved_after), and nobody has any of it
};

// A job that runs for long, and what it waits for.
struct WaitingJob {
  JobId id{""};
  RunId run{0};
  GraphName graph{""};
  Instant since;
  std::string activity{};  // the first that is open
  std::string waits_for{};
};

struct EngineView {
  std::string name;  // of a file: "process 4711"
  std::vector<std::string> serves{};
  std::uint32_t lanes = 0;
  bool leaving = false;
};

struct Survey {
  Instant at;
  bool owner_alive = false;  // somebody carries out what is asked of jobs
  std::vector<EngineView> engines{};
  std::array<std::uint64_t, job_statuses> jobs{};  // by JobStatus
  std::uint64_t of(JobStatus status) const { return jobs[static_cast<std::size_t>(status)]; }
  std::vector<GraphCount> graphs{};
  std::vector<ErrorCount> errors{};            // the most frequent first, of the newest 10,000 failed and parked jobs
  std::vector<TopicView> topics{};             // with work, or paused
  std::vector<WaitingJob> oldest{};            // running jobs, the oldest first
  std::string store{};                         // what it is, without a password
  std::optional<std::uint64_t> store_bytes{};  // none: it is not known
  std::vector<std::pair<std::string, std::string>> store_settings{};  // name and value
};

// Something that a person should see to, or that was looked at and is well.
struct Diagnosis {
  enum class Grade : std::uint8_t { good, warning, bad };
  Grade grade = Grade::good;
  std::string what;
  std::string advice{};  // what to do; empty: nothing
};

// What a check of every job found.
struct Verified {
  std::uint64_t jobs = 0;              // that were read whole
  std::vector<std::string> damaged{};  // the first hundred, each with its job
};

struct SurveyOptions {
  std::uint32_t errors_max = 5;
  std::uint32_t oldest_max = 5;
};

}  // namespace pawl
