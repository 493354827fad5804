#include "testing/crash_run.h"

#include <exception>
#include <utility>

#include "base/format.h"
#include "testing/virtual_runtime.h"

namespace pawl::testing {

namespace {

// The first bytes are enough to recognise a value.
constexpr std::size_t shown_bytes_max = 200;

std::string shown(std::string_view text) {
  return text.size() <= shown_bytes_max ? std::string(text) : std::string(text.substr(0, shown_bytes_max)) + "...";
}

std::string text_of(const JobView& job) {
  std::string text = format("{} with result {}", name_of(job.status), shown(job.result.view()));
  if (job.code != 0) text += format(" and code {}", job.code);
  if (!job.data.empty()) text += format(" and data {}", shown(job.data.view()));
  return text;
}

void compare(const char* what, const std::map<std::string, std::string>& usual,
             const std::map<std::string, std::string>& broken, std::string& text) {
  const auto add = [&](const std::string& line) { text += (text.empty() ? "" : "; ") + line; };
  for (const auto& [name, value] : usual) {
    const auto found = broken.find(name);
    if (found == broken.end())
      add(format("{} {} is missing", what, name));
    else if (found->second != value)
      add(format("{} {} is {}, without the fault it is {}", what, name, found->second, value));
  }
  for (const auto& [name, value] : broken)
    if (!usual.contains(name)) add(format("{} {} is there only with the fault: {}", what, name, value));
}

}  // namespace

Came CrashRun::play(const std::function<Status(TestRuntime&)>& scenario, const TestOptions& options,
                    PlannedFault fault) {
  TestRuntime test(options);
  test.backend_ = std::make_shared<VirtualRuntime>(options, fault);
  test.runtime_ = Runtime(test.backend_);
  Came came;
  try {
    if (const Status status = scenario(test); !status) came.error = to_string(status.error());
  } catch (const std::exception& error) {
    came.error = format("the scenario threw: {}", error.what());
  }
  JobFilter filter;
  for (;;) {
    const auto jobs = test->list(filter);
    if (!jobs || jobs->empty()) break;
    for (const JobView& job : *jobs)
      came.jobs.emplace(format("{} of namespace {}", job.id.raw(), job.name_space.raw()), text_of(job));
    filter.after = jobs->back().cursor;
  }
  came.notes = test.backend_->notes();
  came.told = test.backend_->driver().told();
  came.commits = test.commits();
  return came;
}

std::string difference(const Came& usual, const Came& broken, bool compare_jobs) {
  std::string text = broken.error;
  compare("note", usual.notes, broken.notes, text);
  if (compare_jobs) compare("job", usual.jobs, broken.jobs, text);
  return text;
}

CrashReport crash_everywhere(const std::function<Status(TestRuntime&)>& scenario, const CrashOptions& options) {
  CrashReport report;
  const Came usual = CrashRun::play(scenario, options.test, {});
  report.commits = usual.commits;
  report.failed = usual.error;
  if (!report.failed.empty()) return report;
  for (std::uint64_t commit = 1; commit <= usual.commits; ++commit) {
    if (options.only_commit != 0 && commit != options.only_commit) continue;
    for (const Fault fault : options.faults) {
      ++report.runs;
      const Came broken = CrashRun::play(scenario, options.test, {commit, fault});
      std::string text = difference(usual, broken, options.compare_jobs);
      if (text.empty()) continue;
      ++report.findings_in_all;
      if (report.findings.size() >= options.findings_max) continue;
      const auto told = usual.told.find(commit);
      report.findings.push_back({commit, fault, told == usual.told.end() ? "" : told->second, std::move(text)});
    }
  }
  return report;
}

std::string CrashReport::text() const {
  if (!failed.empty()) return format("the scenario fails without any fault: {}\n", failed);
  std::string text =
      format("{} commits, {} runs with a fault, {} of them came out differently\n", commits, runs, findings_in_all);
  for (const CrashFinding& finding : findings)
    text += format("{} commit {}{}: {}\n", name_of(finding.fault), finding.commit,
                   finding.what.empty() ? "" : format(" ({})", finding.what), finding.difference);
  if (findings_in_all > findings.size()) text += format("and {} more\n", findings_in_all - findings.size());
  return text;
}

}  // namespace pawl::testing
