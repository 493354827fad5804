#include "store/sqlite/input_writer.h"

#include "store/sqlite/payload_giver.h"
#include "store/sqlite/prepared.h"
#include "store/sqlite/work_rows.h"

namespace pawl::store::sqlite {

namespace {

using Mark = ledger::ActivityLedger::Mark;

}  // namespace

Status InputWriter::prepare(Connection& connection) {
  return prepare_each(
      connection,
      {
          {&put_, "INSERT OR REPLACE INTO large_inputs (run, seq, body) VALUES (?1, ?2, ?3)"},
          {&drop_, "DELETE FROM large_inputs WHERE run = ?1 AND seq = ?2"},
          {&forget_, "UPDATE activities SET input_at = NULL WHERE run = ?1 AND seq = ?2"},
          {&sweep_, "DELETE FROM large_inputs WHERE run = ?1"},
          // The digit is the mark "work done".
          {&find_parent_,
           "SELECT seq FROM activities WHERE run = ?1"
           " AND seq = coalesce(?3, (SELECT a.parent FROM activities a WHERE a.run = ?1 AND a.seq = ?2))"
           " AND ledger / 10000000000 % 10 = 1 AND output = ?4"},
          {&find_changed_,
           "SELECT 1 FROM activities WHERE run = ?1 AND seq = ?2 AND output IS NOT NULL AND (?3 OR output IS NOT ?4)"},
          {&keep_inputs_,
           "UPDATE activities INDEXED BY activities_by_run SET input_at = NULL,"
           " input = (SELECT o.output FROM activities o WHERE o.run = ?1 AND o.seq = ?2)"
           " WHERE run = ?1 AND request IS NOT NULL AND input_at = ?2"},
          {&keep_result_,
           "UPDATE jobs SET result_at = NULL,"
           " result = (SELECT o.output FROM activities o WHERE o.run = ?1 AND o.seq = ?2)"
           " WHERE run = ?1 AND result_at = ?2"},
      });
}

InputWriter::Place InputWriter::put(const AtHand& at, const core::WorkItem& item,
                                    const std::optional<core::ActivitySeq>& parent) {
  static const Payload none;
  Place place{&none};
  if (const auto giver = giver_in(at.bundle, item.input, limits_)) {
    place.at = giver->raw();
    return place;
  }
  if (item.input.size() <= limits_.in_row) return {&item.input};
  {
    Rows rows = find_parent_.query(item.run, item.activity, parent, item.input);
    if (rows.next()) place.at = rows.number(0);
    if (rows.failed()) place.failed = failed(rows);
  }
  if (place.at || place.failed) return place;
  place.at = own_large_input;
  if (put_.run(item.run, item.activity, item.input) == Statement::failed) place.failed = failed(put_);
  return place;
}

Checked InputWriter::drop(RunId run, core::ActivitySeq activity) {
  const int dropped = drop_.run(run, activity);
  if (dropped == Statement::failed) return {false, failed(drop_)};
  if (dropped == 0) return {};
  if (forget_.run(run, activity) == Statement::failed) return {false, failed(forget_)};
  return {true};
}

Applied InputWriter::sweep(RunId run) {
  if (sweep_.run(run) == Statement::failed) return failed(sweep_);
  return {};
}

Applied InputWriter::keep(RunId run, const core::PutActivity& write) {
  if (!write.before || !write.before->has(Mark::work_done)) return {};
  const bool reopens = !write.after.ledger.has(Mark::work_done);
  {
    Rows rows = find_changed_.query(run, write.after.seq, reopens, write.after.output);
    const bool changed = rows.next();
    if (rows.failed()) return failed(rows);
    if (!changed) return {};
  }
  for (Statement* keep : {&keep_inputs_, &keep_result_})
    if (keep->run(run, write.after.seq) == Statement::failed) return failed(*keep);
  return {};
}

}  // namespace pawl::store::sqlite
