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
#include "store/operation.h"

namespace pawl::store {

struct StoredMailbox {
  core::MailboxState state;
  std::vector<core::InboxMessage> inbox;
  std::vector<core::InboxMessage> timers;
};
// A mailbox with signals that no hook has taken yet.
struct MailboxInfo {
  RunId run{0};
  core::MailboxKey key;
  std::uint64_t signals = 0;  // in its inbox, in line, and offered to a hook
  friend bool operator==(const MailboxInfo&, const MailboxInfo&) = default;
};
struct MailboxQuery {
  std::optional<Namespace> name_space{};
  std::optional<Topic> topic{};
  RunId after{0};
  std::size_t rows_max = 100;
};
// Signals that wait in a mailbox for a hook, without those that a person asked to drop.
struct KeptSignals {
  core::MailboxKey key;
  std::vector<core::MailboxEntry> entries;  // in line, the oldest first
  std::optional<std::uint64_t> next_seq;    // more may be in line from here on
  struct Unserved {
    std::uint64_t number = 0;  // in the inbox
    core::Message message;
  };
  std::vector<Unserved> unserved;              // behind these: no owner has taken them in yet
  std::optional<std::uint64_t> next_unserved;  // there are more of them
};
struct KeptQuery {
  RunId mailbox{0};
  std::uint64_t from_seq = 0;
  std::uint64_t from_unserved = 0;  // their number in the inbox
  std::size_t rows_max = 100;
  std::size_t bytes_max = limits::mailbox_page_bytes;
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
  std::optional<GraphName> graph{};  // of any version; then a status is needed
  // Only jobs of this graph, of any version, that have the label. Requires a namespace.
  struct Labelled {
    GraphName graph{""};
    std::string name;
    std::string value;
    std::optional<std::string> key;  // none: any
    bool open_only = false;
  };
  std::optional<Labelled> label{};
  // These two narrow the search of a store that can do that; others return more jobs, so the caller looks at each.
  bool errored_only = false;          // jobs with an activity that errored
  Instant ended_since{}, ended_until{};  // jobs that ended then: not before, and before; 0: no bound
  bool names_only = false;  // rows without data and result, which may be large
  core::LaneId lane{0};     // 0: all lanes
  Direction direction = Direction::up;
};
// A lane, and the number of its next run.
struct LaneEnd {
  core::LaneId lane{0};
  RunId next_run{0};
  friend bool operator==(const LaneEnd&, const LaneEnd&) = default;
};
enum class ListOrder : std::uint8_t { oldest_first, newest_first };
// How many jobs there are; combinations that no job has are left out. In no order.
struct JobCount {
  GraphName graph{""};
  core::JobStatus status = core::JobStatus::running;
  std::uint64_t jobs = 0;
  friend bool operator==(const JobCount&, const JobCount&) = default;
};
// The work of open jobs, by topic.
struct TopicWork {
  Topic topic{""};
  std::uint64_t ready = 0;  // a worker could take it now
  std::uint64_t taken = 0;  // a worker has it
  std::uint64_t later = 0;  // it waits for the time of its next attempt
  std::uint64_t held = 0;   // its job is parked or paused
  Instant since;            // the longest that one of those that are ready waits; 0: none is ready
  friend bool operator==(const TopicWork&, const TopicWork&) = default;
};
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
  // Exact, at one moment of each lane. The cost must not depend on how many jobs have ended where a store can do that.
  virtual Result<std::vector<JobCount>> count_jobs() = 0;
  virtual Result<std::vector<TopicWork>> count_work(Instant now) = 0;                       // by topic
  virtual Result<std::vector<EngineInfo>> read_engines(const Pool& pool, Instant now) = 0;  // alive then, by name
  virtual Result<std::optional<StoredMailbox>> read_mailbox(RunId run) = 0;                 // whole, for people
  virtual Result<std::vector<MailboxInfo>> list_mailboxes(const MailboxQuery& query) = 0;   // by run
  virtual Result<std::optional<KeptSignals>> read_kept(const KeptQuery& query) = 0;
  virtual Result<std::vector<MeasureRow>> read_measures(const MeasureQuery& query) = 0;
  virtual Result<std::vector<AnnouncementRow>> read_announcements(const AnnouncementQuery& query) = 0;
};

}  // namespace pawl::store
