#include "store/sqlite/job_writer.h"

#include "base/format.h"
#include "ledger/semaphore.h"
#include "store/rules.h"
#include "store/snapshot.h"
#include "store/sqlite/payload_giver.h"
#include "store/sqlite/prepared.h"

namespace pawl::store::sqlite {

namespace {

// The step of a job that continues: it writes neither the status nor the time of the end, so SQLite looks at no index.
// It changes only a row that it does not bring to the threshold, so a changed row means: no hit.
#define PAWL_STEP_JOB                                                                         \
  "UPDATE jobs SET rev = rev + 1, bundle = ?3, semaphore = semaphore + ?6, completions = ?7," \
  " next_activity = ?8"
#define PAWL_IF_IT_RUNS_ON                                                                   \
  " WHERE run = ?1 AND rev = ?2 AND status = 0 AND completions = ?4 AND next_activity = ?10" \
  " AND redrives = ?11 AND code = ?12 AND remove_at = 0 AND closed_at = 0 AND (?5 IS NULL OR (semaphore = ?5"  \
  " AND semaphore + ?6 <> ?9 AND semaphore + ?6 BETWEEN 0 AND 999999999))"

// New instances are numbered without gaps from the stored next_activity on. Returns how many are new, or none when
// their numbers are out of order.
std::optional<std::uint32_t> count_new(const core::Bundle& bundle, std::uint32_t next_after) {
  std::uint32_t count = 0;
  for (const core::Write& write : bundle.writes)
    if (const auto* put = std::get_if<core::PutActivity>(&write); put != nullptr && !put->before) ++count;
  if (count > next_after) return std::nullopt;
  std::uint32_t next = next_after - count;
  for (const core::Write& write : bundle.writes)
    if (const auto* put = std::get_if<core::PutActivity>(&write); put != nullptr && !put->before)
      if (put->after.seq.raw() != next++) return std::nullopt;
  return count;
}

}  // namespace

Status JobWriter::prepare(Connection& connection) {
  const auto keys = keys_.prepare(connection);
  if (!keys) return keys;
  // step_job is put_job for a job that continues; share_data is step_job with new data.
  return prepare_each(
      connection,
      {
          {&step_job_, PAWL_STEP_JOB PAWL_IF_IT_RUNS_ON},
          {&share_data_, PAWL_STEP_JOB ", data = ?13" PAWL_IF_IT_RUNS_ON},
          {&put_job_,
           "UPDATE jobs SET rev = rev + 1, bundle = ?3,"
           " semaphore = CASE WHEN ?5 IS NULL AND ?11 BETWEEN 1 AND 3 THEN 0 ELSE semaphore + ?6 END,"
           " completions = ?7, next_activity = ?8, status = ?11, closed_at = ?12,"
           " result = CASE WHEN ?13 THEN ?14 ELSE result END,"
           " result_at = CASE WHEN ?13 THEN ?21 ELSE result_at END, reason = coalesce(?15, reason),"
           " remove_at = ?16, redrives = ?17, code = ?18, data = CASE WHEN ?19 THEN ?20 ELSE data END"
           " WHERE run = ?1 AND rev = ?2 AND (status NOT BETWEEN 1 AND 3 OR status = ?11)"
           " AND completions = ?4 AND next_activity = ?10"
           " AND (?5 IS NULL OR (semaphore = ?5 AND semaphore + ?6 BETWEEN 0 AND 999999999))"
           " RETURNING ?5 IS NOT NULL AND semaphore = ?9"},
          // A closed job has no open obligations, whatever the step that closed it left.
          {&forgive_rest_, "UPDATE jobs SET semaphore = 0 WHERE run = ?1"},
          {&read_guard_, "SELECT rev, bundle, semaphore, completions, status, next_activity FROM jobs WHERE run = ?1"},
          {&put_new_job_,
           "INSERT INTO jobs (run, namespace, job_id, graph, version, fingerprint, created_at, rev, bundle,"
           " status, semaphore, threshold, completions, next_activity, closed_at, result, reason, priority, keep,"
           " deadline, parent_run, parent_activity, parent_request, parent_awaits, secret)"
           " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, 0, 1, 0, 0, 0, 0, NULL, '', ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
           " ?15)"},
          {&read_status_, "SELECT status FROM jobs WHERE run = ?1"},
          {&read_parent_, "SELECT parent_request FROM jobs WHERE run = ?1 AND parent_request IS NOT NULL"},
      });
}

#undef PAWL_STEP_JOB
#undef PAWL_IF_IT_RUNS_ON

Applied JobWriter::begin(const Submit& submit, const std::optional<core::ParentLink>& parent) {
  const Checked lane = lanes_.exists(submit.lane);
  if (lane.failed) return *lane.failed;
  StartKeys::Key held;
  const int code = keys_.find(submit.name_space, submit.id, held);
  if (code != SQLITE_OK) return Applied{code, false, {}};
  const RunId holder = held.run;
  KeyHolder key;
  key.over = held.expires_at != Instant() && held.expires_at <= clock_.now();
  if (is_outrun(submit, holder)) return refused(OutcomeKind::conflict, outrun());
  if (holder != RunId(0)) {
    if (submit.reuse != Reuse::never) {
      Rows rows = read_status_.query(holder);
      key.open = rows.next() && !core::is_closed(static_cast<core::JobStatus>(rows.number(0)));
      if (rows.failed()) return failed(rows);
    }
    if (is_taken(submit.reuse, key)) {
      Applied taken = refused(OutcomeKind::exists, "");
      taken.outcome.answer = answer::Run{holder};
      return taken;
    }
  }
  if (!lane.yes) return no_lane(submit.lane);
  Applied applied = make(submit, parent, lanes_.next_run(submit.lane), held);
  if (!is_done(applied) || !key.open) return applied;
  applied.outcome.answer = answer::Run{applied.outcome.run(), holder};
  const Applied told = inbox_.put(holder, replaced_message(applied.outcome.run()));
  return told.code == SQLITE_OK ? applied : told;
}

Applied JobWriter::make(const Submit& submit, const std::optional<core::ParentLink>& parent, RunId run,
                        const StartKeys::Key& held) {
  Applied applied;
  applied.wrote = true;
  applied.outcome.answer = answer::Run{run};
  if (const int code = keys_.put(submit.name_space, submit.id, run, held); code != SQLITE_OK)
    return Applied{code, false, {}};
  std::optional<RunId> parent_run;
  std::optional<core::ActivitySeq> parent_activity;
  std::optional<GuidBytes> parent_request;
  std::optional<bool> parent_awaits;
  if (parent) {
    parent_run = parent->run;
    parent_activity = parent->activity;
    parent_request.emplace(parent->request);
    parent_awaits = parent->awaits;
  }
  if (put_new_job_.run(run, submit.name_space, submit.id, submit.graph.name, submit.graph.version,
                       submit.graph.fingerprint, submit.at, submit.priority, submit.keep, submit.deadline, parent_run,
                       parent_activity, parent_request, parent_awaits,
                       stored_secret(submit.secret)) == Statement::failed)
    return failed(put_new_job_);
  core::Message start = core::start_message(run, submit.input);
  const Applied started = submit.start_at == Instant() ? inbox_.put_start(run, std::move(start))
                                                       : inbox_.put(run, start, submit.start_at);
  if (started.code != SQLITE_OK) return started;
  if (submit.deadline != Instant()) {
    const Applied limited = inbox_.put(run, core::deadline_message(run), submit.deadline);
    if (limited.code != SQLITE_OK) return limited;
  }
  return applied;
}

Applied JobWriter::take_id(const Namespace& name_space, const JobId& id, core::LaneId lane_id) {
  const Checked lane = lanes_.exists(lane_id);
  if (lane.failed) return *lane.failed;
  StartKeys::Key held;
  int code = keys_.find(name_space, id, held);
  if (code != SQLITE_OK) return Applied{code, false, {}};
  if (held.run != RunId(0)) {
    Applied taken = refused(OutcomeKind::exists, "");
    taken.outcome.answer = answer::Run{held.run};
    return taken;
  }
  if (!lane.yes) return no_lane(lane_id);
  Applied applied{SQLITE_OK, true, {}};
  const RunId run = lanes_.next_run(lane_id);
  applied.outcome.answer = answer::Run{run};
  code = keys_.put(name_space, id, run, held);
  if (code != SQLITE_OK) return Applied{code, false, {}};
  return applied;
}

Checked JobWriter::made_by(RunId run, const core::StartChild& start) {
  std::optional<core::ParentLink> parent;
  Rows rows = read_parent_.query(run);
  if (rows.next()) parent.emplace().request = rows.guid(0);
  if (rows.failed()) return {false, failed(rows)};
  if (rows.malformed()) return {false, Applied{SQLITE_CORRUPT, false, {}}};
  return {store::made_by(start, parent)};
}

Applied JobWriter::deliver(RunId run, const core::Message& message) {
  std::int64_t status = 0;
  {
    Rows rows = read_status_.query(run);
    if (!rows.next()) return Applied{rows.failed() ? rows.rc() : SQLITE_OK, false, {}};
    status = rows.number(0);
  }
  if (!core::is_closed(static_cast<core::JobStatus>(status))) return inbox_.put(run, message);
  const Checked waits = inbox_.waits(run, message.guid);
  if (waits.failed) return *waits.failed;
  return waits.yes ? refused(OutcomeKind::already_done, "") : Applied{};
}

Applied JobWriter::deliver(const core::JobKey& key, const core::Message& message) {
  StartKeys::Key held;
  const int code = keys_.find(key.name_space, key.id, held);
  if (code != SQLITE_OK || held.run == RunId(0)) return Applied{code, false, {}};
  Applied applied = deliver(held.run, message);
  applied.outcome.answer = answer::Run{held.run};
  return applied;
}

Applied JobWriter::step_semaphore(const core::Bundle& bundle, const core::JobHead& head, bool& hit) {
  hit = false;
  const auto fresh = count_new(bundle, head.next_activity);
  if (!fresh) return {};
  std::optional<std::int64_t> before;
  core::SemaphoreStep step;
  if (head.semaphore) {
    step = *head.semaphore;
    before = step.before;
  }
  const std::uint32_t next_before = head.next_activity - *fresh;
  const bool runs_on = head.status == core::JobStatus::running && head.closed_at == Instant() &&
                       head.remove_at == Instant() && !head.result && !head.reason;
  int changed = 0;
  if (runs_on && head.data) {
    changed = share_data_.run(bundle.entity, bundle.rev_before, bundle.id, head.completions_before, before, step.delta,
                              head.completions, head.next_activity, step.threshold, next_before, head.redrives,
                              head.code, *head.data);
    if (changed == Statement::failed) return failed(share_data_);
  } else if (runs_on) {
    changed =
        step_job_.run(bundle.entity, bundle.rev_before, bundle.id, head.completions_before, before, step.delta,
                      head.completions, head.next_activity, step.threshold, next_before, head.redrives, head.code);
    if (changed == Statement::failed) return failed(step_job_);
  }
  if (changed == 1) return Applied{SQLITE_OK, true, {}};
  {
    const Payload none;
    const Payload& result = head.result ? *head.result : none;
    const auto giver = giver_in(bundle, result, limits_);
    Rows rows =
        put_job_.query(bundle.entity, bundle.rev_before, bundle.id, head.completions_before, before, step.delta,
                       head.completions, head.next_activity, step.threshold, next_before, head.status, head.closed_at,
                       head.result.has_value(), giver ? none : result, head.reason, head.remove_at, head.redrives,
                       head.code, head.data.has_value(), head.data ? *head.data : none, giver);
    if (!rows.next()) return Applied{rows.failed() ? rows.rc() : SQLITE_OK, false, {}};
    hit = rows.number(0) != 0;
    rows.next();  // finish the statement: a run is one row
    if (rows.failed()) return failed(rows);
  }
  const bool leaves_some = core::is_closed(head.status) && before && step.before + step.delta != 0;
  if (leaves_some && forgive_rest_.run(bundle.entity) == Statement::failed) return failed(forgive_rest_);
  return Applied{SQLITE_OK, true, {}};
}

EntityRow JobWriter::read_row(RunId run) {
  Rows rows = read_guard_.query(run);
  if (!rows.next()) {
    EntityRow none;
    if (rows.failed()) none.failed = failed(rows);
    return none;
  }
  return {true, core::Rev(rows.word(0)), core::BundleId(rows.word(1)), 0};
}

// Which guard of the row did not hold, in the order of their meaning.
Applied JobWriter::contradiction(const core::Bundle& bundle, const core::JobHead& head) {
  Rows rows = read_guard_.query(bundle.entity);
  if (!rows.next()) return failed(rows);
  const std::int64_t semaphore = rows.number(2);
  const std::int64_t status = rows.number(4);
  if (status >= 1 && status <= 3 && status != static_cast<std::int64_t>(head.status))
    return contradicts(format("a {} job would become {}", core::name_of(static_cast<core::JobStatus>(status)),
                              core::name_of(head.status)));
  if (head.semaphore) {
    const core::SemaphoreStep& step = *head.semaphore;
    if (semaphore != step.before) return contradicts(format("semaphore is {}, expected {}", semaphore, step.before));
    const auto stored = ledger::Semaphore::decode(semaphore);
    if (!stored) return contradicts(stored.error().detail);
    const auto stepped = stored->step(step.delta, step.threshold);
    if (!stepped) return contradicts(stepped.error().detail);
    if (stepped->threshold_hit != step.hit) return contradicts(other_hit(step, stepped->threshold_hit));
  }
  if (rows.number(3) != head.completions_before)
    return contradicts("completion tasks ran without this bundle's knowledge");
  return contradicts(format("the next activity is {}; the bundle's new ones are out of turn", rows.number(5)));
}

}  // namespace pawl::store::sqlite
