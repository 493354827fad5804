// Jobs in the order of their runs, ascending or descending, of one lane or of all.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "base/format.h"
#include "store/sqlite/limits.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/run_range.h"

namespace pawl::store::sqlite {

namespace {

// ?1, ?2: the first and the last run; ?3: how many; ?4: without the columns that may be large.
constexpr const char* in_reach = "run BETWEEN ?1 AND ?2";

// Each of these indexes ends with the run, which is the table's rowid: a page is a range of the index.
std::string matching(const std::string& columns, const char* order, const char* index, const char* condition) {
  return format("SELECT {} FROM jobs {} WHERE {} {} ORDER BY run {} LIMIT ?3", columns, index, condition, in_reach,
                order);
}

// With or without the key, the labels come in the order of their runs: a page costs its own rows and those that the
// status filters out.
std::string labelled(const std::string& columns, const char* order, const char* index, const char* of_key) {
  return format(
      "SELECT {} FROM (SELECT run AS labelled FROM labels {} WHERE namespace = ?5 AND graph = ?6 AND name = ?7"
      " AND value = ?8 AND {} AND {}) CROSS JOIN jobs ON run = labelled"
      " WHERE (?10 IS NULL OR status = ?10) AND (NOT ?11 OR status NOT BETWEEN 1 AND 3)"
      " ORDER BY labelled {} LIMIT ?3",
      columns, index, of_key, in_reach, order);
}

// The jobs that `candidates` names; their rows are checked for the rest. ?5: namespace, ?6: graph, ?7: status.
std::string of_these(const std::string& columns, const char* order, const char* candidates) {
  return format(
      "SELECT {} FROM ({}) CROSS JOIN jobs ON run = candidate WHERE {} AND (?5 IS NULL OR namespace = ?5)"
      " AND (?6 IS NULL OR graph = ?6) AND (?7 IS NULL OR status = ?7) ORDER BY candidate {} LIMIT ?3",
      columns, candidates, in_reach, order);
}

// A row, if an index has more than ?1 entries for a condition: too many to read them for every page.
std::string too_many(const char* condition) { return format("SELECT 1 FROM jobs {} LIMIT 1 OFFSET ?1", condition); }

struct Reach {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// The runs of a query. Their numbers are below 2^63, whatever the caller passes.
Reach reach_of(const ListQuery& query) {
  const RunRange lane = runs_of(query.lane);
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto bound = static_cast<std::int64_t>(std::min(query.after.raw(), most));
  if (query.direction == Direction::up && query.after.raw() >= most) return {1, 0};
  if (query.direction == Direction::up) return {std::max(lane.first, bound + 1), lane.last};
  return {lane.first, std::min(lane.last, bound - 1)};
}

}  // namespace

Status Reader::prepare_lists(const std::string& columns) {
  for (const Direction direction : {Direction::up, Direction::down}) {
    Lists& lists = lists_[static_cast<std::size_t>(direction)];
    const char* order = direction == Direction::up ? "ASC" : "DESC";
    const struct {
      Statement* statement;
      std::string sql;
    } entries[] = {
        {&lists.all, matching(columns, order, "", "")},
        {&lists.of_namespace, matching(columns, order, "INDEXED BY jobs_by_namespace", "namespace = ?5 AND")},
        {&lists.of_status, matching(columns, order, "INDEXED BY jobs_by_status", "status = ?5 AND")},
        {&lists.of_both,
         matching(columns, order, "INDEXED BY jobs_by_namespace_and_status", "namespace = ?5 AND status = ?6 AND")},
        {&lists.of_graph, matching(columns, order, "INDEXED BY jobs_by_graph",
                                   "graph = ?5 AND status = ?6 AND (?7 IS NULL OR namespace = ?7) AND")},
        {&lists.labelled, labelled(columns, order, "INDEXED BY labels_by_value", "?9 IS NULL")},
        {&lists.labelled_key, labelled(columns, order, "", "key = ?9")},
        // A job with several such activities is found by the first of them.
        {&lists.errored,
         of_these(columns, order,
                  "SELECT run AS candidate FROM activities a INDEXED BY activities_errored"
                  " WHERE status = 2 AND run BETWEEN ?1 AND ?2"
                  " AND NOT EXISTS (SELECT 1 FROM activities b INDEXED BY activities_errored"
                  " WHERE b.status = 2 AND b.run = a.run AND b.id < a.id)")},
        {&lists.ended, of_these(columns, order,
                                "SELECT run AS candidate FROM jobs INDEXED BY jobs_by_end"
                                " WHERE closed_at <> 0 AND closed_at >= ?8 AND closed_at < ?9")},
        {&lists.few_of_both, of_these(columns, order,
                                      "SELECT run AS candidate FROM jobs INDEXED BY jobs_by_namespace_and_status"
                                      " WHERE namespace = ?5 AND status = ?7 AND run BETWEEN ?1 AND ?2")},
        {&lists.labelled_of_graph,
         of_these(columns, order,
                  "SELECT run AS candidate FROM jobs INDEXED BY jobs_by_graph"
                  " WHERE graph = ?6 AND status = ?7 AND run BETWEEN ?1 AND ?2"
                  " AND EXISTS (SELECT 1 FROM labels INDEXED BY labels_by_run WHERE labels.run = jobs.run"
                  " AND namespace = ?5 AND graph = ?6 AND name = ?8 AND value = ?9 AND (?10 IS NULL OR key = ?10))")},
    };
    for (const auto& entry : entries) {
      const int rc = entry.statement->prepare(connection_->handle(), entry.sql.c_str());
      if (rc != SQLITE_OK) return connection_->error(rc, "find the expected tables in");
    }
  }
  const struct {
    Statement* statement;
    std::string sql;
  } entries[] = {
      {&lane_ends_, "SELECT lane, next_run FROM lanes ORDER BY lane"},
      {&few_end_, too_many("INDEXED BY jobs_by_end WHERE closed_at <> 0 AND closed_at >= ?2 AND closed_at < ?3")},
      {&few_of_graph_, too_many("INDEXED BY jobs_by_graph WHERE graph = ?2 AND status = ?3")},
      {&few_of_both_, too_many("INDEXED BY jobs_by_namespace_and_status WHERE namespace = ?2 AND status = ?3")},
  };
  for (const auto& entry : entries) {
    const int rc = entry.statement->prepare(connection_->handle(), entry.sql.c_str());
    if (rc != SQLITE_OK) return connection_->error(rc, "find the expected tables in");
  }
  return {};
}

bool Reader::are_few(Rows rows) { return !rows.next() && !rows.failed(); }

// By the index that has the fewest rows for it, as far as that is cheap to know.
Rows Reader::find_jobs(Lists& lists, const ListQuery& query, std::int64_t first, std::int64_t last) {
  const auto& space = query.name_space;
  const auto& status = query.status;
  const auto& graph = query.graph;
  const std::size_t most = query.rows_max;
  const bool names = query.names_only;
  const auto few = [&](Statement& statement, const auto&... values) {
    return are_few(statement.query(limits::few_rows, values...));
  };
  if (const auto& label = query.label) {
    if (status && !label->open_only && few(few_of_graph_, label->graph, *status))
      return lists.labelled_of_graph.query(first, last, most, names, *space, label->graph, *status, label->name,
                                           label->value, label->key);
    Statement& by_label = label->key ? lists.labelled_key : lists.labelled;
    return by_label.query(first, last, most, names, *space, label->graph, label->name, label->value, label->key, status,
                          label->open_only);
  }
  if (query.ended_since != Instant() || query.ended_until != Instant()) {
    const Instant until = query.ended_until == Instant()
                              ? Instant::from_micros(std::numeric_limits<std::int64_t>::max())
                              : query.ended_until;
    if (few(few_end_, query.ended_since, until))
      return lists.ended.query(first, last, most, names, space, graph, status, query.ended_since, until);
  }
  if (query.errored_only) return lists.errored.query(first, last, most, names, space, graph, status);
  if (graph && space && few(few_of_both_, *space, *status))
    return lists.few_of_both.query(first, last, most, names, space, graph, status);
  if (graph) return lists.of_graph.query(first, last, most, names, *graph, *status, space);
  if (space && status) return lists.of_both.query(first, last, most, names, *space, *status);
  if (space) return lists.of_namespace.query(first, last, most, names, *space);
  if (status) return lists.of_status.query(first, last, most, names, *status);
  return lists.all.query(first, last, most, names);
}

Result<std::vector<LaneEnd>> Reader::read_lane_ends() {
  std::vector<LaneEnd> ends;
  Rows rows = lane_ends_.query();
  while (rows.next()) {
    const core::LaneId lane(rows.small(0));
    ends.push_back({lane, core::make_run(lane, rows.word(1))});
    if (rows.malformed()) return Error{ErrorCode::corrupt, "the row of a lane is malformed"};
  }
  if (rows.failed()) return error(rows);
  return ends;
}

Result<std::vector<core::JobRow>> Reader::list_jobs(const ListQuery& query) {
  std::vector<core::JobRow> found;
  if (query.label && !query.name_space) return Error{ErrorCode::invalid, "a search by label needs a namespace"};
  if (query.graph && !query.label && !query.status)
    return Error{ErrorCode::invalid, "a search by graph needs a status"};
  const Reach reach = reach_of(query);
  Rows rows = find_jobs(lists_[static_cast<std::size_t>(query.direction)], query, reach.first, reach.last);
  while (rows.next()) {
    auto row = job_row(rows);
    if (rows.failed()) break;  // a page was not read: that is no damage of this job
    if (row) {
      found.push_back(std::move(*row));
      continue;
    }
    // A damaged job must not hide the others, nor itself: it is listed as one that needs a person.
    core::JobRow damaged;
    damaged.run = RunId(rows.word(0));
    damaged.name_space = Namespace(std::string(rows.text(1)));
    damaged.id = JobId(std::string(rows.text(2)));
    damaged.created_at = Instant::from_micros(rows.number(6));  // so that lists can place it
    damaged.status = core::JobStatus::parked;
    damaged.reason = to_string(row.error());
    found.push_back(std::move(damaged));
  }
  if (rows.failed()) return error(rows);
  return found;
}

}  // namespace pawl::store::sqlite
