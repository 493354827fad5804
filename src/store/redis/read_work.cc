// Pages of a lane: waiting runs, work, what is due, what is to be sent.
#include <algorithm>

#include "base/limits.h"
#include "core/codec.h"
#include "store/redis/reader.h"

namespace pawl::store::redis {

namespace {

RunId run_in(std::string_view digits) { return RunId(number_in<std::uint64_t>(digits).value_or(0)); }

constexpr std::size_t page_bytes = pawl::limits::read_answers_bytes;

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

Result<Page<core::WorkItem>> Reader::read_work(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  const std::string from = after.run == RunId(0) ? "-" : "(" + place_of(after.run, after.activity);
  const auto reply = run_script(lane, items_script(), {keys_.of_lane(lane, "items"), keys_.of_lane(lane, "places")},
                                {from, "+", format("{}", rows_max), format("{}", page_bytes)});
  if (!reply) return reply.error();
  Page<core::WorkItem> page;
  for (const Reply& row : reply->list) {
    auto item = read_item(row);
    if (item)
      page.push_back(std::move(*item));
    else if (page.damaged.size() < pawl::limits::damaged_per_page_max)
      page.damaged.push_back({run_in(std::string_view(row[0].text).substr(0, run_digits)), item.error().detail});
  }
  return page;
}

Result<Page<WorkPlace>> Reader::read_work_places(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  const std::string from = after.run == RunId(0) ? "-" : "(" + place_of(after.run, after.activity);
  Page<WorkPlace> page;
  const auto places = ask_one(
      lane, {"ZRANGE", keys_.of_lane(lane, "places"), from, "+", "BYLEX", "LIMIT", "0", format("{}", rows_max)});
  if (!places) return places.error();
  if (places->list.empty()) return page;
  std::vector<std::string> words = {"HMGET", keys_.of_lane(lane, "items")};
  for (const Reply& place : places->list) words.push_back(place.text);
  Commands commands;
  commands.add(words);
  const auto items = ask(lane, commands);
  if (!items) return items.error();
  for (std::size_t i = 0; i < places->list.size(); ++i) {
    const Reply& row = items->front()[i];
    if (row.is_nil()) continue;  // it was removed meanwhile
    const auto item = read_item((*places)[i].text, row.text, {}, {});
    if (item)
      page.push_back({item->run, item->activity, item->topic});
    else if (page.damaged.size() < pawl::limits::damaged_per_page_max)
      page.damaged.push_back({run_in(std::string_view((*places)[i].text).substr(0, run_digits)), item.error().detail});
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
