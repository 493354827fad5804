// Pages of a lane: waiting runs, work, what is due, what is to be sent.
#include <algorithm>

#include "base/limits.h"
#include "core/codec.h"
#include "store/redis/reader.h"

namespace pawl::store::redis {

namespace {

RunId run_in(std::string_view digits) { return RunId(number_in<std::uint64_t>(digits).value_or(0)); }

constexpr std::size_t page_bytes = pawl::limits::read_answers_bytes;
bool is_behind(const WorkCursor& after, RunId run, core::ActivitySeq activity) {
  return run != after.run || activity > after.activity;
}
constexpr std::size_t hands_at_once = 64;  // jobs whose items are in hand; then their bytes are counted

// "<run><kind><guid><activity>", as scripts/due.lua makes it; a message has no activity.
constexpr std::size_t message_due_digits = run_digits + 1 + guid_digits;
Result<Due> read_due_row(std::string_view member, std::string_view at) {
  if (member.size() != message_due_digits && member.size() != message_due_digits + activity_digits)
    return malformed("what is due");
  Due due;
  due.run = run_in(member.substr(0, run_digits));
  const auto kind = number_in<unsigned>(member.substr(run_digits, 1));
  const auto guid = core::Guid::parse(member.substr(run_digits + 1, guid_digits));
  const bool is_message = member.size() == message_due_digits;
  const auto activity = is_message ? std::optional(0u) : number_in<std::uint32_t>(member.substr(message_due_digits));
  const auto micros = number_in<double>(at);
  if (!kind || *kind > static_cast<unsigned>(Due::Kind::key) || !guid || !activity || !micros)
    return malformed("what is due");
  due.kind = static_cast<Due::Kind>(*kind);
  due.guid = *guid;
  due.activity = core::ActivitySeq(*activity);
  due.at = Instant::from_micros(static_cast<std::int64_t>(*micros));
  return due;
}
std::string member_of(const Due& due) {
  const std::string member = wide(due.run.raw()) + format("{}", static_cast<int>(due.kind)) + due.guid.text();
  return due.kind == Due::Kind::message ? member : member + wide_activity(due.activity.raw());
}

}  // namespace

Result<std::vector<Waiting>> Reader::read_waiting(core::LaneId lane, RunId after, std::size_t rows_max) {
  const RunId from = std::max(after, core::make_run(lane, 0));
  const auto reply = ask_one(lane, {"ZRANGE", keys_.of_lane(lane, "waiting"), "(" + wide(from.raw()) + ";", "+",
                                    "BYLEX", "LIMIT", "0", format("{}", rows_max)});
  if (!reply) return reply.error();
  std::vector<Waiting> rows;
  for (const Reply& member : reply->list) {
    const std::string_view text = member.text;
    rows.push_back(
        {run_in(text.substr(0, run_digits)), text.ends_with(":job") ? EntityKind::job : EntityKind::mailbox});
  }
  return rows;
}

// A place of a job whose owner has its only item in hand, and what its hash says of it. Nil: the item left the hash
// since the place was read.
Result<Reader::Replies> Reader::read_hands(core::LaneId lane, std::span<const Reply> rows) {
  Commands commands;
  for (const Reply& row : rows) {
    const std::string& place = row.is_list() ? row[0].text : row.text;
    if (is_in_hand(place))
      commands.add({"HMGET", keys_.of_run(run_in(std::string_view(place).substr(0, run_digits)), "run"), hand_field,
                    hand_input_field});
  }
  if (commands.count() == 0) return Replies();
  return ask(lane, commands);
}

namespace {
void report(std::vector<Damaged>& damaged, RunId run, const Error& error) {
  if (damaged.size() < pawl::limits::damaged_per_page_max) damaged.push_back({run, error.detail});
}
}  // namespace

// The items of a job that has changed since its place was read, in order. One that cannot be read is reported: the rest
// of the lane does not wait for it.
Result<std::vector<core::WorkItem>> Reader::read_work_of(RunId run, std::vector<Damaged>& damaged) {
  const auto job = read_job(run);
  std::vector<core::WorkItem> items;
  if (!job && job.error().code != ErrorCode::corrupt) return job.error();
  if (!job)
    report(damaged, run, job.error());
  else if (*job)
    for (const auto& [activity, item] : (*job)->state.work()) items.push_back(item);
  std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.activity < b.activity; });
  return items;
}

// The place of an item in hand has no activity, so it comes before the cursor in its own job: such a job is asked for
// by name, once.
Result<Page<core::WorkItem>> Reader::read_work(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  std::string from = after.run == RunId(0) ? "-" : "(" + place_of(after.run, after.activity);
  std::string own = after.run == RunId(0) ? std::string() : hand_place(after.run);
  Page<core::WorkItem> page;
  while (page.empty() && page.damaged.empty()) {
    const auto reply = run_script(lane, items_script(), {keys_.of_lane(lane, "items"), keys_.of_lane(lane, "places")},
                                  {from, "+", format("{}", rows_max), format("{}", page_bytes), own});
    if (!reply) return reply.error();
    if (reply->list.empty()) break;
    std::size_t bytes = 0;
    const std::span<const Reply> all(reply->list);
    for (std::size_t first = 0; first < all.size() && bytes < page_bytes; first += hands_at_once) {
      const auto rows = all.subspan(first, std::min(hands_at_once, all.size() - first));
      const auto hands = read_hands(lane, rows);
      if (!hands) return hands.error();
      if (rows.back()[0].text != own) from = "(" + rows.back()[0].text;
      own.clear();
      std::size_t next_hand = 0;
      for (const Reply& row : rows) {
        const RunId run = run_in(std::string_view(row[0].text).substr(0, run_digits));
        const Reply* hand = is_in_hand(row[0].text) ? &(*hands)[next_hand++] : nullptr;
        if (hand != nullptr && (*hand)[0].is_nil()) {
          auto items = read_work_of(run, page.damaged);
          if (!items) return items.error();
          for (core::WorkItem& one : *items)
            if (is_behind(after, one.run, one.activity)) page.push_back(std::move(one));
          continue;
        }
        auto item = hand == nullptr ? read_item(row) : read_item_in_hand(run, (*hand)[0].text, (*hand)[1].text);
        if (hand != nullptr) bytes += (*hand)[0].text.size() + (*hand)[1].text.size();
        if (item && !is_behind(after, item->run, item->activity)) continue;
        if (item)
          page.push_back(std::move(*item));
        else
          report(page.damaged, run, item.error());
      }
    }
  }
  return page;
}

Result<Page<WorkPlace>> Reader::read_work_places(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  std::string from = after.run == RunId(0) ? "-" : "(" + place_of(after.run, after.activity);
  std::string own = after.run == RunId(0) ? std::string() : hand_place(after.run);
  Page<WorkPlace> page;
  while (page.empty() && page.damaged.empty()) {
    Commands commands;
    const std::string key = keys_.of_lane(lane, "places");
    commands.add({"ZSCORE", key, own});
    commands.add({"ZRANGE", key, from, "+", "BYLEX", "LIMIT", "0", format("{}", rows_max)});
    const auto found = ask(lane, commands);
    if (!found) return found.error();
    std::vector<std::string> places;
    if (!own.empty() && !found->front().is_nil()) places.push_back(own);
    for (const Reply& place : found->back().list)
      if (places.size() < rows_max) places.push_back(place.text);
    if (places.empty()) break;
    if (places.back() != own) from = "(" + places.back();
    own.clear();
    commands.clear();
    for (const std::string& place : places) {
      const RunId run = run_in(std::string_view(place).substr(0, run_digits));
      if (is_in_hand(place))
        commands.add({"HMGET", keys_.of_run(run, "run"), hand_field});
      else
        commands.add({"HMGET", keys_.of_lane(lane, "items"), place});
    }
    const auto rows = ask(lane, commands);
    if (!rows) return rows.error();
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::string& place = places[i];
      const RunId run = run_in(std::string_view(place).substr(0, run_digits));
      const Reply& row = (*rows)[i][0];
      if (row.is_nil()) {  // it was removed meanwhile; one in hand may have moved
        if (!is_in_hand(place)) continue;
        const auto items = read_work_of(run, page.damaged);
        if (!items) return items.error();
        for (const core::WorkItem& item : *items)
          if (is_behind(after, item.run, item.activity)) page.push_back({item.run, item.activity, item.topic});
        continue;
      }
      const auto item =
          is_in_hand(place) ? read_item_in_hand(run, row.text, {}) : read_item(place, row.text, {}, {});
      if (item && !is_behind(after, item->run, item->activity)) continue;
      if (item)
        page.push_back({item->run, item->activity, item->topic});
      else
        report(page.damaged, run, item.error());
    }
  }
  return page;
}

Result<Page<Due>> Reader::read_due(core::LaneId lane, const std::optional<Due>& after, std::size_t rows_max) {
  const auto reply = run_script(
      lane, due_script(), {keys_.of_lane(lane, "due")},
      {after ? format("{}", after->at.micros()) : "", after ? member_of(*after) : "", format("{}", rows_max)});
  if (!reply) return reply.error();
  Page<Due> page;
  for (std::size_t i = 0; i + 1 < reply->list.size(); i += 2) {
    auto due = read_due_row((*reply)[i].text, (*reply)[i + 1].text);
    if (due)
      page.push_back(std::move(*due));
    else
      page.damaged.push_back({RunId(0), due.error().detail});
  }
  return page;
}

Result<Page<OutboxRow>> Reader::read_outbox(core::LaneId lane, std::size_t rows_max) {
  Page<OutboxRow> page;
  const auto targets = ask_one(lane, {"HKEYS", keys_.of_lane(lane, "sent")});
  if (!targets) return targets.error();
  std::vector<core::LaneId> lanes;
  for (const Reply& target : targets->list)
    if (const auto number = number_in<std::uint32_t>(target.text)) lanes.emplace_back(*number);
  std::sort(lanes.begin(), lanes.end());
  if (lanes.empty() || rows_max == 0) return page;
  Commands commands;
  const std::string count = format("{}", rows_max);
  for (const core::LaneId target : lanes)
    commands.add({"XRANGE", keys_.outbox(lane, target), "-", "+", "COUNT", count});
  const auto replies = ask(lane, commands);
  if (!replies) return replies.error();
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    for (const Reply& entry : (*replies)[i].list) {
      const std::string_view id = entry[0].text;
      const auto seq = number_in<std::uint64_t>(id.substr(0, id.find('-')));
      const Fields fields = fields_of(entry[1]);
      const auto bytes = fields.find("envelope");
      auto envelope = bytes == fields.end() ? Result<core::Envelope>(malformed("a row of the outbox"))
                                            : core::decode_envelope(*bytes->second);
      if (!seq || !envelope) {  // later messages to the same lane wait until a person repairs it
        page.damaged.push_back(
            {core::make_run(lane, 0), format("outbox to lane {}: row {} cannot be read", lanes[i].raw(), id)});
        break;
      }
      page.push_back({*seq, std::move(*envelope), lanes[i]});
    }
  }
  return page;
}

}  // namespace pawl::store::redis
