// Work items as words: the order is that of scripts/work.lua.
#include <algorithm>
#include <concepts>

#include "base/format.h"
#include "core/secret.h"
#include "store/redis/keys.h"
#include "store/redis/records.h"

namespace pawl::store::redis {

namespace {

// Words with a space between them.
class Line {
 public:
  Line& operator<<(std::string_view word) {
    if (!text_.empty()) text_ += ' ';
    text_ += word;
    return *this;
  }
  template <class Number>
    requires std::integral<Number>
  Line& operator<<(Number number) {
    return *this << std::string_view(decimal(number));
  }
  Line& operator<<(bool flag) { return *this << std::string_view(flag ? "1" : "0"); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string life_words(const core::WorkLife& life) {
  Line line;
  line << life.queue_timeout.count() << life.attempt_timeout.count() << life.heartbeat_timeout.count()
       << life.deadline.micros() << life.at_most_once << life.unknown << life.queue_by.micros()
       << life.attempt_by.micros() << life.heartbeat_by.micros() << life.failures << life.failure_code
       << escape(life.failure);
  if (life.trace) line << escape(*life.trace);
  return line.take();
}

namespace {

// When it may be claimed, if nothing happens to it; "-": never.
std::string unlocks_at(const core::WorkItem& item) {
  if (item.held) return "-";
  if (item.token == core::WorkToken(0)) return format("{}", item.visible_at.micros());
  const bool leased = item.epoch == core::Epoch(0) && !item.life.at_most_once;
  return leased ? format("{}", std::max(item.lease_until, item.visible_at).micros()) : "-";
}

constexpr std::int64_t largest_priority = std::int64_t{1} << 31;

}  // namespace

ItemWords item_words(const core::WorkItem& item) {
  const std::uint32_t next_run = item.runs + 1;
  ItemWords words;
  words.order = format("{:010}", largest_priority - item.priority);  // the first one in order has the smallest text
  words.unlocks = unlocks_at(item);
  words.wake = decimal(core::wake_of(item).micros());
  words.topic = escape(item.topic.raw());
  Line line;
  line << words.order << words.unlocks << words.wake << words.topic << item.token.raw() << item.request.text()
       << next_run << core::token_of(item.request, next_run).raw() << item.epoch.raw() << item.lease_until.micros()
       << item.runs << item.priority << item.visible_at.micros() << item.held << item.plain_key << escape(item.worker)
       << life_words(item.life);
  words.rest = line.take();
  return words;
}

Result<core::WorkItem> read_item(std::string_view place, std::string_view words, std::string input,
                                 std::string progress) {
  const auto places = words_of(place, '.');
  const auto run = places.empty() ? std::nullopt : number_in<std::uint64_t>(places[0]);
  const auto activity = places.size() < 2 ? std::nullopt : number_in<std::uint32_t>(places[1]);
  if (!run || !activity) return malformed("the place of a work item");
  WordReader reader(words);
  core::WorkItem item;
  item.run = RunId(*run);
  item.activity = core::ActivitySeq(*activity);
  for (int i = 0; i < 4; ++i) reader.word();  // its position
  item.topic = Topic(reader.text());
  item.token = core::WorkToken(reader.number<std::uint64_t>());
  item.request = reader.guid();
  reader.word();  // the token of its next attempt
  reader.word();
  item.epoch = core::Epoch(reader.number<std::uint64_t>());
  item.lease_until = reader.instant();
  item.runs = reader.number<std::uint32_t>();
  item.priority = reader.number<std::int32_t>();
  item.visible_at = reader.instant();
  item.held = reader.flag();
  item.plain_key = reader.flag();
  item.worker = reader.text();
  core::WorkLife& life = item.life;
  life.queue_timeout = reader.duration();
  life.attempt_timeout = reader.duration();
  life.heartbeat_timeout = reader.duration();
  life.deadline = reader.instant();
  life.at_most_once = reader.flag();
  life.unknown = reader.flag();
  life.queue_by = reader.instant();
  life.attempt_by = reader.instant();
  life.heartbeat_by = reader.instant();
  life.failures = reader.number<std::uint32_t>();
  life.failure_code = reader.number<std::int32_t>();
  life.failure = reader.text();
  if (!reader.at_end()) life.trace = reader.text();
  item.input = Payload(std::move(input));
  life.progress = Payload(std::move(progress));
  if (reader.malformed() || !reader.at_end()) return malformed(format("work item {}", item.activity.raw()));
  return item;
}

Result<core::WorkItem> read_item(const Reply& row) {
  return read_item(row[0].text, row[1].text, row[2].text, row[3].text);
}

namespace {
constexpr std::size_t short_input_bytes = 256;  // an item is read with it at every step of its job
bool has_own_field(const Payload& input) { return input.size() > short_input_bytes; }
}  // namespace

InHand item_in_hand(const core::WorkItem& item, const ItemWords& words) {
  InHand hand;
  std::string& line = hand.words;
  line = decimal(item.activity.raw());
  line += ' ';
  line += decimal(item.token.raw());
  line += has_own_field(item.input) ? " i " : " - ";
  line += words.rest;
  if (has_own_field(item.input)) {
    hand.input = item.input.view();
  } else if (!item.input.empty()) {
    line += '\n';
    line += item.input.view();
  }
  return hand;
}

// "<number> <activity> <token> <where> <the rest>", as scripts/steps.lua takes it apart.
Result<core::WorkItem> read_item_in_hand(RunId run, std::string_view words, std::string input) {
  constexpr std::size_t words_before_rest = 4;
  const std::size_t line_end = std::min(words.find('\n'), words.size());
  const std::string_view line = words.substr(0, line_end);
  if (line_end < words.size()) input = words.substr(line_end + 1);
  std::size_t rest = 0;
  for (std::size_t i = 0; i < words_before_rest; ++i) rest = std::min(line.find(' ', rest), line.size() - 1) + 1;
  const auto before = words_of(line.substr(0, rest));
  const auto activity =
      before.size() == words_before_rest ? number_in<std::uint32_t>(before[1]) : std::optional<std::uint32_t>();
  if (!activity) return malformed(format("the work of run {}", run.raw()));
  return read_item(place_of(run, core::ActivitySeq(*activity)),
                   std::string(before[0]) + " " + std::string(line.substr(rest)), std::move(input), {});
}

}  // namespace pawl::store::redis
