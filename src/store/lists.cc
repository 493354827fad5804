#include "store/lists.h"

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

}  // namespace

Result<JobList> JobList::begin(Queries& store, ListQuery filter, ListOrder order, std::string_view after,
                               std::size_t rows_wanted) {
  const bool down = order == ListOrder::newest_first;
  const auto lanes = store.read_lane_ends();
  if (!lanes) return lanes.error();
  Cursor cursor(down ? Cursor::Of::newest_jobs : Cursor::Of::oldest_jobs);
  if (!after.empty()) {
    auto parsed = Cursor::parse(after, down ? Cursor::Of::newest_jobs : Cursor::Of::oldest_jobs);
    if (!parsed) return parsed.error();
    cursor = std::move(*parsed);
  } else if (down) {
    for (const LaneEnd& lane : *lanes) cursor.set(lane.lane, sequence_of(lane.next_run));
  }
  filter.direction = down ? Direction::down : Direction::up;
  LaneMerge<core::JobRow> merge(
      {[&store, filter = std::move(filter)](core::LaneId lane, std::uint64_t place, std::size_t rows_max) {
         ListQuery query = filter;
         query.lane = lane;
         query.after = core::make_run(lane, place);
         query.rows_max = rows_max;
         return store.list_jobs(query);
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
