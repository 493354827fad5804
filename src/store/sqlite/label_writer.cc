#include "store/sqlite/label_writer.h"

#include "store/sqlite/prepared.h"

namespace pawl::store::sqlite {

Status LabelWriter::prepare(Connection& connection) {
  return prepare_each(
      connection,
      {
          {&put_label_,
           "INSERT INTO labels (namespace, graph, name, value, key, run)"
           " SELECT namespace, graph, ?2, ?3, ?4, run FROM jobs WHERE run = ?1 ON CONFLICT DO NOTHING"},
          {&drop_label_,
           "DELETE FROM labels WHERE (namespace, graph) = (SELECT namespace, graph FROM jobs WHERE run = ?1)"
           " AND name = ?2 AND value = ?3 AND key = ?4 AND run = ?1"},
          {&add_measure_,
           "INSERT INTO measures (namespace, graph, key, slice, target, counted, value, count, sum, least, most)"
           " SELECT namespace, graph, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?7, ?7 FROM jobs WHERE run = ?1"
           " ON CONFLICT DO UPDATE SET count = count + 1, sum = sum + excluded.sum,"
           " least = min(least, excluded.least), most = max(most, excluded.most)"},
          {&announce_,
           "INSERT INTO announcements (id, run, topic, what, status, code, at, data)"
           " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"},
      });
}

Applied LabelWriter::apply(RunId run, const core::PutLabel& write) {
  const core::Label& label = write.label;
  if (put_label_.run(run, label.name, label.value, label.key) == Statement::failed) return failed(put_label_);
  return {};
}

Applied LabelWriter::apply(RunId run, const core::DropLabel& write) {
  const core::Label& label = write.label;
  if (drop_label_.run(run, label.name, label.value, label.key) == Statement::failed) return failed(drop_label_);
  return {};
}

Applied LabelWriter::apply(RunId run, const core::AddMeasure& write) {
  const core::Measure& one = write.measure;
  if (add_measure_.run(run, one.key, one.slice, one.target, one.value.has_value(), one.value.value_or(""),
                       one.number) == Statement::failed)
    return failed(add_measure_);
  return {};
}

Applied LabelWriter::apply(RunId run, const core::Announce& write) {
  const core::LaneId lane = core::lane_of(run);
  const RunId id = core::make_run(lane, lanes_.next_announcement(lane));  // numbered like runs
  if (announce_.run(id, run, write.topic, write.what, write.status, write.code, write.at, write.data) ==
      Statement::failed)
    return failed(announce_);
  return {};
}

}  // namespace pawl::store::sqlite
