#include "store/postgres/job_rows.h"

#include <algorithm>

#include "base/invariant.h"
#include "base/utf8.h"
#include "store/postgres/expected.h"
#include "store/snapshot.h"

namespace pawl::store::postgres {

namespace {

const Statement lock_jobs{
    "lock_jobs",
    "SELECT run, rev, bundle, status, semaphore, completions, next_activity, namespace, job_id, graph, parent_request"
    " FROM jobs WHERE run = ANY($1::bigint[]) ORDER BY run FOR NO KEY UPDATE"};
// A job that took its first step in the same transaction is written as the step left it.
const Statement new_jobs{
    "new_jobs",
    "INSERT INTO jobs (run, namespace, job_id, graph, version, fingerprint, created_at, semaphore, priority, keep, "
    "deadline, secret, parent_run, parent_activity, parent_request, parent_awaits, rev, bundle, completions,"
    " next_activity)"
    " SELECT run, namespace, job_id, graph, version, fingerprint, created_at, coalesce(semaphore, 1),"
    " coalesce(priority, 0), keep, coalesce(deadline, 0), secret, parent_run, parent_activity,"
    " parent_request, parent_awaits, coalesce(rev, 0), coalesce(bundle, 0), coalesce(completions, 0),"
    " coalesce(next_activity, 0) FROM (SELECT unnest($1::bigint[]) AS run,"
    " unnest($2::text[]) AS namespace, unnest($3::text[]) AS job_id, unnest($4::text[]) AS graph,"
    " unnest($5::bigint[]) AS version, unnest($6::bigint[]) AS fingerprint, unnest($7::bigint[]) AS created_at,"
    " unnest($8::bigint[]) AS priority, unnest($9::bigint[]) AS keep, unnest($10::bigint[]) AS deadline,"
    " unnest($11::bytea[]) AS secret, unnest($12::bigint[]) AS parent_run, unnest($13::bigint[]) AS parent_activity,"
    " unnest($14::bytea[]) AS parent_request, unnest($15::boolean[]) AS parent_awaits, unnest($16::bigint[]) AS rev,"
    " unnest($17::bigint[]) AS bundle, unnest($18::bigint[]) AS semaphore, unnest($19::bigint[]) AS completions,"
    " unnest($20::bigint[]) AS next_activity) AS u"};

static_assert(snapshot_weight == 100'000'000'000);
// setStatusAndCollateGuid, for one job or many. SQL decides `hit` from the stored row, whose semaphore must be the one
// that the step was made from. A closed job gets semaphore 0 whatever the step left. The ledger of the message that
// closed the job gets hit * weight. A hit that the bundle did not expect rolls all of it back.
const Statement step_jobs{
    "step_semaphore_and_snapshot_closing",
    "/* step_semaphore_and_snapshot */"
    " WITH stepped AS (UPDATE jobs j SET rev = j.rev + 1, bundle = u.bundle,"
    " semaphore = CASE WHEN u.status BETWEEN 1 AND 3 THEN 0 ELSE j.semaphore + coalesce(u.delta, 0) END,"
    " completions = coalesce(u.completions, 0), next_activity = u.next_activity, status = coalesce(u.status, 0),"
    " closed_at = coalesce(u.closed_at, 0), remove_at = coalesce(u.remove_at, 0), redrives = coalesce(u.redrives, 0),"
    " code = coalesce(u.code, 0), reason = coalesce(u.reason, j.reason),"
    " result = CASE WHEN u.has_result THEN u.result ELSE j.result END,"
    " data = CASE WHEN u.has_data THEN u.data ELSE j.data END"
    " FROM (SELECT unnest($1::bigint[]) AS run, unnest($2::bigint[]) AS rev, unnest($3::bigint[]) AS bundle,"
    " unnest($4::boolean[]) AS steps, unnest($5::bigint[]) AS before, unnest($6::bigint[]) AS delta,"
    " unnest($7::bigint[]) AS threshold, unnest($8::boolean[]) AS expected, unnest($9::bigint[]) AS completions,"
    " unnest($10::bigint[]) AS next_activity, unnest($11::bigint[]) AS status, unnest($12::bigint[]) AS closed_at,"
    " unnest($13::bigint[]) AS remove_at, unnest($14::bigint[]) AS redrives, unnest($15::bigint[]) AS code,"
    " unnest($16::text[]) AS reason, unnest($17::boolean[]) AS has_result, unnest($18::bytea[]) AS result,"
    " unnest($19::boolean[]) AS has_data, unnest($20::bytea[]) AS data, unnest($21::bigint[]) AS message_activity,"
    " unnest($22::bytea[]) AS message, unnest($23::bigint[]) AS ledger, unnest($24::bigint[]) AS status_before,"
    " unnest($25::bigint[]) AS completions_before, unnest($26::bigint[]) AS next_before) AS u"
    " WHERE j.run = ANY(ARRAY[u.run]) AND j.rev = u.rev AND j.status IS NOT DISTINCT FROM coalesce(u.status_before, 0)"
    " AND j.completions = coalesce(u.completions_before, 0) AND j.next_activity = u.next_before AND (NOT u.steps OR "
    "j.semaphore = "
    "u.before)"
    " RETURNING j.run, u.steps AND u.before + coalesce(u.delta, 0) = coalesce(u.threshold, 0) AS hit,"
    " coalesce(u.expected, false) AS expected, u.message_activity, u.message, u.ledger),"
    " concluding AS (UPDATE activities a SET closing_ledger = coalesce(t.ledger, 0) + CASE WHEN t.hit THEN "
    "100000000000 ELSE 0 END"
    " FROM stepped t WHERE t.message IS NOT NULL AND t.message_activity IS NOT NULL"
    " AND a.run = ANY(ARRAY[t.run]) AND a.seq = t.message_activity),"
    " others AS (UPDATE message_ledgers m SET ledger = coalesce(t.ledger, 0) + CASE WHEN t.hit THEN 100000000000 ELSE "
    "0 END"
    " FROM stepped t WHERE t.message IS NOT NULL AND t.message_activity IS NULL AND m.run = ANY(ARRAY[t.run]) AND "
    "m.guid = t.message)"
    " SELECT array_agg(run) FILTER (WHERE hit), " PAWL_EXPECT(
        "count(*) = $27::bigint AND bool_and(hit = expected)") " FROM stepped"};

// The same step where every job of the group runs before and after it, expects no hit and gets no result or data. Then
// nothing is closed and no ledger gets the digit: 10 arrays instead of 26, and one UPDATE instead of three. No index
// has `-j.status`, so that jobs are looked up by their key only.
const Statement step_running{
    "step_semaphore_and_snapshot",  // the name that most steps have
    "/* step_semaphore_and_snapshot */"
    " WITH stepped AS (UPDATE jobs j SET rev = j.rev + 1, bundle = u.bundle,"
    " semaphore = j.semaphore + coalesce(u.delta, 0), completions = coalesce(u.completions, 0),"
    " next_activity = u.next_activity, closed_at = 0, remove_at = 0, redrives = 0, code = 0"
    " FROM (SELECT unnest($1::bigint[]) AS run, unnest($2::bigint[]) AS rev, unnest($3::bigint[]) AS bundle,"
    " unnest($4::bigint[]) AS before, unnest($5::bigint[]) AS delta, unnest($6::bigint[]) AS threshold,"
    " unnest($7::bigint[]) AS completions, unnest($8::bigint[]) AS next_activity,"
    " unnest($9::bigint[]) AS completions_before, unnest($10::bigint[]) AS next_before) AS u"
    " WHERE j.run = ANY(ARRAY[u.run]) AND j.rev = u.rev AND -j.status = 0"
    " AND j.completions = coalesce(u.completions_before, 0) AND j.next_activity = u.next_before"
    " AND (u.before IS NULL OR j.semaphore = u.before)"
    " RETURNING u.before + coalesce(u.delta, 0) = coalesce(u.threshold, 0) AS hit)"
    " SELECT " PAWL_EXPECT("count(*) = $11::bigint AND count(*) FILTER (WHERE hit) = 0") " FROM stepped"};

// All rows of removed jobs, except their start keys.
#define PAWL_OF_REMOVED " WHERE run = ANY($1::bigint[])"
const Statement remove_rows[] = {
    {"remove_activities", "DELETE FROM activities" PAWL_OF_REMOVED},
    {"remove_ledgers", "DELETE FROM message_ledgers" PAWL_OF_REMOVED},
    {"remove_inbox", "DELETE FROM inbox" PAWL_OF_REMOVED},
    {"remove_timers", "DELETE FROM timers" PAWL_OF_REMOVED},
    {"remove_work", "DELETE FROM work" PAWL_OF_REMOVED},
    {"remove_labels", "DELETE FROM labels" PAWL_OF_REMOVED},
    {"remove_announcements", "DELETE FROM announcements" PAWL_OF_REMOVED},
    {"remove_cells", "DELETE FROM duplex_cells" PAWL_OF_REMOVED},
    {"remove_marks", "DELETE FROM duplex_marks" PAWL_OF_REMOVED},
    {"remove_addresses", "DELETE FROM duplex_addresses" PAWL_OF_REMOVED},
    {"remove_stream", "DELETE FROM duplex_stream" PAWL_OF_REMOVED},
    {"remove_duplex", "DELETE FROM duplex_jobs" PAWL_OF_REMOVED},
    {"remove_jobs", "DELETE FROM jobs" PAWL_OF_REMOVED},
};
#undef PAWL_OF_REMOVED

}  // namespace

std::string stored_text(std::string_view text) {
  std::string stored = valid_utf8(text);
  for (char& c : stored)
    if (c == '\0') c = ' ';
  return stored;
}

void JobRows::ask(Script& script) {
  at_.reset();
  if (!wanted_.empty()) at_ = script.add(lock_jobs, Params::of(std::vector(wanted_.begin(), wanted_.end())));
}

Status JobRows::take(Done& answers) {
  if (!at_) return {};
  Rows& rows = answers[*at_];
  while (rows.next()) {
    JobGuard& job = rows_[RunId(rows.word(0))];
    job.rev = core::Rev(rows.word(1));
    job.bundle = core::BundleId(rows.word(2));
    job.status = static_cast<core::JobStatus>(rows.number(3));
    job.semaphore = rows.number(4);
    job.completions = rows.small(5);
    job.next_activity = rows.small(6);
    job.name_space = Namespace(std::string(rows.text(7)));
    job.id = JobId(std::string(rows.text(8)));
    job.graph = GraphName(std::string(rows.text(9)));
    if (!rows.is_null(10)) job.parent_request = rows.guid(10);
  }
  return rows.malformed() ? Status{Error{ErrorCode::corrupt, "the row of a job is malformed"}} : Status{};
}

const JobGuard* JobRows::find(RunId run) const {
  const auto found = rows_.find(run);
  return found == rows_.end() ? nullptr : &found->second;
}

void JobRows::make(RunId run, const Submit& submit, const std::optional<core::ParentLink>& parent) {
  JobGuard& job = rows_[run];
  job.name_space = submit.name_space;
  job.id = submit.id;
  job.graph = submit.graph.name;
  if (parent) job.parent_request = parent->request;
  made_.emplace(run, Made{submit, parent});
}

void JobRows::assume(const core::Bundle& bundle, const core::JobHead& head) {
  JobGuard& job = rows_[bundle.entity];
  job.rev = bundle.rev_before;
  if (head.semaphore) job.semaphore = head.semaphore->before;
  job.completions = head.completions_before;
  job.next_activity = head.next_activity;
  for (const core::Write& write : bundle.writes)
    if (const auto* put = std::get_if<core::PutActivity>(&write);
        put != nullptr && !put->before && job.next_activity > 0)
      --job.next_activity;
}

void JobRows::step(const core::Bundle& bundle, const core::JobHead& head) {
  JobGuard& job = rows_.at(bundle.entity);
  const JobGuard before = job;
  job.rev = core::next(bundle.rev_before);
  job.bundle = bundle.id;
  job.status = head.status;
  if (head.semaphore) job.semaphore = head.semaphore->before + head.semaphore->delta;
  if (core::is_closed(head.status)) job.semaphore = 0;
  job.completions = head.completions;
  job.next_activity = head.next_activity;
  steps_.emplace(bundle.entity, Step{&bundle, &head, before, std::nullopt, std::nullopt, 0});
}

void JobRows::snapshot(RunId run, std::optional<core::ActivitySeq> activity, const core::Guid& guid,
                       std::int64_t ledger) {
  Step& step = steps_.at(run);
  step.activity = activity;
  step.guid = guid;
  step.ledger = ledger;
}

void JobRows::remove(RunId run) {
  rows_.erase(run);
  removed_.push_back(run);
}

void JobRows::write_new(Script& script) const {
  Batch made;
  for (const auto& [run, one] : made_) {
    const Submit& submit = one.submit;
    std::optional<RunId> parent;
    std::optional<core::ActivitySeq> activity;
    std::optional<core::Guid> request;
    std::optional<bool> awaits;
    if (one.parent) {
      parent = one.parent->run;
      activity = one.parent->activity;
      request = one.parent->request;
      awaits = one.parent->awaits;
    }
    std::optional<core::Rev> rev;
    std::optional<core::BundleId> bundle;
    std::optional<std::int64_t> semaphore;
    std::optional<std::uint32_t> completions, next_activity;
    if (is_made_as_stepped(run)) {
      const Step& step = steps_.at(run);
      rev = core::next(step.bundle->rev_before);
      bundle = step.bundle->id;
      if (step.head->semaphore) semaphore = step.head->semaphore->before + step.head->semaphore->delta;
      completions = unless_none(step.head->completions);
      next_activity = unless_none(step.head->next_activity);
    }
    made.row(run, submit.name_space, submit.id, submit.graph.name, submit.graph.version, submit.graph.fingerprint,
             submit.at, unless_none(submit.priority), submit.keep, unless_none(submit.deadline), submit.secret, parent,
             activity, request, awaits, rev, bundle, semaphore, completions, next_activity);
  }
  if (!made.empty()) script.add(new_jobs, Params::of_rows(made));
}

// Whether the job begins in this group, and its step expects exactly what a new job is. Otherwise the statement of all
// steps finds out that it does not.
bool JobRows::is_made_as_stepped(RunId run) const {
  const auto step = steps_.find(run);
  if (step == steps_.end() || !made_.contains(run) || !is_running_on(step->second)) return false;
  const JobGuard fresh;
  const JobGuard& before = step->second.before;
  const core::JobHead& head = *step->second.head;
  const auto& semaphore = head.semaphore;
  return step->second.bundle->rev_before == fresh.rev && before.completions == fresh.completions &&
         before.next_activity == fresh.next_activity &&
         (!semaphore ||
          (semaphore->before == fresh.semaphore && semaphore->before + semaphore->delta != semaphore->threshold));
}

bool JobRows::is_running_on(const Step& one) {
  const core::JobHead& head = *one.head;
  return one.before.status == core::JobStatus::running && head.status == core::JobStatus::running &&
         !(head.semaphore && head.semaphore->hit) && head.closed_at == Instant() && head.remove_at == Instant() &&
         head.redrives == 0 && head.code == 0 && !head.reason && !head.result && !head.data && !one.guid;
}

void JobRows::write_running_steps(Script& script, const std::vector<RunId>& runs) const {
  Batch steps;
  for (const RunId run : runs) {
    const Step& one = steps_.at(run);
    const core::JobHead& head = *one.head;
    const core::SemaphoreStep step = head.semaphore.value_or(core::SemaphoreStep{});
    std::optional<std::int64_t> before;
    if (head.semaphore) before = step.before;
    steps.row(run, one.bundle->rev_before, one.bundle->id, before, unless_none(step.delta), unless_none(step.threshold),
              unless_none(head.completions), head.next_activity, unless_none(one.before.completions),
              one.before.next_activity);
  }
  script.add(step_running, Params::of_rows(steps, steps.rows()));
}

void JobRows::write_steps(Script& script) const {
  std::vector<RunId> runs;  // in their order
  for (const auto& [run, one] : steps_)
    if (!is_made_as_stepped(run)) runs.push_back(run);
  if (runs.empty()) return;
  if (std::all_of(runs.begin(), runs.end(), [this](RunId run) { return is_running_on(steps_.at(run)); }))
    return write_running_steps(script, runs);
  Batch steps;
  const Payload none;
  for (const RunId run : runs) {
    const Step& one = steps_.at(run);
    const core::JobHead& head = *one.head;
    const core::SemaphoreStep step = head.semaphore.value_or(core::SemaphoreStep{});
    std::optional<std::string> reason;
    if (head.reason) reason = stored_text(*head.reason);
    steps.row(run, one.bundle->rev_before, one.bundle->id, head.semaphore.has_value(), step.before,
              unless_none(step.delta), unless_none(step.threshold), unless_none(step.hit),
              unless_none(head.completions), head.next_activity, unless_none(head.status), unless_none(head.closed_at),
              unless_none(head.remove_at), unless_none(head.redrives), unless_none(head.code), reason,
              unless_none(head.result.has_value()), head.result ? *head.result : none,
              unless_none(head.data.has_value()), head.data ? *head.data : none, one.activity, one.guid,
              unless_none(one.ledger), unless_none(one.before.status), unless_none(one.before.completions),
              one.before.next_activity);
  }
  script.add(step_jobs, Params::of_rows(steps, steps.rows()));
}

void JobRows::write_removed(Script& script) const {
  if (removed_.empty()) return;
  for (const Statement& statement : remove_rows) script.add(statement, Params::of(removed_));
}

}  // namespace pawl::store::postgres
