// The rows of all lanes as one list for people: jobs by the time they were created, announcements by the time they
// became durable.
//
// 1. Within a lane the order is that of the commits. Lanes are merged by the times on the rows, which are as accurate
//    as the clocks of the processes that wrote them.
// 2. A reader that continues from cursor() misses nothing and sees nothing twice, whatever is committed meanwhile in
//    any lane. `newest_first` shows what was there when it began; `oldest_first` and announcements also show what came
//    since.
//
// Written once, using the one-lane reads that every store has (queries.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/bundle.h"
#include "store/cursor.h"
#include "store/lane_merge.h"
#include "store/queries.h"

namespace pawl::store {

inline constexpr core::JobStatus all_statuses[] = {core::JobStatus::running, core::JobStatus::completed,
                                                   core::JobStatus::failed,  core::JobStatus::interrupted,
                                                   core::JobStatus::parked,  core::JobStatus::paused};

// Which jobs a list has.
struct JobQuery {
  ListQuery filter;                         // its status, lane, bound and number of rows are set by the list
  std::vector<core::JobStatus> statuses{};  // any of these; none: all
  // Of the jobs that completed, those with an activity that errored, and perhaps others.
  bool completed_errored_only = false;
  // Jobs that were made in this time, and perhaps others: the list begins near it. 0: no bound.
  Instant since{}, until{};
};

class JobList {
 public:
  // `after`: the text of a cursor; empty: from the beginning. `rows_wanted`: how many rows the caller will probably ask
  // for. The store must outlive the list.
  static Result<JobList> begin(Queries& store, JobQuery query, ListOrder order, std::string_view after,
                               std::size_t rows_wanted);

  Result<std::optional<core::JobRow>> next();       // none: there are no more
  const Cursor& cursor() const { return cursor_; }  // behind the last row that next() returned

 private:
  JobList(LaneMerge<core::JobRow> merge, Cursor cursor) : merge_(std::move(merge)), cursor_(std::move(cursor)) {}
  LaneMerge<core::JobRow> merge_;
  Cursor cursor_;
};

class AnnouncementList {
 public:
  // As for jobs. With a run in the filter, only the run's lane is read.
  static Result<AnnouncementList> begin(Queries& store, AnnouncementQuery filter, std::string_view after,
                                        std::size_t rows_wanted);

  Result<std::optional<AnnouncementRow>> next();
  const Cursor& cursor() const { return cursor_; }

 private:
  AnnouncementList(LaneMerge<AnnouncementRow> merge, Cursor cursor)
      : merge_(std::move(merge)), cursor_(std::move(cursor)) {}
  LaneMerge<AnnouncementRow> merge_;
  Cursor cursor_;
};

}  // namespace pawl::store
