// One job, read whole within one snapshot.
#include "base/format.h"
#include "core/codec.h"
#include "ledger/semaphore.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/work_rows.h"

namespace pawl::store::sqlite {

namespace {

Error corrupt(std::string detail) { return Error{ErrorCode::corrupt, std::move(detail)}; }

// An input that is another activity's output is in memory once.
void share(Rows& rows, const core::JobState& state, core::WorkItem& item) {
  if (rows.is_null(input_at_column) || rows.number(input_at_column) < 0) return;
  const core::Activity* giver = state.find(core::ActivitySeq(rows.small(input_at_column)));
  if (giver != nullptr && giver->output == item.input) item.input = giver->output;
}

}  // namespace

std::string name_of_job(const core::JobRow& job) {
  return format("job {}/{} (run {})", job.name_space.raw(), job.id.raw(), job.run.raw());
}

Result<core::JobRow> job_row(Rows& rows) {
  core::JobRow job;
  job.run = RunId(rows.word(0));
  job.name_space = Namespace(std::string(rows.text(1)));
  job.id = JobId(std::string(rows.text(2)));
  job.graph = core::GraphRef{GraphName(std::string(rows.text(3))), rows.small(4), rows.word(5)};
  job.created_at = Instant::from_micros(rows.number(6));
  job.rev = core::Rev(rows.word(7));
  job.bundle = core::BundleId(rows.word(8));
  const std::int64_t status = rows.number(9);
  job.semaphore = rows.number(10);
  job.threshold = rows.number(11);
  job.completions = rows.small(12);
  job.next_activity = rows.small(13);
  job.closed_at = Instant::from_micros(rows.number(14));
  job.result = rows.payload(15);
  job.reason = std::string(rows.text(16));
  job.priority = rows.integer(17);
  if (!rows.is_null(18)) job.keep = Duration(rows.number(18));
  job.remove_at = Instant::from_micros(rows.number(19));
  job.deadline = Instant::from_micros(rows.number(20));
  job.redrives = rows.small(21);
  job.data = rows.payload(22);
  job.code = rows.integer(23);
  if (!rows.is_null(24))
    job.parent =
        core::ParentLink{RunId(rows.word(24)), core::ActivitySeq(rows.small(25)), rows.guid(26), rows.number(27) != 0};
  if (!rows.is_null(28)) job.secret = core::JobSecret(rows.guid(28));
  if (!rows.is_null(29) && job.result.empty()) rows.mark_malformed();  // its activity does not have it
  if (rows.malformed()) return corrupt(format("{}: its row is malformed", name_of_job(job)));
  if (status < 0 || status > static_cast<std::int64_t>(core::JobStatus::paused))
    return corrupt(format("{}: status {} does not exist", name_of_job(job), status));
  job.status = static_cast<core::JobStatus>(status);
  const auto semaphore = ledger::Semaphore::decode(job.semaphore);
  if (!semaphore) return corrupt(format("{}: {}", name_of_job(job), semaphore.error().detail));
  return job;
}

Result<std::optional<StoredJob>> Reader::read_job(RunId run) {
  const Snapshot snapshot(begin_, end_);
  if (snapshot.code() != SQLITE_OK) return connection_->error(snapshot.code(), "read");
  return read_job_rows(run);
}

Result<std::optional<core::JobRow>> Reader::read_job_row(RunId run) {
  Rows rows = job_row_.query(run);
  if (!rows.next()) {
    if (rows.failed()) return error(rows);
    return std::optional<core::JobRow>();
  }
  auto job = job_row(rows);
  if (rows.failed()) return error(rows);
  if (!job) return job.error();
  return std::optional<core::JobRow>(std::move(*job));
}

Result<std::optional<StoredJob>> Reader::read_job_rows(RunId run) {
  StoredJob stored;
  {
    Rows rows = job_.query(run);
    if (!rows.next()) {
      if (rows.failed()) return error(rows);
      return std::optional<StoredJob>();
    }
    auto job = job_row(rows);
    if (rows.failed()) return error(rows);
    if (!job) return job.error();
    stored.state.job = std::move(*job);
  }
  auto read = read_activities(stored.state);
  if (read) read = read_records(stored.state);
  if (read) read = read_work_of(stored.state);
  if (!read) return Error{read.error().code, format("{}: {}", name_of_job(stored.state.job), read.error().detail)};
  auto inbox = read_inbox(run);
  if (!inbox) return Error{inbox.error().code, format("{}: {}", name_of_job(stored.state.job), inbox.error().detail)};
  stored.inbox = std::move(*inbox);
  auto timers = read_timers(run);
  if (!timers)
    return Error{timers.error().code, format("{}: {}", name_of_job(stored.state.job), timers.error().detail)};
  stored.timers = std::move(*timers);
  return std::optional<StoredJob>(std::move(stored));
}

Status Reader::read_activities(core::JobState& state) {
  Rows rows = activities_.query(state.job.run);
  std::uint32_t expected = 0;
  for (; rows.next(); ++expected) {
    core::Activity activity;
    activity.seq = core::ActivitySeq(rows.small(0));
    activity.node = rows.small(1);
    auto at = ledger::Dimensions::parse(rows.text(2));
    if (!rows.is_null(3)) activity.parent = core::ActivitySeq(rows.small(3));
    const auto digits = ledger::ActivityLedger::decode(rows.word(4));
    const std::int64_t status = rows.number(5);
    activity.code = static_cast<std::int32_t>(rows.number(6));
    activity.opened_at = Instant::from_micros(rows.number(7));
    activity.closed_at = Instant::from_micros(rows.number(8));
    activity.output = rows.payload(9);
    activity.state = rows.payload(12);
    if (rows.malformed()) return corrupt(format("the row of activity {} is malformed", activity.seq.raw()));
    if (activity.seq.raw() != expected) return corrupt(format("activity {} is missing", expected));
    if (!at) return corrupt(format("activity {}: {}", expected, at.error().detail));
    if (!digits) return corrupt(format("activity {}: {}", expected, digits.error().detail));
    if (status < 0 || status > static_cast<std::int64_t>(core::ActivityStatus::skipped))
      return corrupt(format("activity {}: status {} does not exist", expected, status));
    activity.at = std::move(*at);
    activity.ledger = *digits;
    activity.status = static_cast<core::ActivityStatus>(status);
    if (!rows.is_null(10)) {
      const auto closing = ledger::MessageLedger::decode(rows.word(11));
      const core::Guid guid = rows.guid(10);
      if (rows.malformed()) return corrupt(format("the closing message of activity {} is malformed", expected));
      if (!closing) return corrupt(format("message {}: {}", guid.text(), closing.error().detail));
      state.put(core::MessageRecord{guid, activity.seq, *closing, {}});
    }
    state.put(std::move(activity));
  }
  if (rows.failed()) return error(rows);
  if (expected != state.job.next_activity)
    return corrupt(format("{} activities are stored, its row says {}", expected, state.job.next_activity));
  return {};
}

Status Reader::read_records(core::JobState& state) {
  Rows rows = records_.query(state.job.run);
  while (rows.next()) {
    core::MessageRecord record;
    record.guid = rows.guid(0);
    record.activity = core::ActivitySeq(rows.small(1));
    const auto digits = ledger::MessageLedger::decode(rows.word(2));
    record.output = rows.payload(3);
    if (rows.malformed()) return corrupt("the row of a message ledger is malformed");
    if (!digits) return corrupt(format("message {}: {}", record.guid.text(), digits.error().detail));
    record.ledger = *digits;
    state.put(std::move(record));
  }
  if (rows.failed()) return error(rows);
  return {};
}

Status Reader::read_work_of(core::JobState& state) {
  Rows rows = work_of_.query(state.job.run);
  while (rows.next()) {
    core::WorkItem item = work_item(rows, state.job.run, core::ActivitySeq(rows.small(work_columns)));
    if (rows.malformed()) return corrupt(format("work item {} is malformed", item.activity.raw()));
    share(rows, state, item);
    state.put(std::move(item));
  }
  if (rows.failed()) return error(rows);
  return {};
}

Result<std::vector<core::InboxMessage>> Reader::read_inbox(RunId run) { return read_messages(inbox_.query(run)); }
Result<std::vector<core::InboxMessage>> Reader::read_timers(RunId run) { return read_messages(timers_.query(run)); }

Result<core::InboxMessage> Reader::take_message(Rows& rows) {
  core::InboxMessage waiting;
  waiting.message.guid = rows.guid(0);
  waiting.redeliveries = rows.small(1);
  waiting.due = Instant::from_micros(rows.number(3));
  auto body = core::decode_body(rows.bytes(2));
  if (rows.malformed()) return corrupt("a message of its inbox is malformed");
  if (!body) return corrupt(format("message {}: {}", waiting.message.guid.text(), body.error().detail));
  waiting.message.body = std::move(*body);
  return waiting;
}

Result<std::vector<core::InboxMessage>> Reader::read_messages(Rows rows) {
  std::vector<core::InboxMessage> inbox;
  while (rows.next()) {
    auto waiting = take_message(rows);
    if (!waiting) return waiting.error();
    inbox.push_back(std::move(*waiting));
  }
  if (rows.failed()) return error(rows);
  return inbox;
}

}  // namespace pawl::store::sqlite
