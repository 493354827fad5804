// Whole jobs, many at once, from one snapshot.
#include <map>

#include "base/format.h"
#include "core/codec.h"
#include "ledger/semaphore.h"
#include "store/postgres/reader.h"
#include "store/postgres/work_columns.h"

namespace pawl::store::postgres {

namespace {

Error corrupt(std::string detail) { return Error{ErrorCode::corrupt, std::move(detail)}; }

#define PAWL_OF_RUNS " WHERE run = ANY($1::bigint[])"
const Statement read_job_rows{"read_job_rows", "SELECT " PAWL_JOB_COLUMNS " FROM jobs" PAWL_OF_RUNS};
const Statement read_activity_rows{
    "read_activity_rows",
    "SELECT run, seq, node, place, parent, ledger, status, code, opened_at, closed_at, output, state, closing_guid,"
    " closing_ledger FROM activities" PAWL_OF_RUNS " ORDER BY run, seq"};
const Statement read_record_rows{"read_record_rows",
                                 "SELECT run, guid, activity, ledger, output FROM message_ledgers" PAWL_OF_RUNS};
const Statement read_work_rows{
    "read_work_rows", "SELECT " PAWL_ITEM_COLUMNS("w") ", w.input FROM work w WHERE w.run = ANY($1::bigint[])"};
const Statement read_inbox_rows{"read_inbox_rows",
                                "SELECT run, guid, redeliveries, body, 0::bigint FROM inbox" PAWL_OF_RUNS
                                " ORDER BY run, position"};
const Statement read_timer_rows{
    "read_timer_rows", "SELECT run, guid, redeliveries, body, due FROM timers" PAWL_OF_RUNS " ORDER BY run, due, guid"};
#undef PAWL_OF_RUNS
// For a running job, without the columns that may be large.
const Statement read_end_of_job{
    "read_end_of_job", "SELECT " PAWL_JOB_COLUMNS_WITH(
                           "CASE WHEN status = 0 THEN NULL ELSE result END",
                           "CASE WHEN status = 0 THEN NULL ELSE data END") " FROM jobs WHERE run = $1::bigint"};

struct Reading {
  StoredJob job;
  std::optional<Error> damaged;
  std::uint32_t activities = 0;

  void damage(std::string what) {
    if (!damaged) damaged = corrupt(format("{}: {}", name_of_job(job.state.job), what));
  }
};
using Readings = std::map<RunId, Reading>;

// Reads the rows of one table, each with the job that it belongs to.
template <class Take>
void take_rows(Readings& jobs, Rows& rows, const Take& take) {
  while (rows.next()) {
    const auto job = jobs.find(RunId(rows.word(0)));
    rows.forget_damage();
    if (job != jobs.end()) take(job->second);
  }
}

void take_activity(Rows& rows, Reading& to) {
  core::Activity activity;
  activity.seq = core::ActivitySeq(rows.small(1));
  activity.node = rows.small(2);
  auto at = ledger::Dimensions::parse(rows.text(3));
  if (!rows.is_null(4)) activity.parent = core::ActivitySeq(rows.small(4));
  const auto digits = ledger::ActivityLedger::decode(rows.word(5));
  const std::int64_t status = rows.number(6);
  activity.code = rows.integer(7);
  activity.opened_at = rows.instant(8);
  activity.closed_at = rows.instant(9);
  activity.output = rows.payload(10);
  activity.state = rows.payload(11);
  const std::uint32_t expected = to.activities++;
  if (rows.malformed()) return to.damage(format("the row of activity {} is malformed", activity.seq.raw()));
  if (activity.seq.raw() != expected) return to.damage(format("activity {} is missing", expected));
  if (!at) return to.damage(format("activity {}: {}", expected, at.error().detail));
  if (!digits) return to.damage(format("activity {}: {}", expected, digits.error().detail));
  if (status < 0 || status > static_cast<std::int64_t>(core::ActivityStatus::skipped))
    return to.damage(format("activity {}: status {} does not exist", expected, status));
  activity.at = std::move(*at);
  activity.ledger = *digits;
  activity.status = static_cast<core::ActivityStatus>(status);
  if (!rows.is_null(12)) {
    const core::Guid guid = rows.guid(12);
    const auto closing = ledger::MessageLedger::decode(rows.word(13));
    if (rows.malformed()) return to.damage(format("the closing message of activity {} is malformed", expected));
    if (!closing) return to.damage(format("message {}: {}", guid.text(), closing.error().detail));
    to.job.state.put(core::MessageRecord{guid, activity.seq, *closing, {}});
  }
  to.job.state.put(std::move(activity));
}

void take_record(Rows& rows, Reading& to) {
  core::MessageRecord record;
  record.guid = rows.guid(1);
  record.activity = core::ActivitySeq(rows.small(2));
  const auto digits = ledger::MessageLedger::decode(rows.word(3));
  record.output = rows.payload(4);
  if (rows.malformed()) return to.damage("the row of a message ledger is malformed");
  if (!digits) return to.damage(format("message {}: {}", record.guid.text(), digits.error().detail));
  record.ledger = *digits;
  to.job.state.put(std::move(record));
}

void take_work(Rows& rows, Reading& to) {
  core::WorkItem item = work_item(rows);
  item.input = rows.payload(work_columns);
  if (rows.malformed()) return to.damage(format("work item {} is malformed", item.activity.raw()));
  to.job.state.put(std::move(item));
}

void take_message(Rows& rows, Reading& to, std::vector<core::InboxMessage>& into) {
  auto message = inbox_message(rows, 1);
  if (!message) return to.damage(message.error().detail);
  into.push_back(std::move(*message));
}

}  // namespace

std::string name_of_job(const core::JobRow& job) {
  return format("job {}/{} (run {})", job.name_space.raw(), job.id.raw(), job.run.raw());
}

Result<core::InboxMessage> inbox_message(Rows& rows, int first) {
  core::InboxMessage waiting;
  waiting.message.guid = rows.guid(first);
  waiting.redeliveries = rows.small(first + 1);
  waiting.due = rows.instant(first + 3);
  auto body = core::decode_body(rows.bytes(first + 2));
  if (rows.malformed()) return corrupt("a message of its inbox is malformed");
  if (!body) return corrupt(format("message {}: {}", waiting.message.guid.text(), body.error().detail));
  waiting.message.body = std::move(*body);
  return waiting;
}

Result<core::JobRow> job_row(Rows& rows) {
  core::JobRow job;
  job.run = RunId(rows.word(0));
  job.name_space = Namespace(std::string(rows.text(1)));
  job.id = JobId(std::string(rows.text(2)));
  job.graph = core::GraphRef{GraphName(std::string(rows.text(3))), rows.small(4), rows.word(5)};
  job.created_at = rows.instant(6);
  job.rev = core::Rev(rows.word(7));
  job.bundle = core::BundleId(rows.word(8));
  const std::int64_t status = rows.number(9);
  job.semaphore = rows.number(10);
  job.threshold = rows.number(11);
  job.completions = rows.small(12);
  job.next_activity = rows.small(13);
  job.closed_at = rows.instant(14);
  job.result = rows.payload(15);
  job.reason = std::string(rows.text(16));
  job.priority = rows.integer(17);
  if (!rows.is_null(18)) job.keep = Duration(rows.number(18));
  job.remove_at = rows.instant(19);
  job.deadline = rows.instant(20);
  job.redrives = rows.small(21);
  job.data = rows.payload(22);
  job.code = rows.integer(23);
  if (!rows.is_null(24))
    job.parent =
        core::ParentLink{RunId(rows.word(24)), core::ActivitySeq(rows.small(25)), rows.guid(26), rows.flag(27)};
  if (!rows.is_null(28)) job.secret = core::JobSecret(rows.guid(28));
  if (rows.malformed()) return corrupt(format("{}: its row is malformed", name_of_job(job)));
  if (status < 0 || status > static_cast<std::int64_t>(core::JobStatus::paused))
    return corrupt(format("{}: status {} does not exist", name_of_job(job), status));
  job.status = static_cast<core::JobStatus>(status);
  const auto semaphore = ledger::Semaphore::decode(job.semaphore);
  if (!semaphore) return corrupt(format("{}: {}", name_of_job(job), semaphore.error().detail));
  return job;
}

std::vector<Result<std::optional<StoredJob>>> Reader::read_jobs(std::span<const RunId> runs) {
  const Params of_runs = Params::of(std::vector(runs.begin(), runs.end()));
  Script script = reading();
  for (const Statement* statement :
       {&read_job_rows, &read_activity_rows, &read_record_rows, &read_work_rows, &read_inbox_rows, &read_timer_rows})
    script.add(*statement, of_runs);
  Done done = read_together(script);
  using Answer = Result<std::optional<StoredJob>>;
  if (!done) return std::vector<Answer>(runs.size(), Answer(error_of(done.failure())));
  Readings jobs;
  Rows& rows = done[1];
  while (rows.next()) {
    rows.forget_damage();
    Reading& to = jobs[RunId(rows.word(0))];
    auto job = job_row(rows);
    if (job)
      to.job.state.job = std::move(*job);
    else
      to.damaged = job.error();
  }
  take_rows(jobs, done[2], [&](Reading& to) { take_activity(done[2], to); });
  take_rows(jobs, done[3], [&](Reading& to) { take_record(done[3], to); });
  take_rows(jobs, done[4], [&](Reading& to) { take_work(done[4], to); });
  take_rows(jobs, done[5], [&](Reading& to) { take_message(done[5], to, to.job.inbox); });
  take_rows(jobs, done[6], [&](Reading& to) { take_message(done[6], to, to.job.timers); });
  std::vector<Answer> answers;
  answers.reserve(runs.size());
  for (const RunId run : runs) {
    const auto found = jobs.find(run);
    if (found == jobs.end()) {
      answers.emplace_back(std::optional<StoredJob>());
      continue;
    }
    Reading& read = found->second;
    const std::uint32_t expected = read.job.state.job.next_activity;
    if (read.activities != expected)
      read.damage(format("{} activities are stored, its row says {}", read.activities, expected));
    if (read.damaged)
      answers.emplace_back(*read.damaged);
    else
      answers.emplace_back(std::optional<StoredJob>(read.job));
  }
  return answers;
}

Result<std::optional<core::JobRow>> Reader::read_job_row(RunId run) {
  Done done = connection_.run(read_end_of_job, Params::of(run));
  if (!done) return error_of(done.failure());
  if (!done[0].next()) return std::optional<core::JobRow>();
  auto job = job_row(done[0]);
  if (!job) return job.error();
  return std::optional<core::JobRow>(std::move(*job));
}

}  // namespace pawl::store::postgres
