// What all lanes have, as one list for people: jobs by when they were made, announcements by when they were made
// durable.
//
// 1. Within a lane the order is that of the commits. Lanes are merged by the times that stand on the rows, which are as
//    good as the clocks of those who wrote them.
// 2. A reader that goes on behind cursor() misses nothing and sees nothing twice, whatever is committed meanwhile, in
//    whichever lane. `newest_first` shows what was there when it began, `oldest_first` and announcements also what
//    came since.
//
// Written once, over the reads of one lane that every store has (queries.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "core/bundle.h"
#include "store/cursor.h"
#include "store/lane_merge.h"
#include "store/queries.h"

namespace pawl::store {

class JobList {
 public:
  // `filter` says which jobs; its lane, bound and number of rows are the list's own. `after`: the text of a cursor;
  // empty: from the beginning. `rows_wanted`: how many will be asked for, as far as is known. The store must outlive
  // the list.
  static Result<JobList> begin(Queries& store, ListQuery filter, ListOrder order, std::string_view after,
                               std::size_t rows_wanted);

  Result<std::optional<core::JobRow>> next();       // none: that was the last one
  const Cursor& cursor() const { return cursor_; }  // behind the last one that next() gave

 private:
  JobList(LaneMerge<core::JobRow> merge, Cursor cursor) : merge_(std::move(merge)), cursor_(std::move(cursor)) {}
  LaneMerge<core::JobRow> merge_;
  Cursor cursor_;
};

class AnnouncementList {
 public:
  // As for jobs. Of a run only its own lane is read.
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
