// What is due at a time, merged from its four sources, each read by an index in the order of Due; and single messages.
#include <algorithm>
#include <limits>
#include <string>

#include "base/format.h"
#include "store/postgres/reader.h"

namespace pawl::store::postgres {

namespace {

const Statement due_timers{"due_timers",
                           "SELECT due, run, guid FROM timers WHERE run >> 47 = $1::bigint"
                           " AND (due, run + 0, guid || ''::bytea) > ($2::bigint, $3::bigint, $4::bytea) ORDER BY due, "
                           "run + 0, guid || ''::bytea LIMIT $5::bigint"};
const Statement due_work{
    "due_work",
    "SELECT wake_at, run, seq FROM work WHERE run >> 47 = $1::bigint AND wake_at <> 0"
    " AND (wake_at, run, seq) > ($2::bigint, $3::bigint, $4::bigint) ORDER BY wake_at, run, seq LIMIT $5::bigint"};
const Statement due_removals{
    "due_removals",
    "SELECT remove_at, run FROM jobs WHERE run >> 47 = $1::bigint AND remove_at <> 0"
    " AND (remove_at, run) > ($2::bigint, $3::bigint) AND status + 0 BETWEEN 1 AND 3 AND completions > 0"
    " ORDER BY remove_at, run LIMIT $4::bigint"};
const Statement due_keys{"due_keys",
                         "SELECT expires_at, run FROM start_keys WHERE run >> 47 = $1::bigint AND expires_at <> 0"
                         " AND (expires_at, run) > ($2::bigint, $3::bigint) ORDER BY expires_at, run LIMIT $4::bigint"};
const Statement read_one_message{
    "read_one_message",
    "SELECT guid, redeliveries, body, 0::bigint FROM inbox WHERE run = $1::bigint AND guid = $2::bytea"
    " UNION ALL SELECT guid, redeliveries, body, due FROM timers WHERE run = $1::bigint AND guid = $2::bytea"};

// Where one source continues after a cursor of any kind. Rows with the time and run of the cursor come before it, after
// it, or are ordered by their own key.
struct From {
  From(const std::optional<Due>& after, Due::Kind kind) {
    if (!after) return;
    at = after->at;
    run = static_cast<std::int64_t>(after->run.raw());
    activity = kind > after->kind ? -1 : std::numeric_limits<std::int64_t>::max();
    if (kind == after->kind) activity = after->activity.raw();
    guid = std::string(sizeof(core::Guid) + 1, '\xff');  // longer, and so larger, than any guid
    if (kind == after->kind) {
      guid.clear();
      wire::put_64(guid, after->guid.high);
      wire::put_64(guid, after->guid.low);
    }
    run_or_before = kind > after->kind ? run - 1 : run;
  }
  Instant at = Instant::from_micros(std::numeric_limits<std::int64_t>::min());
  std::int64_t run = 0;
  std::int64_t activity = -1;
  std::int64_t run_or_before = 0;  // for kinds of which a run has at most one
  std::string guid;
};

}  // namespace

Result<Page<Due>> Reader::read_due(core::LaneId lane, const std::optional<Due>& after, std::size_t rows_max) {
  const From timers(after, Due::Kind::message);
  const From work(after, Due::Kind::work);
  const From removals(after, Due::Kind::removal);
  const From keys(after, Due::Kind::key);
  Script script = reading();
  script.add(due_timers, Params::of(lane, timers.at, timers.run, Blob{timers.guid}, rows_max));
  script.add(due_work, Params::of(lane, work.at, work.run, work.activity, rows_max));
  script.add(due_removals, Params::of(lane, removals.at, removals.run_or_before, rows_max));
  script.add(due_keys, Params::of(lane, keys.at, keys.run_or_before, rows_max));
  Done done = read_together(script);
  if (!done) return error_of(done.failure());
  Page<Due> found;
  for (const Due::Kind kind : {Due::Kind::message, Due::Kind::work, Due::Kind::removal, Due::Kind::key}) {
    Rows& rows = done[static_cast<std::size_t>(kind) + 1];
    while (rows.next()) {
      rows.forget_damage();
      Due due{rows.instant(0), RunId(rows.word(1)), kind, {}, core::ActivitySeq(0)};
      if (kind == Due::Kind::message) due.guid = rows.guid(2);
      if (kind == Due::Kind::work) due.activity = core::ActivitySeq(rows.small(2));
      if (rows.malformed())
        name_damaged(found, due.run, format("run {}: a time is malformed", due.run.raw()));
      else
        found.push_back(due);
    }
  }
  std::sort(found.begin(), found.end());
  if (found.size() > rows_max) found.resize(rows_max);
  return found;
}

Result<std::optional<core::InboxMessage>> Reader::read_message(RunId run, const core::Guid& guid) {
  Done done = connection_.run(read_one_message, Params::of(run, guid));
  if (!done) return error_of(done.failure());
  if (!done[0].next()) return std::optional<core::InboxMessage>();
  auto message = inbox_message(done[0]);
  if (!message) return Error{message.error().code, format("run {}: {}", run.raw(), message.error().detail)};
  return std::optional<core::InboxMessage>(std::move(*message));
}

}  // namespace pawl::store::postgres
