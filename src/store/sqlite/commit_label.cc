// What jobs are found by, what is measured of them and what they announce.
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

Applied Writer::apply_write(const core::Bundle& bundle, const core::PutLabel& write) {
  const core::Label& label = write.label;
  if (sql_.put_label.run(bundle.entity, label.name, label.value, label.key) == Statement::failed)
    return failed(sql_.put_label);
  return {};
}

Applied Writer::apply_write(const core::Bundle& bundle, const core::DropLabel& write) {
  const core::Label& label = write.label;
  if (sql_.drop_label.run(bundle.entity, label.name, label.value, label.key) == Statement::failed)
    return failed(sql_.drop_label);
  return {};
}

Applied Writer::apply_write(const core::Bundle& bundle, const core::AddMeasure& write) {
  const core::Measure& one = write.measure;
  if (sql_.add_measure.run(bundle.entity, one.key, one.slice, one.target, one.value.has_value(),
                           one.value.value_or(""), one.number) == Statement::failed)
    return failed(sql_.add_measure);
  return {};
}

Applied Writer::apply_write(const core::Bundle& bundle, const core::Announce& write) {
  if (sql_.announce.run(bundle.entity, write.topic, write.what, write.status, write.code, write.at, write.data) ==
      Statement::failed)
    return failed(sql_.announce);
  return {};
}

}  // namespace pawl::store::sqlite
