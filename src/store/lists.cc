#include "store/lists.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace pawl::store {

namespace {

std::uint64_t sequence_of(RunId run) { return run.raw() & ((std::uint64_t{1} << core::run_sequence_bits) - 1); }

auto time_of(const core::JobRow& row) { return std::tuple(row.created_at, row.run); }
auto time_of(const AnnouncementRow& row) { return std::tuple(row.said.at, row.run, row.seq); }

template <class Row>
Result<std::optional<Row>> next_of(LaneMerge<Row>& merge, Cursor& cursor, std::uint64_t (*place)(const Row&)) {
  auto next = merge.next();
  if (!next) return next.error();
  if (!*next) return std::optional<Row>();
  cursor.set((*next)->first, place((*next)->second));
  return std::optional<Row>(std::move((*next)->second));
}

std::uint64_t place_of_job(const core::JobRow& row) { return sequence_of(row.run); }
std::uint64_t place_of_announcement(const AnnouncementRow& row) { return row.seq; }

// A page of one lane. A store finds the jobs of one status: those of several are merged by their runs, which is the
// order of the lane, so that one place in the lane says how far a reader is.
Result<std::vector<core::JobRow>> read_page(Queries& store, ListQuery query, const JobQuery& asked) {
  if (asked.statuses.empty()) return store.list_jobs(query);
  const auto goes_before = [&](const core::JobRow& a, const core::JobRow& b) {
    return query.direction == Direction::up ? a.run < b.run : b.run < a.run;
  };
  std::vector<core::JobRow> rows;
  for (const core::JobStatus status : asked.statuses) {
    query.status = status;
    query.errored_only = asked.completed_errored_only && status == core::JobStatus::completed;
    auto some = store.list_jobs(query);
    if (!some) return some.error();
    std::vector<core::JobRow> merged;
    std::merge(std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()),
               std::make_move_iterator(some->begin()), std::make_move_iterator(some->end()), std::back_inserter(merged),
               goes_before);
    if (merged.size() > query.rows_max) merged.resize(query.rows_max);
    rows = std::move(merged);
  }
  return rows;
}

// The first place of a lane whose job was made at `at` or later, as far as the lane's jobs are in the order of time.
Result<std::uint64_t> place_at(Queries& store, const LaneEnd& lane, Instant at) {
  std::uint64_t low = 0;  // what is behind this place may be older
  std::uint64_t high = sequence_of(lane.next_run);
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    ListQuery query;
    query.lane = lane.lane;
    query.after = core::make_run(lane.lane, middle);
    query.rows_max = 1;
    query.names_only = true;
    const auto row = store.list_jobs(query);
    if (!row) return row.error();
    if (row->empty() || row->front().created_at >= at)
      high = middle;
    else
      low = sequence_of(row->front().run);
  }
  return low;
}

}  // namespace

Result<JobList> JobList::begin(Queries& store, JobQuery asked, ListOrder order, std::string_view after,
                               std::size_t rows_wanted) {
  const bool down = order == ListOrder::newest_first;
  const auto lanes = store.read_lane_ends();
  if (!lanes) return lanes.error();
  Cursor cursor(down ? Cursor::Of::newest_jobs : Cursor::Of::oldest_jobs);
  if (!after.empty()) {
    auto parsed = Cursor::parse(after, down ? Cursor::Of::newest_jobs : Cursor::Of::oldest_jobs);
    if (!parsed) return parsed.error();
    cursor = std::move(*parsed);
  } else {
    for (const LaneEnd& lane : *lanes) {
      if (down) cursor.set(lane.lane, sequence_of(lane.next_run));
      const Instant bound = down ? asked.until : asked.since;
      if (bound == Instant()) continue;
      const auto place = place_at(store, lane, bound);
      if (!place) return place.error();
      cursor.set(lane.lane, down ? *place + 1 : *place);
    }
  }
  asked.filter.direction = down ? Direction::down : Direction::up;
  if ((asked.filter.graph || asked.completed_errored_only) && asked.statuses.empty())
    asked.statuses.assign(std::begin(all_statuses), std::end(all_statuses));
  LaneMerge<core::JobRow> merge(
      {[&store, asked = std::move(asked)](core::LaneId lane, std::uint64_t place, std::size_t rows_max) {
         ListQuery query = asked.filter;
         query.lane = lane;
         query.after = core::make_run(lane, place);
         query.rows_max = rows_max;
         return read_page(store, std::move(query), asked);
       },
       place_of_job,
       [down](const core::JobRow& a, const core::JobRow& b) {
         return down ? time_of(b) < time_of(a) : time_of(a) < time_of(b);
       }},
      rows_wanted);
  for (const LaneEnd& lane : *lanes)
    if (!down || cursor.place(lane.lane) > 1) merge.add(lane.lane, cursor.place(lane.lane));
  return JobList(std::move(merge), std::move(cursor));
}

Result<std::optional<core::JobRow>> JobList::next() { return next_of(merge_, cursor_, place_of_job); }

Result<AnnouncementList> AnnouncementList::begin(Queries& store, AnnouncementQuery filter, std::string_view after,
                                                 std::size_t rows_wanted) {
  Cursor cursor(Cursor::Of::announcements);
  if (!after.empty()) {
    auto parsed = Cursor::parse(after, Cursor::Of::announcements);
    if (!parsed) return parsed.error();
    cursor = std::move(*parsed);
  }
  const auto lanes = store.read_lane_ends();
  if (!lanes) return lanes.error();
  const std::optional<RunId> run = filter.run;
  LaneMerge<AnnouncementRow> merge(
      {[&store, filter = std::move(filter)](core::LaneId lane, std::uint64_t place, std::size_t rows_max) {
         AnnouncementQuery query = filter;
         query.lane = lane;
         query.after = place;
         query.rows_max = rows_max;
         return store.read_announcements(query);
       },
       place_of_announcement,
       [](const AnnouncementRow& a, const AnnouncementRow& b) { return time_of(a) < time_of(b); }},
      rows_wanted);
  for (const LaneEnd& lane : *lanes)
    if (!run || core::lane_of(*run) == lane.lane) merge.add(lane.lane, cursor.place(lane.lane));
  return AnnouncementList(std::move(merge), std::move(cursor));
}

Result<std::optional<AnnouncementRow>> AnnouncementList::next() {
  return next_of(merge_, cursor_, place_of_announcement);
}

}  // namespace pawl::store
