// Lists for people: jobs, measures, announcements, apps.
#include <algorithm>
#include <array>
#include <set>

#include "store/redis/limits.h"
#include "store/redis/reader.h"

namespace pawl::store::redis {

namespace {

constexpr int statuses = static_cast<int>(core::JobStatus::paused) + 1;

// The range of runs of a query, within one lane.
struct RunRange {
  RunId least, most;  // both included
  bool is_empty() const { return least > most; }
};
RunRange range_of(core::LaneId lane, const ListQuery& query) {
  const RunId first = core::make_run(lane, 1);
  const RunId last(core::make_run(core::LaneId(lane.raw() + 1), 0).raw() - 1);
  if (query.direction == Direction::up) return {std::max(first, RunId(query.after.raw() + 1)), last};
  if (query.after == RunId(0)) return {RunId(1), RunId(0)};
  return {first, std::min(last, RunId(query.after.raw() - 1))};
}

// A page of members "<prefix><run><suffix>".
std::vector<std::string> range_command(const std::string& key, const std::string& prefix, const RunRange& range,
                                       Direction direction, std::size_t rows_max) {
  const std::string from = "[" + prefix + wide(range.least.raw());
  const std::string to = "(" + prefix + wide(range.most.raw() + 1);
  const std::string count = format("{}", rows_max);
  if (direction == Direction::up) return {"ZRANGE", key, from, to, "BYLEX", "LIMIT", "0", count};
  return {"ZRANGE", key, to, from, "BYLEX", "REV", "LIMIT", "0", count};
}

bool matches(const core::JobRow& row, const ListQuery& query) {
  if (query.name_space && *query.name_space != row.name_space) return false;
  if (query.status && *query.status != row.status) return false;
  if (query.graph && *query.graph != row.graph.name) return false;
  return !query.label || !query.label->open_only || !core::is_closed(row.status);
}

void go_on_behind(RunRange& range, RunId run, Direction direction) {
  if (direction == Direction::up)
    range.least = RunId(run.raw() + 1);
  else
    range.most = RunId(run.raw() - 1);
}

}  // namespace

Result<std::vector<core::JobRow>> Reader::list_jobs(const ListQuery& query) {
  if (query.label && !query.name_space) return Error{ErrorCode::invalid, "a search by label needs a namespace"};
  if (query.graph && !query.label && !query.status)
    return Error{ErrorCode::invalid, "a search by graph needs a status"};
  const auto known = committer_.lanes();
  if (!known) return Error{ErrorCode::retry_later, known.error().detail};
  std::vector<core::LaneId> lanes;
  for (std::uint32_t lane = 1; lane <= *known; ++lane)
    if (query.lane == core::LaneId(0) || query.lane == core::LaneId(lane)) lanes.emplace_back(lane);
  if (query.direction == Direction::down) std::reverse(lanes.begin(), lanes.end());
  std::vector<core::JobRow> rows;
  for (const core::LaneId lane : lanes) {
    if (rows.size() >= query.rows_max) break;
    ListQuery rest = query;
    rest.rows_max = query.rows_max - rows.size();
    auto found = query.label ? list_labelled(lane, rest) : list_lane(lane, rest);
    if (!found) return found.error();
    if (!query.names_only)
      if (const auto read = read_payloads(lane, *found); !read) return read.error();
    std::move(found->begin(), found->end(), std::back_inserter(rows));
  }
  if (rows.empty())
    if (const auto believed = committer_.watch().believe_that_nothing_is_there(); !believed) return believed.error();
  return rows;
}

// `jobs` is sorted by status and run: the first runs of each status are read and merged.
Result<std::vector<core::JobRow>> Reader::list_lane(core::LaneId lane, const ListQuery& query) {
  std::vector<core::JobRow> rows;
  RunRange range = range_of(lane, query);
  while (rows.size() < query.rows_max && !range.is_empty()) {
    const std::size_t page = query.name_space || query.graph ? std::max(limits::page_rows, query.rows_max - rows.size())
                                                             : query.rows_max - rows.size();
    Commands commands;
    for (int status = 0; status < statuses; ++status) {
      if (query.status && static_cast<int>(*query.status) != status) continue;
      commands.add(range_command(keys_.of_lane(lane, "jobs"), format("{}", status), range, query.direction, page));
    }
    const auto replies = ask(lane, commands);
    if (!replies) return replies.error();
    std::set<RunId> found;
    for (const Reply& reply : *replies)
      for (const Reply& member : reply.list)
        found.emplace(number_in<std::uint64_t>(std::string_view(member.text).substr(1)).value_or(0));
    std::vector<RunId> runs(found.begin(), found.end());
    if (query.direction == Direction::down) std::reverse(runs.begin(), runs.end());
    if (runs.size() > page) runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(page), runs.end());
    auto read = read_rows(lane, runs);
    if (!read) return read.error();
    for (std::optional<core::JobRow>& row : *read)
      if (row && rows.size() < query.rows_max && matches(*row, query)) rows.push_back(std::move(*row));
    if (runs.size() < page) break;
    go_on_behind(range, runs.back(), query.direction);
  }
  return rows;
}

Result<std::vector<core::JobRow>> Reader::list_labelled(core::LaneId lane, const ListQuery& query) {
  const ListQuery::Labelled& label = *query.label;
  const std::string what =
      joined(query.name_space->raw()) + joined(label.graph.raw()) + joined(label.name) + joined(label.value);
  const std::string prefix = label.key ? "k" + what + joined(*label.key) : "v" + what;
  std::vector<core::JobRow> rows;
  RunRange range = range_of(lane, query);
  while (rows.size() < query.rows_max && !range.is_empty()) {
    Commands commands;
    commands.add(range_command(keys_.of_lane(lane, "labels"), prefix, range, query.direction, limits::page_rows));
    const auto replies = ask(lane, commands);
    if (!replies) return replies.error();
    std::vector<RunId> runs;
    for (const Reply& member : replies->front().list)
      runs.emplace_back(
          number_in<std::uint64_t>(std::string_view(member.text).substr(prefix.size(), run_digits)).value_or(0));
    // One run may be there with several keys: a page ends after the last key of a run, unless it is the last page.
    const bool is_last = runs.size() < limits::page_rows;
    if (!is_last && runs.front() != runs.back()) std::erase(runs, RunId(runs.back()));
    auto read = read_rows(lane, runs);
    if (!read) return read.error();
    for (std::optional<core::JobRow>& row : *read)
      if (row && rows.size() < query.rows_max && matches(*row, query)) rows.push_back(std::move(*row));
    if (is_last) break;
    go_on_behind(range, runs.back(), query.direction);
  }
  return rows;
}

// --- measures: each lane has a separate row, and these are added up

Result<std::vector<MeasureRow>> Reader::read_measures(const MeasureQuery& query) {
  const auto replies = ask_all_lanes([&](core::LaneId lane, Commands& commands) {
    commands.add({"HGETALL", keys_.of_lane(lane, "measures")});
  });
  if (!replies) return replies.error();
  using Slot = std::tuple<std::string, std::string, std::string, std::optional<std::string>>;
  std::map<Slot, MeasureRow> sums;
  for (const Reply& reply : *replies) {
    for (std::size_t i = 0; i + 1 < reply.list.size(); i += 2) {
      const auto parts = parts_of(reply[i].text);
      if (!parts || parts->size() != 6) return malformed("a measure");
      const auto& [space, graph, key, slice, target, value] =
          std::tie((*parts)[0], (*parts)[1], (*parts)[2], (*parts)[3], (*parts)[4], (*parts)[5]);
      if (space != query.name_space.raw() || graph != query.graph.raw()) continue;
      if ((query.key && *query.key != key) || slice < query.from || (!query.to.empty() && slice > query.to)) continue;
      WordReader reader(reply[i + 1].text);
      MeasureRow row{key, slice, target, std::nullopt, reader.number<std::uint64_t>(), 0, 0, 0};
      row.sum = reader.number<double>();
      row.least = reader.number<double>();
      row.most = reader.number<double>();
      if (!value.empty()) row.value = value.substr(1);
      if (reader.malformed()) return malformed("a measure");
      const auto [found, is_new] = sums.try_emplace(Slot(key, slice, target, row.value), row);
      if (is_new) continue;
      MeasureRow& sum = found->second;
      sum.count += row.count;
      sum.sum += row.sum;
      sum.least = std::min(sum.least, row.least);
      sum.most = std::max(sum.most, row.most);
    }
  }
  std::vector<MeasureRow> rows;
  for (auto& [slot, row] : sums)
    if (rows.size() < query.rows_max) rows.push_back(std::move(row));
  return rows;
}

// --- announcements: the stream's ids are the lane's numbers

namespace {

Result<AnnouncementRow> read_announcement(const Reply& entry) {
  const std::string_view id = entry[0].text;
  const Fields fields = fields_of(entry[1]);
  for (const std::string_view name : {"run", "ns", "id", "topic", "what", "status", "code", "when", "data"})
    if (!fields.contains(name)) return malformed(format("announcement {}", id));
  const auto text = [&](std::string_view name) { return *fields.find(name)->second; };
  const auto seq = number_in<std::uint64_t>(id.substr(0, id.find('-')));
  const auto run = number_in<std::uint64_t>(text("run"));
  const auto status = number_in<unsigned>(text("status"));
  const auto code = number_in<std::int32_t>(text("code"));
  const auto when = number_in<std::int64_t>(text("when"));
  if (!seq || !run || !status || *status > static_cast<unsigned>(core::ReplyStatus::fatal) || !code || !when)
    return malformed(format("announcement {}", id));
  AnnouncementRow row;
  row.seq = *seq;
  row.name_space = Namespace(text("ns"));
  row.job = JobId(text("id"));
  row.run = RunId(*run);
  row.said.topic = Topic(text("topic"));
  row.said.what = text("what") == "end" ? core::Announce::What::end : core::Announce::What::progress;
  row.said.status = static_cast<core::ReplyStatus>(*status);
  row.said.code = *code;
  row.said.at = Instant::from_micros(*when);
  row.said.data = Payload(text("data"));
  return row;
}

}  // namespace

Result<std::vector<AnnouncementRow>> Reader::read_announcements(const AnnouncementQuery& query) {
  std::vector<AnnouncementRow> rows;
  std::uint64_t after = query.after;
  const bool filters = query.name_space || query.topic || query.run;
  while (rows.size() < query.rows_max) {
    const std::size_t page = filters ? limits::page_rows : query.rows_max - rows.size();
    const auto reply = ask_one(query.lane, {"XRANGE", keys_.of_lane(query.lane, "announcements"),
                                            format("({}-0", after), "+", "COUNT", format("{}", page)});
    if (!reply) return reply.error();
    for (const Reply& entry : reply->list) {
      auto row = read_announcement(entry);
      if (!row) return row.error();
      after = row->seq;
      const bool wanted = (!query.name_space || *query.name_space == row->name_space) &&
                          (!query.topic || *query.topic == row->said.topic) && (!query.run || *query.run == row->run);
      if (wanted && rows.size() < query.rows_max) rows.push_back(std::move(*row));
    }
    if (reply->list.size() < page) break;
  }
  return rows;
}

// --- apps

Result<std::optional<std::string>> Reader::read_app(const Namespace& name_space, const std::string& app,
                                                    const std::string& version) {
  auto reply = ask_catalogue({"HGET", keys_.apps(name_space), "b:" + name_of_version(app, version)});
  if (!reply) return reply.error();
  if (reply->is_nil()) return std::optional<std::string>();
  return std::optional<std::string>(std::move(reply->text));
}

Result<std::vector<AppInfo>> Reader::list_apps(const Namespace& name_space) {
  const std::string key = keys_.apps(name_space);
  const auto names = ask_catalogue({"HKEYS", key});
  if (!names) return names.error();
  std::vector<std::string> words = {"HMGET", key};
  for (const Reply& name : names->list)
    if (!name.text.starts_with("b:")) words.push_back(name.text);  // bodies may be large
  if (words.size() == 2) return std::vector<AppInfo>();
  Commands commands;
  commands.add(words);
  const auto replies = servers_.ask(catalogue_tag, commands);
  if (!replies) return Error{ErrorCode::retry_later, replies.error().detail};
  std::map<std::string, std::string> active;
  std::map<std::pair<std::string, std::string>, Instant> deployed;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string& value = replies->front()[i - 2].text;
    if (words[i].starts_with("a:")) {
      active[words[i].substr(2)] = value;
      continue;
    }
    const auto parts = parts_of(std::string_view(words[i]).substr(2));
    const auto at = number_in<std::int64_t>(value);
    if (!parts || parts->size() != 2 || !at) return malformed("an app");
    deployed[{(*parts)[0], (*parts)[1]}] = Instant::from_micros(*at);
  }
  std::vector<AppInfo> apps;
  for (const auto& [name, at] : deployed) {
    const auto version = active.find(name.first);
    apps.push_back({name.first, name.second, version != active.end() && version->second == name.second, at});
  }
  return apps;
}

}  // namespace pawl::store::redis
