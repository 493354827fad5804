// Queries: reads for people. No engine needs them to make progress.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/bundle.h"
#include "core/job_state.h"
#include "core/mailbox_state.h"
#include "pawl/ids.h"
#include "pawl/result.h"
#include "pawl/time.h"

namespace pawl::store {

struct StoredMailbox {
  core::MailboxState state;
  std::vector<core::InboxMessage> inbox;
  std::vector<core::InboxMessage> timers;
};
enum class Direction : std::uint8_t { up, down };
// Jobs in the order of their runs: one lane after the other, within a lane in the order of the commits. So a reader
// that goes through the list once sees, exactly once, every job that exists the whole time. Lists for people are made
// from it (lists.h).
struct ListQuery {
  std::optional<Namespace> name_space;
  std::optional<core::JobStatus> status;
  RunId after{0};  // ascending: runs above it; descending: runs below it
  std::size_t rows_max = 100;
  // Only jobs of this graph, of any version, that have the label. Requires a namespace.
  struct Labelled {
    GraphName graph{""};
    std::string name;
    std::string value;
    std::optional<std::string> key;  // none: any
    bool open_only = false;
    bool names_only = false;  // rows without data and result, which may be large
  };
  std::optional<Labelled> label{};
  core::LaneId lane{0};  // 0: all lanes
  Direction direction = Direction::up;
};
// A lane, and the number of its next run.
struct LaneEnd {
  core::LaneId lane{0};
  RunId next_run{0};
  friend bool operator==(const LaneEnd&, const LaneEnd&) = default;
};
enum class ListOrder : std::uint8_t { oldest_first, newest_first };
// The measures of a graph's jobs, ordered by key, slice, target and value.
struct MeasureQuery {
  Namespace name_space{""};
  GraphName graph{""};
  std::optional<std::string> key;  // none: all
  std::string from, to;            // slices, both included; empty: no bound
  std::size_t rows_max = 1000;
};
struct MeasureRow {
  std::string key, slice, target;
  std::optional<std::string> value;
  std::uint64_t count = 0;
  double sum = 0, least = 0, most = 0;
  friend bool operator==(const MeasureRow&, const MeasureRow&) = default;
};
// Announcements by jobs of one lane, in the order of their commits.
struct AnnouncementQuery {
  core::LaneId lane{0};
  std::optional<Namespace> name_space;
  std::optional<Topic> topic;
  std::optional<RunId> run;
  std::uint64_t after = 0;
  std::size_t rows_max = 100;
};
struct AnnouncementRow {
  std::uint64_t seq = 0;  // within its lane: grows, with gaps, and is never used twice
  Namespace name_space{""};
  JobId job{""};
  RunId run{0};
  core::Announce said;
  friend bool operator==(const AnnouncementRow&, const AnnouncementRow&) = default;
};

// Threads: any.
class Queries {
 public:
  virtual ~Queries() = default;

  virtual Result<std::vector<LaneEnd>> read_lane_ends() = 0;  // of all pools, by lane
  virtual Result<std::vector<core::JobRow>> list_jobs(const ListQuery& query) = 0;
  virtual Result<std::optional<StoredMailbox>> read_mailbox(RunId run) = 0;  // whole, for people
  virtual Result<std::vector<MeasureRow>> read_measures(const MeasureQuery& query) = 0;
  virtual Result<std::vector<AnnouncementRow>> read_announcements(const AnnouncementQuery& query) = 0;
};

}  // namespace pawl::store
