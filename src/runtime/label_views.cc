#include "runtime/label_views.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "store/lists.h"

namespace pawl::runtime {

namespace {

using Counted = std::vector<std::pair<double, std::uint64_t>>;

std::optional<double> number_in(const std::string& text) {
  double number = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || rest != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

// The median; for an even count the mean of the two in the middle. None: not all are numbers.
std::optional<double> median_of(const std::vector<std::pair<std::string, std::uint64_t>>& values) {
  Counted numbers;
  std::uint64_t count = 0;
  for (const auto& [text, times] : values) {
    const auto number = number_in(text);
    if (!number) return std::nullopt;
    numbers.emplace_back(*number, times);
    count += times;
  }
  if (count == 0) return std::nullopt;
  std::sort(numbers.begin(), numbers.end());
  const auto at = [&](std::uint64_t index) {
    for (const auto& [number, times] : numbers) {
      if (index < times) return number;
      index -= times;
    }
    return numbers.back().first;
  };
  return (at((count - 1) / 2) + at(count / 2)) / 2;
}

}  // namespace

Result<std::vector<MeasureView>> read_measures(store::Queries& store, const GraphName& graph,
                                               const MeasureFilter& filter) {
  store::MeasureQuery query{Namespace(filter.name_space),    graph, filter.key, filter.from, filter.to,
                            std::size_t{filter.rows_max} + 1};
  auto rows = store.read_measures(query);
  if (!rows) return rows.error();
  if (rows->size() > filter.rows_max)  // a sum over a part of them would be wrong
    return Error{ErrorCode::over_limit,
                 format("more than {} rows were measured; ask for one key, for a part of the time, or for more rows",
                        filter.rows_max)};
  std::vector<MeasureView> views;
  for (store::MeasureRow& row : *rows) {
    const bool same = !views.empty() && views.back().key == row.key && views.back().slice == row.slice &&
                      views.back().target == row.target;
    if (!same) {
      views.emplace_back();
      views.back().key = row.key;
      views.back().slice = row.slice;
      views.back().target = row.target;
    }
    MeasureView& view = views.back();
    if (row.value) {
      view.values.emplace_back(std::move(*row.value), row.count);
      continue;
    }
    view.count = row.count;
    if (row.target.empty()) continue;
    view.sum = row.sum;
    view.least = row.least;
    view.most = row.most;
  }
  for (MeasureView& view : views) {
    if (view.values.empty()) continue;
    std::uint64_t count = 0;
    for (const auto& [value, times] : view.values) count += times;
    view.count = std::max(view.count, count);
    view.median = median_of(view.values);
  }
  return views;
}

Result<std::vector<Announcement>> read_announcements(store::Queries& store, const AnnouncementFilter& filter) {
  store::AnnouncementQuery query;
  if (!filter.topic.empty()) query.topic = Topic(filter.topic);
  if (!filter.name_space.empty()) query.name_space = Namespace(filter.name_space);
  if (filter.run != RunId(0)) query.run = filter.run;
  auto list = store::AnnouncementList::begin(store, std::move(query), filter.after, filter.rows_max);
  if (!list) return list.error();
  std::vector<Announcement> made;
  while (made.size() < filter.rows_max) {
    auto row = list->next();
    if (!row) return row.error();
    if (!*row) break;
    core::Announce& said = (*row)->said;
    made.push_back({list->cursor().text(), said.topic.raw(), (*row)->name_space, (*row)->job, (*row)->run,
                    said.what == core::Announce::What::end, core::is_error(said.status), said.code, said.at,
                    std::move(said.data)});
  }
  return made;
}

}  // namespace pawl::runtime
