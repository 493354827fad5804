// What is due by the clock, merged from its four sources, each read by an index in the order of Due.
#include <algorithm>
#include <limits>
#include <string>

#include "base/format.h"
#include "store/sqlite/reader.h"

namespace pawl::store::sqlite {

namespace {

// Where one source continues after a cursor of any kind: rows with the cursor's time and run come before it, after it,
// or in the order of their keys.
class From {
 public:
  From(const std::optional<Due>& after, Due::Kind kind) {
    if (!after) return;
    at_ = after->at;
    run_ = static_cast<std::int64_t>(after->run.raw());
    activity_ = kind > after->kind ? -1 : std::numeric_limits<std::int64_t>::max();
    if (kind == after->kind) activity_ = after->activity.raw();
    guid_ = std::string(sizeof(core::Guid) + 1, '\xff');  // longer, and so larger, than any
    if (kind == after->kind) guid_ = std::string(GuidBytes(after->guid).blob().bytes);
    run_or_before_ = kind > after->kind ? run_ - 1 : run_;
  }
  Instant at() const { return at_; }
  std::int64_t run() const { return run_; }
  Blob guid() const { return Blob{guid_}; }
  std::int64_t activity() const { return activity_; }
  std::int64_t run_or_before() const { return run_or_before_; }  // for sources with at most one row per run

 private:
  Instant at_ = Instant::from_micros(std::numeric_limits<std::int64_t>::min());
  std::int64_t run_ = 0;
  std::int64_t activity_ = -1;
  std::int64_t run_or_before_ = 0;
  std::string guid_;
};

}  // namespace

Status Reader::prepare_due() {
  const struct {
    Statement* statement;
    const char* sql;
  } entries[] = {
      {&due_timers_,
       "SELECT due, run, guid FROM timers INDEXED BY timers_due"
       " WHERE run >> 47 = ?1 AND (due, run, guid) > (?2, ?3, ?4) ORDER BY due, run, guid"},
      {&due_work_,
       "SELECT wake_at, run, seq FROM work_list INDEXED BY work_due"
       " WHERE run >> 47 = ?1 AND wake_at <> 0 AND (wake_at, run, seq) > (?2, ?3, ?4)"
       " ORDER BY wake_at, run, seq"},
      {&due_removals_,
       "SELECT remove_at, run FROM jobs INDEXED BY jobs_removal"
       " WHERE run >> 47 = ?1 AND remove_at <> 0 AND (remove_at, run) > (?2, ?3)"
       " AND status BETWEEN 1 AND 3 AND completions > 0 ORDER BY remove_at, run"},
      {&due_keys_,
       "SELECT expires_at, run FROM start_keys INDEXED BY start_keys_due"
       " WHERE run >> 47 = ?1 AND expires_at <> 0 AND (expires_at, run) > (?2, ?3)"
       " ORDER BY expires_at, run"},
  };
  for (const auto& entry : entries) {
    const int rc = entry.statement->prepare(connection_->handle(), entry.sql);
    if (rc != SQLITE_OK) return connection_->error(rc, "find the expected tables in");
  }
  return {};
}

// Each source returns as many good rows as requested, if it has them: sorting decides which of them belong to the page.
Result<Page<Due>> Reader::read_due(core::LaneId lane, const std::optional<Due>& after, std::size_t rows_max) {
  const Snapshot snapshot(begin_, end_);
  if (snapshot.code() != SQLITE_OK) return connection_->error(snapshot.code(), "read");
  Page<Due> found;
  const auto take = [&](Due::Kind kind, Rows rows) -> Status {
    for (std::size_t taken = 0; taken < rows_max && rows.next();) {
      Due due{Instant::from_micros(rows.number(0)), RunId(rows.word(1)), kind, {}, core::ActivitySeq(0)};
      if (kind == Due::Kind::message) due.guid = rows.guid(2);
      if (kind == Due::Kind::work) due.activity = core::ActivitySeq(rows.small(2));
      if (rows.malformed()) {
        name_damaged(found, due.run, format("run {}: a time is malformed", due.run.raw()));
        continue;
      }
      found.push_back(due);
      ++taken;
    }
    if (rows.failed()) return error(rows);
    return {};
  };
  const From timers(after, Due::Kind::message);
  const From work(after, Due::Kind::work);
  const From removals(after, Due::Kind::removal);
  const From keys(after, Due::Kind::key);
  auto taken = take(Due::Kind::message, due_timers_.query(lane, timers.at(), timers.run(), timers.guid()));
  if (taken) taken = take(Due::Kind::work, due_work_.query(lane, work.at(), work.run(), work.activity()));
  if (taken) taken = take(Due::Kind::removal, due_removals_.query(lane, removals.at(), removals.run_or_before()));
  if (taken) taken = take(Due::Kind::key, due_keys_.query(lane, keys.at(), keys.run_or_before()));
  if (!taken) return taken.error();
  std::sort(found.begin(), found.end());
  if (found.size() > rows_max) found.resize(rows_max);
  return found;
}

Result<std::optional<core::InboxMessage>> Reader::read_message(RunId run, const core::Guid& guid) {
  const GuidBytes bytes(guid);
  auto found = read_messages(message_.query(run, bytes));
  if (!found) return Error{found.error().code, format("run {}: {}", run.raw(), found.error().detail)};
  if (found->empty()) return std::optional<core::InboxMessage>();
  return std::optional<core::InboxMessage>(std::move(found->front()));
}

Result<std::vector<Topic>> Reader::read_paused_topics() {
  std::vector<Topic> topics;
  Rows rows = paused_.query();
  while (rows.next()) {
    Topic topic{std::string(rows.text(0))};
    if (!rows.malformed()) topics.push_back(std::move(topic));  // a malformed one is no topic that work could have
  }
  if (rows.failed()) return error(rows);
  return topics;
}

}  // namespace pawl::store::sqlite
