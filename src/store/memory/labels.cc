// Labels, measures and announcements.
#include <algorithm>

#include "store/memory/store.h"

namespace pawl::store::memory {

namespace {

LabelTables::Place place_of(const core::JobRow& job, const core::Label& label) {
  return {job.name_space, job.graph.name, label.name, label.value, label.key, job.run};
}

}  // namespace

std::vector<std::pair<LabelTables::Slot, MeasureRow>> LabelTables::added_up() const {
  std::vector<std::pair<Slot, MeasureRow>> rows;
  for (const auto& [at, sum] : measures) {
    Slot slot = at;
    slot.lane = core::LaneId(0);
    if (rows.empty() || rows.back().first != slot) {
      rows.emplace_back(slot,
                        MeasureRow{at.key, at.slice, at.target, at.value, sum.count, sum.sum, sum.least, sum.most});
      continue;
    }
    MeasureRow& row = rows.back().second;
    row.count += sum.count;
    row.sum += sum.sum;
    row.least = std::min(row.least, sum.least);
    row.most = std::max(row.most, sum.most);
  }
  return rows;
}

void Store::put_label(Job& job, const core::Label& label) {
  job.labels.insert(label);
  labels_.places.insert(place_of(job.state.job, label));
}

void Store::drop_label(Job& job, const core::Label& label) {
  job.labels.erase(label);
  labels_.places.erase(place_of(job.state.job, label));
}

void Store::add_measure(const core::JobRow& row, const core::Measure& one) {
  LabelTables::Sum& sum = labels_.measures[{row.name_space, row.graph.name, one.key, one.slice, one.target, one.value,
                                            core::lane_of(row.run)}];
  sum.least = sum.count == 0 ? one.number : std::min(sum.least, one.number);
  sum.most = sum.count == 0 ? one.number : std::max(sum.most, one.number);
  sum.count += 1;
  sum.sum += one.number;
}

void Store::announce(const core::JobRow& row, const core::Announce& said) {
  const core::LaneId lane = core::lane_of(row.run);
  const std::uint64_t seq = find_lane(lane)->next_announcement++;
  labels_.announcements.emplace(std::pair(lane, seq), AnnouncementRow{seq, row.name_space, row.id, row.run, said});
}

void Store::drop_labels(const Job& job) {
  for (const core::Label& label : job.labels) labels_.places.erase(place_of(job.state.job, label));
  std::erase_if(labels_.announcements, [&](const auto& one) { return one.second.run == job.state.job.run; });
}

Result<std::vector<MeasureRow>> Store::read_measures(const MeasureQuery& query) {
  const std::lock_guard lock(mutex_);
  std::vector<MeasureRow> rows;
  for (const auto& [slot, row] : labels_.added_up()) {
    if (rows.size() == query.rows_max) break;
    if (slot.name_space != query.name_space || slot.graph != query.graph) continue;
    if (query.key && *query.key != slot.key) continue;
    if (slot.slice < query.from || (!query.to.empty() && slot.slice > query.to)) continue;
    rows.push_back(row);
  }
  return rows;
}

Result<std::vector<AnnouncementRow>> Store::read_announcements(const AnnouncementQuery& query) {
  const std::lock_guard lock(mutex_);
  std::vector<AnnouncementRow> rows;
  for (auto one = labels_.announcements.upper_bound({query.lane, query.after}); one != labels_.announcements.end();
       ++one) {
    if (rows.size() == query.rows_max || one->first.first != query.lane) break;
    const AnnouncementRow& row = one->second;
    if (query.name_space && *query.name_space != row.name_space) continue;
    if (query.topic && *query.topic != row.said.topic) continue;
    if (query.run && *query.run != row.run) continue;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace pawl::store::memory
