// Words in general, and small rows.
#include <algorithm>

#include "base/format.h"
#include "core/codec.h"
#include "store/redis/records.h"

namespace pawl::store::redis {

Error malformed(std::string_view what) { return Error{ErrorCode::corrupt, format("{} is malformed", what)}; }

WordReader::WordReader(std::string_view text) : words_(words_of(text)) {}

std::string_view WordReader::word() {
  if (next_ < words_.size()) return words_[next_++];
  malformed_ = true;
  return {};
}
std::string WordReader::text() { return unescape(word()); }
Instant WordReader::instant() { return Instant::from_micros(number<std::int64_t>()); }
Duration WordReader::duration() { return Duration(number<std::int64_t>()); }
bool WordReader::flag() { return word() == "1"; }
core::Guid WordReader::guid() {
  const auto guid = core::Guid::parse(word());
  malformed_ = malformed_ || !guid;
  return guid.value_or(core::Guid{});
}

Fields fields_of(const Reply& reply) {
  Fields fields;
  for (std::size_t i = 0; i + 1 < reply.list.size(); i += 2)
    fields.emplace(reply.list[i].text, &reply.list[i + 1].text);
  return fields;
}

std::string_view kind_of(const core::Body& body) {
  static constexpr std::string_view names[] = {
      "start",     "transition", "response",    "register",   "signal",      "resume",      "no-answer",
      "interrupt", "pause",      "proceed",     "redrive",    "verdict",     "time-up",     "reenter",
      "arrive",    "item",       "start-child", "child-done", "end-job",     "withdraw",    "expire",
      "expand",    "unlabel",    "taken",       "refused",    "give-answer", "drop-signal", "cancel"};
  static_assert(std::size(names) == std::variant_size_v<core::Body>, "a new kind is named here");
  return names[body.index()];
}

// --- waiting messages

Result<core::InboxMessage> read_entry(const Reply& entry) {
  const Fields fields = fields_of(entry[1]);
  const auto guid_field = fields.find("guid");
  const auto body_field = fields.find("body");
  if (guid_field == fields.end() || body_field == fields.end()) return malformed("a message of an inbox");
  const auto guid = core::Guid::parse(*guid_field->second);
  if (!guid) return malformed("the name of a message");
  auto body = core::decode_body(*body_field->second);
  if (!body) return Error{ErrorCode::corrupt, format("message {}: {}", guid->text(), body.error().detail)};
  return core::InboxMessage{{*guid, std::move(*body)}, 0, Instant()};
}

Result<Pending> read_pending(std::string_view words) {
  WordReader reader(words);
  Pending pending;
  pending.stream_id = std::string(reader.word());
  pending.redeliveries = reader.number<std::uint32_t>();
  if (reader.malformed()) return malformed("what is known of a message");
  return pending;
}

std::string timer_field(const core::Guid& guid) { return "t:" + guid.text(); }

std::string timer_row(const core::InboxMessage& timer) {
  return format("{} {} {}", timer.due.micros(), timer.redeliveries, core::encode(timer.message.body));
}

// "<due> <redeliveries> <body>", as scripts/inbox.lua writes it too.
Result<core::InboxMessage> read_timer(const core::Guid& guid, std::string_view row) {
  const std::size_t first = std::min(row.find(' '), row.size());
  const std::size_t second = std::min(row.find(' ', first + 1), row.size());
  const auto due = number_in<std::int64_t>(row.substr(0, first));
  const auto redeliveries =
      second > first ? number_in<std::uint32_t>(row.substr(first + 1, second - first - 1)) : std::nullopt;
  if (!due || !redeliveries || second == row.size()) return malformed(format("timer {}", guid.text()));
  auto body = core::decode_body(row.substr(second + 1));
  if (!body) return Error{ErrorCode::corrupt, format("timer {}: {}", guid.text(), body.error().detail)};
  return core::InboxMessage{{guid, std::move(*body)}, *redeliveries, Instant::from_micros(*due)};
}

// --- entries of mailboxes

std::string entry_words(const core::MailboxEntry& entry) {
  const std::string offered = entry.offered_to ? entry.offered_to->text() : "-";
  if (const auto* one = std::get_if<core::Register>(&entry.what))
    return format("r {} {} {} {} {}", entry.guid.text(), entry.expires_at.micros(), offered, one->reply_to.raw(),
                  one->activity.raw());
  const auto& signal = std::get<core::Signal>(entry.what);
  return format("s {} {} {} {} {}", entry.guid.text(), entry.expires_at.micros(), offered,
                static_cast<int>(signal.status), signal.code);
}

Result<core::MailboxEntry> read_mailbox_entry(std::uint64_t seq, std::string_view words, std::string data) {
  WordReader reader(words);
  core::MailboxEntry entry;
  entry.seq = seq;
  const std::string_view kind = reader.word();
  entry.guid = reader.guid();
  entry.expires_at = reader.instant();
  if (const std::string_view offered = reader.word(); offered != "-") {
    const auto to = core::Guid::parse(offered);
    if (!to) return malformed("an entry of a mailbox");
    entry.offered_to = to;
  }
  if (kind == "r") {
    const RunId reply_to(reader.number<std::uint64_t>());
    entry.what = core::Register{reply_to, core::ActivitySeq(reader.number<std::uint32_t>())};
  } else {
    core::Signal signal;
    const auto status = reader.number<unsigned>();
    if (status > static_cast<unsigned>(core::ReplyStatus::fatal)) return malformed("the status of a signal");
    signal.status = static_cast<core::ReplyStatus>(status);
    signal.code = reader.number<std::int32_t>();
    signal.data = Payload(std::move(data));
    entry.what = std::move(signal);
  }
  if (reader.malformed()) return malformed("an entry of a mailbox");
  return entry;
}

// --- engines

std::string engine_words(const BeatEngine& beat) {
  std::string holds, serves;
  if (beat.holds)
    for (const core::LaneId lane : *beat.holds) holds += format("{}{}", holds.empty() ? "" : ",", lane.raw());
  for (const Topic& topic : beat.serves) serves += (serves.empty() ? "" : ",") + escape(topic.raw());
  return format("{} {}", holds.empty() ? "-" : holds, serves.empty() ? "-" : serves);
}

Result<EngineInfo> read_engine(const std::string& name, std::string_view words) {
  WordReader reader(words);
  EngineInfo engine;
  engine.name = name;
  engine.until = reader.instant();
  engine.leaving = reader.flag();
  const std::string_view holds = reader.word();
  const std::string_view serves = reader.word();
  if (reader.malformed()) return malformed(format("the row of engine {}", name));
  if (holds != "-")
    for (const std::string_view lane : words_of(holds, ',')) {
      const auto number = number_in<std::uint32_t>(lane);
      if (!number) return malformed(format("the row of engine {}", name));
      engine.holds.emplace_back(*number);
    }
  if (serves != "-")
    for (const std::string_view topic : words_of(serves, ',')) engine.serves.emplace_back(unescape(topic));
  return engine;
}

}  // namespace pawl::store::redis
