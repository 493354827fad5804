// Reads of duplex jobs.
#include <algorithm>
#include <map>

#include "base/format.h"
#include "store/redis/duplex.h"
#include "store/redis/records.h"

namespace pawl::store::redis {

namespace {

Error not_now(const Error& error) { return Error{ErrorCode::retry_later, error.detail}; }

struct CellAt {
  std::uint64_t number = 0;  // the order in which they were set
  DuplexCell cell;
};

Result<CellAt> read_cell(const Place& place, const Fields& fields) {
  const std::string field = "c:" + place_text(place);
  const auto value = fields.find(field);
  const auto is = fields.find(field + ":is");
  if (value == fields.end() || is == fields.end()) return malformed("a cell of a duplex job");
  CellAt at;
  at.cell.place = place;
  WordReader words(*is->second);
  at.number = words.number<std::uint64_t>();
  at.cell.opened_at = words.instant();
  const auto number = number_in<std::int64_t>(*value->second);
  if (words.malformed() || !number) return malformed("a cell of a duplex job");
  at.cell.value = *number;
  const std::string closer_field = "z:" + place_text(place);
  if (const auto closer = fields.find(closer_field); closer != fields.end()) {
    WordReader said(*closer->second);
    at.cell.closer = said.guid();
    const auto status = said.number<unsigned>();
    at.cell.code = said.number<std::int32_t>();
    at.cell.closed_at = said.instant();
    if (said.malformed() || status > static_cast<unsigned>(core::ActivityStatus::skipped))
      return malformed("a cell of a duplex job");
    at.cell.status = static_cast<core::ActivityStatus>(status);
    if (const auto output = fields.find(closer_field + ":out"); output != fields.end())
      at.cell.output = Payload(*output->second);
  }
  return at;
}

Result<std::vector<DuplexCell>> read_cells(const Fields& fields, const std::set<Place>* only) {
  std::map<std::uint64_t, DuplexCell> in_order;
  for (auto field = fields.lower_bound("c:"); field != fields.end() && field->first.starts_with("c:"); ++field) {
    if (field->first.ends_with(":is")) continue;
    const auto place = parse_place(std::string_view(field->first).substr(2));
    if (!place) return place.error();
    if (only != nullptr && !only->contains(*place)) continue;
    auto cell = read_cell(*place, fields);
    if (!cell) return cell.error();
    in_order.emplace(cell->number, std::move(cell->cell));
  }
  std::vector<DuplexCell> cells;
  for (auto& [number, cell] : in_order) cells.push_back(std::move(cell));
  return cells;
}

}  // namespace

// Two reads: a message that was acknowledged between them is done.
Result<std::vector<ClaimedMessage>> DuplexStore::messages_of(RunId run, const Reply& told_rows) {
  const core::LaneId lane = core::lane_of(run);
  std::map<std::uint64_t, Told> waiting;
  for (std::size_t i = 0; i + 1 < told_rows.list.size(); i += 2) {
    auto told = Told::parse(told_rows[i + 1].text);
    if (!told) return told.error();
    if (told->shelf != Told::Shelf::done) waiting.emplace(told->position, std::move(*told));
  }
  std::vector<ClaimedMessage> messages;
  if (waiting.empty()) return messages;
  Commands commands;
  for (const auto& [position, told] : waiting) {
    const std::string id = format("{}-0", position);
    commands.add({"XRANGE", of_stream(lane, "stream", told.topic), id, id});
  }
  const auto replies = servers_.ask(tag_of(lane), commands);
  if (!replies) return not_now(replies.error());
  std::size_t next = 0;
  for (const auto& [position, told] : waiting) {
    const Reply& entries = (*replies)[next++];
    if (entries.list.empty()) continue;
    auto message = read_stream_message(entries[0]);
    if (!message) return message.error();
    messages.push_back(claimed_message(std::move(*message), told));
  }
  return messages;
}

Result<std::optional<DuplexJob>> DuplexStore::read_parts(RunId run, bool under_way) {
  Commands commands;
  commands.add({"MULTI"});
  commands.add({"HGETALL", keys_.of_run(run, "run")});
  commands.add({"SMEMBERS", keys_.of_run(run, "open")});
  commands.add({"HGETALL", keys_.of_run(run, "told")});
  commands.add({"EXEC"});
  const auto replies = servers_.ask(tag_of(core::lane_of(run)), commands);
  if (!replies) return not_now(replies.error());
  const Reply& parts = replies->back();
  if (!parts.is_list()) return Error{ErrorCode::retry_later, parts.text};
  const Fields fields = fields_of(parts[0]);
  const auto found = fields.contains("duplex") ? LaneWatch::Found::something : LaneWatch::Found::nothing;
  if (const auto believed = committer_.watch().believe(core::lane_of(run), found); !believed) return believed.error();
  if (!fields.contains("duplex")) return std::optional<DuplexJob>();
  auto row = read_row(run, fields);
  if (!row) return row.error();
  DuplexJob job;
  job.job = std::move(*row);
  auto messages = messages_of(run, parts[2]);
  if (!messages) return messages.error();
  job.stream = std::move(*messages);
  const std::set<Place> places = places_of(job.stream);
  auto cells = read_cells(fields, under_way ? &places : nullptr);
  if (!cells) return cells.error();
  job.cells = std::move(*cells);
  if (under_way) {
    job.job.result = Payload();
    return std::optional<DuplexJob>(std::move(job));
  }
  for (const Reply& member : parts[1].list) {
    auto place = parse_place(member.text);
    if (!place) return place.error();
    job.open.push_back(std::move(*place));
  }
  std::sort(job.open.begin(), job.open.end());
  return std::optional<DuplexJob>(std::move(job));
}

Result<std::optional<DuplexJob>> DuplexStore::read(RunId run) { return read_parts(run, false); }
Result<std::optional<DuplexJob>> DuplexStore::read_under_way(RunId run) { return read_parts(run, true); }

Result<std::optional<DuplexView>> DuplexStore::view(RunId run, const Place& place) {
  static const std::vector<std::string> row_names = {"ns",       "id",     "graph",  "version",   "at",       "status",
                                                     "rev",      "bundle", "head",   "semaphore", "priority", "keep",
                                                     "deadline", "secret", "parent", "reason",    "data",     "duplex"};
  const std::string cell = "c:" + place_text(place);
  const std::string closer = "z:" + place_text(place);
  std::vector<std::string> names = row_names;
  names.insert(names.end(), {cell, cell + ":is", closer, closer + ":out"});
  std::vector<std::string> words = {"HMGET", keys_.of_run(run, "run")};
  words.insert(words.end(), names.begin(), names.end());
  Commands commands;
  commands.add(words);
  const auto replies = servers_.ask(tag_of(core::lane_of(run)), commands);
  if (!replies) return not_now(replies.error());
  Fields fields;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!replies->front()[i].is_nil()) fields.emplace(names[i], &replies->front()[i].text);
  const auto found = fields.contains("duplex") ? LaneWatch::Found::something : LaneWatch::Found::nothing;
  if (const auto believed = committer_.watch().believe(core::lane_of(run), found); !believed) return believed.error();
  if (!fields.contains("duplex")) return std::optional<DuplexView>();
  auto row = read_row(run, fields);
  if (!row) return row.error();
  DuplexView view{std::move(*row), std::nullopt};
  if (fields.contains(cell)) {
    auto at = read_cell(place, fields);
    if (!at) return at.error();
    view.cell = std::move(at->cell);
  }
  return std::optional<DuplexView>(std::move(view));
}

}  // namespace pawl::store::redis
