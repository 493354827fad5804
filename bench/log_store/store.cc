#include "log_store/store.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/format.h"
#include "core/codec.h"
#include "log_store/group_codec.h"

namespace pawl::log_store {

namespace {

using store::Operation;
using store::Outcome;
using store::sqlite::Blob;
using store::sqlite::Connection;
using store::sqlite::Statement;

constexpr const char* tables = R"(
CREATE TABLE IF NOT EXISTS log(seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, operations BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS archive(
  run INTEGER PRIMARY KEY, namespace TEXT NOT NULL, id TEXT NOT NULL, graph TEXT NOT NULL, status INTEGER NOT NULL,
  code INTEGER NOT NULL, created_at INTEGER NOT NULL, closed_at INTEGER NOT NULL, result BLOB, reason TEXT NOT NULL,
  activities BLOB NOT NULL);
)";

// A job as one bundle that would create it: what is stored of its activities, ledgers, work and messages.
core::Bundle whole(const store::memory::DumpedJob& job) {
  core::Bundle bundle;
  bundle.entity = job.job.run;
  bundle.rev_before = job.job.rev;
  bundle.id = job.job.bundle;
  core::JobHead head;
  head.status = job.job.status;
  head.next_activity = job.job.next_activity;
  head.data = job.job.data;
  head.result = job.job.result;
  head.reason = job.job.reason;
  bundle.head = std::move(head);
  for (const auto& one : job.activities) bundle.writes.emplace_back(core::PutActivity{std::nullopt, one});
  for (const auto& one : job.records) bundle.writes.emplace_back(core::PutRecord{std::nullopt, one});
  for (const auto& one : job.work) bundle.writes.emplace_back(core::PutWork{one});
  for (const auto& one : job.inbox) bundle.writes.emplace_back(core::PutMessage{one.message, {}});
  for (const auto& one : job.timers) bundle.writes.emplace_back(core::PutMessage{one.message, one.due});
  return bundle;
}

bool has_ended(const core::JobRow& job) { return core::is_closed(job.status) && job.completions > 0; }

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Store::Store(std::unique_ptr<Connection> file, const Options& options)
    : State(*options.clock), ForwardStore(*memory), options_(options), file_(std::move(file)) {}

Store::~Store() { (void)flush(); }

Result<std::unique_ptr<Store>> Store::open(const std::string& path, const Options& options) {
  auto file = Connection::open({path, Connection::Mode::create, "", std::chrono::seconds(5)});
  if (!file) return file.error();
  std::unique_ptr<Store> opened(new Store(std::move(*file), options));
  auto done = opened->prepare();
  if (done) done = opened->recover();
  if (!done) return done.error();
  return opened;
}

Status Store::prepare() {
  auto done =
      file_->execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 20000; PRAGMA cache_size = -65536");
  if (done) done = file_->execute(options_.syncs ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = OFF");
  if (done) done = file_->execute(tables);
  if (!done) return done;
  const auto prepare = [&](Statement& statement, const char* sql) {
    return statement.prepare(file_->handle(), sql) == SQLITE_OK;
  };
  if (prepare(begin_, "BEGIN IMMEDIATE") && prepare(commit_, "COMMIT") && prepare(rollback_, "ROLLBACK") &&
      prepare(append_, "INSERT INTO log(at, operations) VALUES(?1, ?2)") &&
      prepare(archive_, "INSERT OR REPLACE INTO archive VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)") &&
      prepare(unarchive_, "DELETE FROM archive WHERE run = ?1"))
    return {};
  return Error{ErrorCode::corrupt, "the file has other tables than a log"};
}

Error Store::failed(const Statement& statement, const char* doing) const {
  return file_->error(statement.code(), doing);
}

Result<std::vector<Outcome>> Store::commit(std::span<const Operation> group) {
  const Instant at = clock.real();
  const std::string bytes = encode_group(group);
  const auto logged = append(at, bytes);
  if (!logged) return logged.error();
  clock.begin(at);
  auto outcomes = memory->commit(group);
  clock.end();
  if (outcomes && options_.archives) note_ends(group, *outcomes);
  return outcomes;
}

Status Store::append(Instant at, std::string_view bytes) {
  if (begin_.run() == Statement::failed) return failed(begin_, "beginning a group");
  auto done = write_archive();
  if (done && append_.run(at, Blob{bytes}) == Statement::failed) done = failed(append_, "appending a group");
  if (!done) {
    rollback_.run();
    return done;
  }
  if (commit_.run() == Statement::failed) return Error{ErrorCode::outcome_unknown, "the log was not synced"};
  changed_.clear();
  log_bytes_ += bytes.size();
  return {};
}

// REQUIRES: a transaction is open.
Status Store::write_archive() {
  for (const RunId run : changed_) {
    auto job = memory->read_job(run);
    if (!job) return job.error();
    if (!*job || !has_ended((*job)->state.job)) {  // it was removed, or goes on
      if (unarchive_.run(run) == Statement::failed) return failed(unarchive_, "changing the archive");
      continue;
    }
    const core::JobRow& row = (*job)->state.job;
    core::Bundle bundle;
    for (const auto& one : (*job)->state.activities()) bundle.writes.emplace_back(core::PutActivity{std::nullopt, one});
    const std::string activities = core::encode(bundle);
    if (archive_.run(run, row.name_space, row.id, row.graph.name, row.status, row.code, row.created_at, row.closed_at,
                     row.result, row.reason, Blob{activities}) == Statement::failed)
      return failed(archive_, "archiving a job");
  }
  return {};
}

Status Store::flush() {
  if (changed_.empty()) return {};
  if (begin_.run() == Statement::failed) return failed(begin_, "archiving");
  auto done = write_archive();
  if (done && commit_.run() == Statement::failed) done = failed(commit_, "archiving");
  if (done)
    changed_.clear();
  else
    rollback_.run();
  return done;
}

void Store::note_ends(std::span<const Operation> group, const std::vector<Outcome>& outcomes) {
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (outcomes[i].kind != store::OutcomeKind::committed) continue;
    if (const auto* removed = std::get_if<store::RemoveJob>(&group[i])) changed_.push_back(removed->run);
    const auto* bundle = std::get_if<core::Bundle>(&group[i]);
    const auto* head = bundle == nullptr ? nullptr : std::get_if<core::JobHead>(&bundle->head);
    if (head == nullptr) continue;
    const bool ends = core::is_closed(head->status) && head->completions > 0;
    // A job that goes on after its end is no longer one of the archive.
    if (ends || head->redrives > 0) changed_.push_back(bundle->entity);
  }
}

Status Store::recover() {
  changed_.clear();
  Statement rows;
  if (rows.prepare(file_->handle(), "SELECT at, operations FROM log ORDER BY seq") != SQLITE_OK)
    return Error{ErrorCode::corrupt, "the log cannot be read"};
  auto read = rows.query();
  // The name of the store comes from its first moment: it must be the same after each start.
  bool more = read.next();
  if (more) clock.begin(Instant::from_micros(read.number(0)));
  memory.emplace(clock);
  for (; more; more = read.next()) {
    clock.begin(Instant::from_micros(read.number(0)));
    const auto group = decode_group(read.bytes(1));
    if (!group) return group.error();
    const auto outcomes = memory->commit(*group);
    if (!outcomes) return outcomes.error();
    // Only what the last group ended may be missing in the archive, and then its jobs are written once more.
    changed_.clear();
    if (options_.archives) note_ends(*group, *outcomes);
  }
  clock.end();
  if (read.failed() || read.malformed()) return Error{ErrorCode::corrupt, "the log cannot be read to its end"};
  return {};
}

Result<Store::Snapshot> Store::measure_snapshot() {
  Snapshot figures;
  auto done = file_->execute("BEGIN; CREATE TABLE snapshot(run INTEGER PRIMARY KEY, job BLOB)");
  if (!done) return done.error();
  Statement put, rows;
  if (put.prepare(file_->handle(), "INSERT INTO snapshot VALUES(?1, ?2)") != SQLITE_OK ||
      rows.prepare(file_->handle(), "SELECT job FROM snapshot ORDER BY run") != SQLITE_OK)
    return Error{ErrorCode::corrupt, "no snapshot can be written"};
  auto begin = std::chrono::steady_clock::now();
  for (const auto& job : memory->dump().jobs) {
    if (has_ended(job.job)) continue;
    const std::string bytes = core::encode(whole(job));
    if (put.run(job.job.run, Blob{bytes}) == Statement::failed) return failed(put, "writing a snapshot");
    ++figures.jobs;
    figures.bytes += bytes.size();
  }
  figures.write_seconds = seconds_since(begin);
  begin = std::chrono::steady_clock::now();
  {
    auto read = rows.query();
    while (read.next())
      if (!core::decode_bundle(read.bytes(0))) return Error{ErrorCode::corrupt, "a snapshot cannot be read"};
  }
  figures.read_seconds = seconds_since(begin);
  done = file_->execute("ROLLBACK");
  if (!done) return done.error();
  return figures;
}

}  // namespace pawl::log_store
