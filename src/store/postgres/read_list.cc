// Lists of jobs in ascending or descending order of their runs, of one lane or of all; their measured values and
// announcements; messages that wait for delivery; deployed apps.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "base/format.h"
#include "core/codec.h"
#include "store/postgres/reader.h"

namespace pawl::store::postgres {

namespace {

// $1, $2: the first and the last run that are meant; $3: how many; $4: without what may be large. Each index ends with
// the run, in words of its own (schema_indexes.h): a page is a range of it.
struct Lists {
  Statement all, of_namespace, of_status, of_both, of_graph, labelled, labelled_key;
};
#define PAWL_NAMES(column) "CASE WHEN $4::boolean THEN NULL ELSE " column " END"
#define PAWL_LISTED PAWL_JOB_COLUMNS_WITH(PAWL_NAMES("result"), PAWL_NAMES("data"))
#define PAWL_LIST(condition, run, order)                                                                               \
  "SELECT " PAWL_LISTED " FROM jobs WHERE " condition run " BETWEEN $1::bigint AND $2::bigint ORDER BY " run " " order \
  " LIMIT $3::bigint"
// The labels come in the order of their runs: a page costs its own rows, and those that the status leaves out.
#define PAWL_LABELLED(columns, key, order)                                                                    \
  "SELECT " columns                                                                                           \
  " FROM (SELECT l.run AS labelled FROM labels l WHERE l.namespace = $5::text AND l.graph = $6::text"         \
  " AND l.name = $7::text AND l.value = $8::text AND " key                                                    \
  " AND l.run BETWEEN $1::bigint AND $2::bigint"                                                              \
  " ORDER BY l.run " order                                                                                    \
  ") f JOIN jobs ON run = ANY(ARRAY[labelled])"                                                               \
  " WHERE ($10::bigint IS NULL OR status = $10::bigint) AND (NOT $11::boolean OR status NOT BETWEEN 1 AND 3)" \
  " ORDER BY labelled " order " LIMIT $3::bigint"
#define PAWL_LISTS(name, order)                                                                                    \
  {                                                                                                                \
    {"list_all_" name, PAWL_LIST("", "run", order)},                                                               \
        {"list_namespace_" name, PAWL_LIST("namespace = $5::text AND ", "0 + run", order)},                        \
        {"list_status_" name, PAWL_LIST("status = $5::bigint AND ", "run + 0", order)},                            \
        {"list_both_" name,                                                                                        \
         PAWL_LIST("namespace || '' = $5::text AND status + 0 = $6::bigint AND ", "run - 0", order)},              \
        {"list_graph_" name,                                                                                       \
         PAWL_LIST("graph = $5::text AND status = $6::bigint AND ($7::text IS NULL OR namespace = $7::text) AND ", \
                   "run * 1", order)},                                                                             \
        {"list_labelled_" name, PAWL_LABELLED(PAWL_LISTED, "$9::text IS NULL", order)},                            \
        {"list_labelled_key_" name, PAWL_LABELLED(PAWL_LISTED, "l.key = $9::text", order)},                        \
  }
const Lists upwards = PAWL_LISTS("up", "ASC");
const Lists downwards = PAWL_LISTS("down", "DESC");
#undef PAWL_LISTS
#undef PAWL_LABELLED
#undef PAWL_LIST
#undef PAWL_LISTED
#undef PAWL_NAMES

const Statement read_ends{"read_ends", "SELECT lane, next_run FROM lane_numbers ORDER BY lane"};
const Statement read_measure_rows{
    "read_measure_rows",
    "SELECT key, slice, target, counted, value, sum(count)::bigint, sum(sum), min(least), max(most) FROM measures"
    " WHERE namespace = $1::text AND graph = $2::text AND ($3::text IS NULL OR key = $3::text) AND slice >= $4::text"
    " AND ($5::text = '' OR slice <= $5::text) GROUP BY key, slice, target, counted, value"
    " ORDER BY key, slice, target, counted, value LIMIT $6::bigint"};
#define PAWL_ANNOUNCEMENTS(id, of)                                                                   \
  "SELECT a.id, j.namespace, j.job_id, a.run, a.topic, a.what, a.status, a.code, a.at, a.data"       \
  " FROM announcements a JOIN jobs j ON j.run = ANY(ARRAY[a.run]) WHERE " id " > $1::bigint AND " id \
  " <= $2::bigint"                                                                                   \
  " AND ($3::text IS NULL OR j.namespace = $3::text) AND " of " ORDER BY " id " LIMIT $6::bigint"
const Statement read_announced{"read_announced", PAWL_ANNOUNCEMENTS("a.id", "$4::text IS NULL AND $5::bigint IS NULL")};
const Statement read_announced_topic{"read_announced_topic",
                                     PAWL_ANNOUNCEMENTS("a.id + 0", "a.topic = $4::text AND $5::bigint IS NULL")};
const Statement read_announced_run{
    "read_announced_run",
    PAWL_ANNOUNCEMENTS("a.id + 0", "a.run = $5::bigint AND ($4::text IS NULL OR a.topic = $4::text)")};
#undef PAWL_ANNOUNCEMENTS
// Rows are numbered without gaps. The rows of a page are found by their numbers, however many follow.
const Statement read_outbox_rows{
    "read_outbox_rows",
    "SELECT o.target, o.seq, o.envelope, r.dropped FROM outbox_routes r JOIN outbox o ON o.source = r.source"
    " AND o.target = r.target AND o.seq > r.dropped AND o.seq <= r.dropped + $2::bigint"
    " WHERE r.source = $1::bigint ORDER BY o.target, o.seq"};
const Statement read_app_body{
    "read_app_body", "SELECT body FROM apps WHERE namespace = $1::text AND app = $2::text AND version = $3::text"};
const Statement read_apps{
    "read_apps",
    "SELECT a.app, a.version, n.version IS NOT NULL, a.deployed_at FROM apps a LEFT JOIN active_apps n"
    " ON n.namespace = a.namespace AND n.app = a.app AND n.version = a.version"
    " WHERE a.namespace = $1::text ORDER BY a.app, a.version"};

// The runs of a query. Run numbers are below 2^63, whatever the caller passes.
RunRange reach_of(const ListQuery& query) {
  const RunRange lane = runs_of(query.lane);
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto bound = static_cast<std::int64_t>(std::min(query.after.raw(), most));
  if (query.direction == Direction::up && query.after.raw() >= most) return {1, 0};
  if (query.direction == Direction::up) return {std::max(lane.first, bound + 1), lane.last};
  return {lane.first, std::min(lane.last, bound - 1)};
}

// A damaged job must not hide other jobs or itself: the list shows it as a job that a person must repair.
core::JobRow damaged_job(Rows& rows, const Error& error) {
  core::JobRow damaged;
  damaged.run = RunId(rows.word(0));
  damaged.name_space = Namespace(std::string(rows.text(1)));
  damaged.id = JobId(std::string(rows.text(2)));
  damaged.created_at = rows.instant(6);  // gives it a position in the list
  damaged.status = core::JobStatus::parked;
  damaged.reason = to_string(error);
  return damaged;
}

}  // namespace

Result<std::vector<LaneEnd>> Reader::read_lane_ends() {
  Done done = connection_.run(read_ends);
  if (!done) return error_of(done.failure());
  std::vector<LaneEnd> ends;
  Rows& rows = done[0];
  while (rows.next()) {
    const core::LaneId lane(rows.small(0));
    ends.push_back({lane, core::make_run(lane, rows.word(1))});
  }
  if (rows.malformed()) return Error{ErrorCode::corrupt, "the row of a lane is malformed"};
  return ends;
}

Result<std::vector<core::JobRow>> Reader::list_jobs(const ListQuery& query) {
  const auto& space = query.name_space;
  const auto& status = query.status;
  const auto& label = query.label;
  if (label && !space) return Error{ErrorCode::invalid, "a search by label needs a namespace"};
  const Lists& lists = query.direction == Direction::up ? upwards : downwards;
  const RunRange reach = reach_of(query);
  Params params = Params::of(reach.first, reach.last, query.rows_max, query.names_only);
  const Statement* statement = &lists.all;
  if (label) {
    statement = label->key ? &lists.labelled_key : &lists.labelled;
    params.add(*space);
    params.add(label->graph);
    params.add(label->name);
    params.add(label->value);
    params.add(label->key);
    params.add(status);
    params.add(label->open_only);
  } else if (query.graph) {
    if (!status) return Error{ErrorCode::invalid, "a search by graph needs a status"};
    statement = &lists.of_graph;
    params.add(*query.graph);
    params.add(*status);
    params.add(space);
  } else {
    if (space) params.add(*space);
    if (status) params.add(*status);
    statement = space && status ? &lists.of_both : space ? &lists.of_namespace : status ? &lists.of_status : &lists.all;
  }
  Done done = connection_.run(*statement, std::move(params));
  if (!done) return error_of(done.failure());
  std::vector<core::JobRow> found;
  Rows& rows = done[0];
  while (rows.next()) {
    rows.forget_damage();
    auto row = job_row(rows);
    found.push_back(row ? std::move(*row) : damaged_job(rows, row.error()));
  }
  if (query.names_only)
    for (core::JobRow& row : found) row.data = row.result = Payload();
  return found;
}

Result<std::vector<MeasureRow>> Reader::read_measures(const MeasureQuery& query) {
  Done done = connection_.run(
      read_measure_rows, Params::of(query.name_space, query.graph, query.key, query.from, query.to, query.rows_max));
  if (!done) return error_of(done.failure());
  std::vector<MeasureRow> found;
  Rows& rows = done[0];
  while (rows.next()) {
    MeasureRow row;
    row.key = rows.text(0);
    row.slice = rows.text(1);
    row.target = rows.text(2);
    if (rows.flag(3)) row.value = std::string(rows.text(4));
    row.count = rows.word(5);
    row.sum = rows.real(6);
    row.least = rows.real(7);
    row.most = rows.real(8);
    found.push_back(std::move(row));
  }
  if (rows.malformed()) return Error{ErrorCode::corrupt, "the row of a measure is malformed"};
  return found;
}

Result<std::vector<AnnouncementRow>> Reader::read_announcements(const AnnouncementQuery& query) {
  const Statement& statement = query.run ? read_announced_run : query.topic ? read_announced_topic : read_announced;
  Done done = connection_.run(statement, Params::of(core::make_run(query.lane, query.after), runs_of(query.lane).last,
                                                    query.name_space, query.topic, query.run, query.rows_max));
  if (!done) return error_of(done.failure());
  std::vector<AnnouncementRow> found;
  Rows& rows = done[0];
  while (rows.next()) {
    AnnouncementRow row;
    row.seq = rows.word(0) - core::make_run(query.lane, 0).raw();
    row.name_space = Namespace(std::string(rows.text(1)));
    row.job = JobId(std::string(rows.text(2)));
    row.run = RunId(rows.word(3));
    row.said.topic = Topic(std::string(rows.text(4)));
    const std::int64_t what = rows.number(5);
    const std::int64_t status = rows.number(6);
    row.said.code = rows.integer(7);
    row.said.at = rows.instant(8);
    row.said.data = rows.payload(9);
    if (rows.malformed() || what < 0 || what > 1 || status < 0 || status > 3)
      return Error{ErrorCode::corrupt, "the row of an announcement is malformed"};
    row.said.what = static_cast<core::Announce::What>(what);
    row.said.status = static_cast<core::ReplyStatus>(status);
    found.push_back(std::move(row));
  }
  return found;
}

Result<Page<OutboxRow>> Reader::read_outbox(core::LaneId lane, std::size_t rows_max) {
  Done done = connection_.run(read_outbox_rows, Params::of(lane, rows_max));
  if (!done) return error_of(done.failure());
  Page<OutboxRow> found;
  std::optional<core::LaneId> target;
  std::uint64_t expected = 0;  // rows are numbered without gaps
  bool stuck = false;          // a row of this route is damaged: the rows after it wait
  Rows& rows = done[0];
  while (rows.next()) {
    rows.forget_damage();
    OutboxRow row;
    row.lane = core::LaneId(rows.small(0));
    if (target != row.lane) {
      target = row.lane;
      expected = rows.word(3) + 1;
      stuck = false;
    }
    if (stuck) continue;
    row.seq = rows.word(1);
    auto envelope = core::decode_envelope(rows.bytes(2));
    stuck = rows.malformed() || !envelope || row.seq != expected;
    if (stuck) {
      found.damaged.push_back({RunId(0), format("row {} from lane {} to lane {} is {}", expected, lane.raw(),
                                                row.lane.raw(), row.seq == expected ? "malformed" : "missing")});
      continue;
    }
    ++expected;
    row.envelope = std::move(*envelope);
    found.push_back(std::move(row));
  }
  return found;
}

Result<std::optional<std::string>> Reader::read_app(const Namespace& name_space, const std::string& app,
                                                    const std::string& version) {
  Done done = connection_.run(read_app_body, Params::of(name_space, app, version));
  if (!done) return error_of(done.failure());
  if (!done[0].next()) return std::optional<std::string>();
  return std::optional<std::string>(std::string(done[0].bytes(0)));
}

Result<std::vector<AppInfo>> Reader::list_apps(const Namespace& name_space) {
  Done done = connection_.run(read_apps, Params::of(name_space));
  if (!done) return error_of(done.failure());
  std::vector<AppInfo> found;
  Rows& rows = done[0];
  while (rows.next())
    found.push_back({std::string(rows.text(0)), std::string(rows.text(1)), rows.flag(2), rows.instant(3)});
  if (rows.malformed()) return Error{ErrorCode::corrupt, "the row of an app is malformed"};
  return found;
}

}  // namespace pawl::store::postgres
