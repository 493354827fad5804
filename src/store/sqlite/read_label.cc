// Measures of jobs, and their announcements.
#include "base/format.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/run_range.h"

namespace pawl::store::sqlite {

Status Reader::prepare_labels() {
  int rc = measures_.prepare(
      connection_->handle(),
      "SELECT key, slice, target, counted, value, count, sum, least, most FROM measures"
      " WHERE namespace = ?1 AND graph = ?2 AND (?3 IS NULL OR key = ?3) AND slice >= ?4 AND (?5 = '' OR slice <= ?5)"
      " ORDER BY key, slice, target, counted, value LIMIT ?6");
  // A topic is read by its index: following a rare topic must not read all the others every time.
  const auto announcements = [](const char* of) {
    return format(
        "SELECT a.id, j.namespace, j.job_id, a.run, a.topic, a.what, a.status, a.code, a.at, a.data"
        " FROM announcements a CROSS JOIN jobs j ON j.run = a.run WHERE a.id > ?1 AND a.id <= ?2"
        " AND (?3 IS NULL OR j.namespace = ?3) AND {} ORDER BY a.id LIMIT ?6",
        of);
  };
  if (rc == SQLITE_OK)
    rc = announcements_.prepare(connection_->handle(), announcements("?4 IS NULL AND ?5 IS NULL").c_str());
  if (rc == SQLITE_OK)
    rc = announcements_of_topic_.prepare(connection_->handle(), announcements("a.topic = ?4 AND ?5 IS NULL").c_str());
  if (rc == SQLITE_OK)
    rc = announcements_of_run_.prepare(connection_->handle(),
                                       announcements("a.run = ?5 AND (?4 IS NULL OR +a.topic = ?4)").c_str());
  if (rc != SQLITE_OK) return connection_->error(rc, "find the expected tables in");
  return {};
}

Result<std::vector<MeasureRow>> Reader::read_measures(const MeasureQuery& query) {
  std::vector<MeasureRow> found;
  Rows rows = measures_.query(query.name_space, query.graph, query.key, query.from, query.to, query.rows_max);
  while (rows.next()) {
    MeasureRow row;
    row.key = rows.text(0);
    row.slice = rows.text(1);
    row.target = rows.text(2);
    if (rows.number(3) != 0) row.value = std::string(rows.text(4));
    row.count = rows.word(5);
    row.sum = rows.real(6);
    row.least = rows.real(7);
    row.most = rows.real(8);
    if (rows.malformed()) return Error{ErrorCode::corrupt, "the row of a measure is malformed"};
    found.push_back(std::move(row));
  }
  if (rows.failed()) return error(rows);
  return found;
}

Result<std::vector<AnnouncementRow>> Reader::read_announcements(const AnnouncementQuery& query) {
  std::vector<AnnouncementRow> found;
  const RunId from = core::make_run(query.lane, query.after);
  Statement& statement = query.run ? announcements_of_run_ : query.topic ? announcements_of_topic_ : announcements_;
  Rows rows = statement.query(from, runs_of(query.lane).last, query.name_space, query.topic, query.run, query.rows_max);
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
    row.said.at = Instant::from_micros(rows.number(8));
    row.said.data = rows.payload(9);
    if (rows.malformed() || what < 0 || what > 1 || status < 0 || status > 3)
      return Error{ErrorCode::corrupt, "the row of an announcement is malformed"};
    row.said.what = static_cast<core::Announce::What>(what);
    row.said.status = static_cast<core::ReplyStatus>(status);
    found.push_back(std::move(row));
  }
  if (rows.failed()) return error(rows);
  return found;
}

}  // namespace pawl::store::sqlite
