#include "store/postgres/label_rows.h"

#include <algorithm>

namespace pawl::store::postgres {

namespace {

const Statement drop_labels{
    "drop_labels",
    "DELETE FROM labels l USING unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS u(run, name, value, key)"
    " WHERE l.run = ANY(ARRAY[u.run]) AND l.name = u.name AND l.value = u.value AND l.key = u.key"};
const Statement put_labels{"put_labels",
                           "INSERT INTO labels (run, name, value, key, namespace, graph) SELECT * FROM "
                           "unnest($1::bigint[], $2::text[], $3::text[],"
                           " $4::text[], $5::text[], $6::text[]) ON CONFLICT DO NOTHING"};
const Statement add_measures{
    "add_measures",
    "INSERT INTO measures AS m (namespace, graph, key, slice, target, counted, value, lane, count, sum, least, most)"
    " SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::text[], "
    "$8::bigint[],"
    " $9::bigint[], $10::double precision[], $11::double precision[], $12::double precision[])"
    " ON CONFLICT (namespace, graph, key, slice, target, counted, value, lane) DO UPDATE SET count = m.count + "
    "excluded.count,"
    " sum = m.sum + excluded.sum, least = LEAST(m.least, excluded.least), most = GREATEST(m.most, excluded.most)"};
const Statement put_announcements{"put_announcements",
                                  "INSERT INTO announcements (id, run, topic, what, status, code, at, data) SELECT * "
                                  "FROM unnest($1::bigint[], $2::bigint[],"
                                  " $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bytea[])"};

}  // namespace

void LabelRows::put(RunId run, const JobGuard& job, const core::Label& label) {
  labels_[{run, label.name, label.value, label.key}] = Names{job.name_space, job.graph};
}

void LabelRows::drop(RunId run, const core::Label& label) {
  labels_[{run, label.name, label.value, label.key}] = std::nullopt;
}

void LabelRows::add(RunId run, const JobGuard& job, const core::Measure& one) {
  Sum& sum = sums_[{job.name_space, job.graph, one.key, one.slice, one.target, one.value, core::lane_of(run)}];
  sum.least = sum.count == 0 ? one.number : std::min(sum.least, one.number);
  sum.most = sum.count == 0 ? one.number : std::max(sum.most, one.number);
  sum.count += 1;
  sum.sum += one.number;
}

void LabelRows::announce(RunId run, std::uint64_t number, const core::Announce& said) {
  said_.push_back({run, number, &said});
}

void LabelRows::write(Script& script) const {
  Batch dropped;
  Batch put;
  for (const auto& [key, names] : labels_) {
    const auto& [run, name, value, label_key] = key;
    if (names)
      put.row(run, name, value, label_key, names->name_space, names->graph);
    else
      dropped.row(run, name, value, label_key);
  }
  if (!dropped.empty()) script.add(drop_labels, Params::of_rows(dropped));
  if (!put.empty()) script.add(put_labels, Params::of_rows(put));
  Batch sums;
  for (const auto& [slot, sum] : sums_) {
    const auto& [name_space, graph, key, slice, target, value, lane] = slot;
    sums.row(name_space, graph, key, slice, target, value.has_value(), value.value_or(""), lane, sum.count, sum.sum,
             sum.least, sum.most);
  }
  if (!sums.empty()) script.add(add_measures, Params::of_rows(sums));
  Batch said;
  for (const Said& one : said_)
    said.row(core::make_run(core::lane_of(one.run), one.number), one.run, one.said->topic, one.said->what,
             one.said->status, one.said->code, one.said->at, one.said->data);
  if (!said.empty()) script.add(put_announcements, Params::of_rows(said));
}

}  // namespace pawl::store::postgres
