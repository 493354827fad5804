// Queries: which jobs, measures and announcements to read, and the results.
//
//   void failed_ones(pawl::Runtime& runtime) {
//     pawl::JobFilter filter{.status = pawl::JobStatus::failed, .order = pawl::JobOrder::newest_first};
//     const auto jobs = runtime.list(filter);
//     if (!jobs) return;
//     for (const pawl::JobView& job : *jobs) std::printf("%s: %s\n", job.id.raw().c_str(), job.reason.c_str());
//     if (!jobs->empty()) filter.after = jobs->back().cursor;  // the next page
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pawl/ids.h"
#include "pawl/payload.h"
#include "pawl/time.h"
#include "pawl/view.h"

namespace pawl {

enum class JobOrder : std::uint8_t { oldest_first, newest_first };

// Any of these; none: all. One alone may be written as it is.
struct JobStatuses : std::vector<JobStatus> {
  using std::vector<JobStatus>::vector;
  JobStatuses(JobStatus one) : std::vector<JobStatus>{one} {}  // NOLINT(google-explicit-constructor)
};

// Which jobs: all conditions must hold. They are listed by when they were made. Page on with the cursor of the last one
// that was seen: nothing is missed and nothing comes twice, whatever is submitted meanwhile. `newest_first` lists what
// was there when its first page was read, `oldest_first` also what came since.
struct JobFilter {
  JobStatuses status{};
  std::string name_space{};  // empty: all
  JobOrder order = JobOrder::oldest_first;
  std::string after{};  // JobView::cursor; empty: from the beginning
  std::uint32_t rows_max = 100;
  std::string graph{};  // its name, APP/TOPIC; empty: all
  // Jobs whose activities stand as this says: names with the digit or the word of the collation key, such as
  // {{"charge", "errored"}}.
  std::vector<std::pair<std::string, std::string>> where{};
  std::string collation_key{};  // a pattern for the whole key: digits, ? for any, * at the end
  std::string activity{};       // where it stopped or waits: an activity of this name is open or errored
  // In the reason why it failed or stopped, or in what a worker said last; upper and lower case are the same.
  std::string error{};
  std::int32_t code = 0;                 // of its error, or of what a worker said last; 0: any
  Instant since{}, until{};              // when it was made: not before, and before; 0: no bound
  Instant ended_since{}, ended_until{};  // when it ended; likewise
  // Only jobs that have this label (docs/GRAPHS.md, "Finding and counting jobs"): an `index` measure by its name,
  // "entity", "parent", "adjacent", or with no name all jobs of a key. Needs `graph`.
  struct Label {
    std::string name;
    std::string value;
    std::optional<std::string> key{};  // none: any
  };
  std::optional<Label> label{};
  bool without_data = false;  // JobView::data and result, which may be large, stay empty
};

// The measures of a graph's jobs (`stats.measures`): a line per key, slice of time and target.
struct MeasureFilter {
  std::string topic;  // what the graph subscribes to
  std::string name_space = "default";
  std::optional<std::string> key{};  // none: all
  std::string from{}, to{};          // slices such as 202402291305, both included; empty: no bound
  std::uint32_t rows_max = 1000;
};
struct MeasureView {
  std::string key;
  std::string slice;   // when their jobs began
  std::string target;  // empty: the jobs themselves
  std::uint64_t count = 0;
  std::optional<double> sum{}, least{}, most{};                 // of a `sum`, `avg`, `min` or `max`
  std::optional<double> median{};                               // of a `mdn`
  std::vector<std::pair<std::string, std::uint64_t>> values{};  // of a `count` with a target: jobs by value
};

// What jobs announced on the topic that their graph publishes: for each lane in the order it became durable, several
// lanes merged by time. Announcements are kept as long as the job is, so a reader that continues after the last one it
// saw misses nothing and reads nothing twice, however many processes commit meanwhile.
struct AnnouncementFilter {
  std::string topic{};       // empty: all
  std::string name_space{};  // empty: all
  RunId run{0};              // 0: all
  std::string after{};       // Announcement::cursor; empty: from the first one
  std::uint32_t rows_max = 100;
};
struct Announcement {
  std::string cursor;  // the position after it: an opaque text of the store, some bytes for each lane
  std::string topic;
  Namespace name_space{""};
  JobId job{""};
  RunId run{0};
  bool end = false;  // false: the job's data so far
  bool error = false;
  std::int32_t code = 0;
  Instant at;
  Payload data;
};

// Signals that no hook has taken yet: each waits for the first hook that matches it, for a day.
struct KeptSignalFilter {
  std::string topic{};       // empty: all
  std::string name_space{};  // empty: all
  Instant until{};           // sent before; 0: no bound
  std::string after{};       // KeptSignal::cursor; empty: from the first one
  std::uint32_t rows_max = 100;
};
struct KeptSignal {
  std::string id;      // names it for drop_signal()
  std::string cursor;  // the position after it
  Namespace name_space{""};
  std::string topic;
  std::string key;    // where it waits, as the store has it
  std::string match;  // the values that a hook must match, as JSON
  bool pending = false;
  std::int32_t code = 0;
  Instant sent_at, expires_at;  // 0: no owner has taken it in yet
  Payload data;
};

// A version of an app in the graph language, as the store keeps it.
struct AppVersion {
  std::string app;
  std::string version;
  bool active = false;  // new jobs start on it
  Instant deployed_at;
  std::vector<std::string> topics;  // what its graphs subscribe to
};

struct AppFiles {
  std::string app;
  std::string version;
  std::vector<std::pair<std::string, std::string>> files;  // name and text
};

struct RuntimeStats {
  std::uint64_t commits = 0;     // transactions, each one sync
  std::uint64_t operations = 0;  // bundles and other operations in them
  std::uint64_t row_writes = 0;
  std::uint64_t bytes = 0;  // written to the log
};

}  // namespace pawl
