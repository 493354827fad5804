// Dequeue: the oldest free messages of a stream. Messages that became due or lost their owner are freed first, once per
// message, and are then in the queue by age again.
#include <algorithm>
#include <map>
#include <set>

#include "base/format.h"
#include "store/redis/duplex.h"
#include "store/redis/records.h"

namespace pawl::store::redis {

namespace {

constexpr std::size_t freed_at_once = 1000;
constexpr std::size_t others_at_once = 16;
constexpr std::string_view consumers = "engines";

// A message that a dequeue reads.
struct Seen {
  std::string member;
  StreamPlace place;
  Told told;
  ClaimedMessage message;
};

std::vector<std::string> texts_of(const Reply& reply) {
  std::vector<std::string> texts;
  for (const Reply& one : reply.list) texts.push_back(one.text);
  return texts;
}

}  // namespace

Result<DuplexOutcome> DuplexStore::run(const Dequeue& dequeue) {
  const auto refused = [](const char* why) { return DuplexOutcome{OutcomeKind::rejected, why, {}}; };
  if (dequeue.claim == ClaimId(0)) return refused("a claim needs a name");
  if (dequeue.epoch == core::Epoch(0)) return refused("a claim needs the epoch of its lane");
  const core::LaneId lane = dequeue.lane;
  const std::string topic = escape(dequeue.topic.raw());
  const std::string stream = of_stream(lane, "stream", topic);
  const std::string free = of_stream(lane, "free", topic);
  const std::string held = of_stream(lane, "held", topic);
  const std::string claimed = of_stream(lane, "claimed", topic);
  const std::string consumer = format("{}", dequeue.claim.raw());
  const std::string epoch = format("({}", dequeue.epoch.raw());
  const std::string freed_max = format("{}", freed_at_once);

  // The time is read first: it decides what is due.
  Look look;
  look.watched = {free, held, claimed};
  look.questions.add({"TIME"});
  look.questions.add({"ZRANGE", claimed, "-inf", epoch, "BYSCORE", "LIMIT", "0", freed_max});
  look.questions.add({"XPENDING", stream, consumers, "-", "+", freed_max, consumer});
  look.questions.add({"ZRANGE", free, "0", format("{}", dequeue.items_max)});

  return attempt(lane, look, [&](const Replies& seen, const Ask& ask) -> Result<Decision> {
    const auto asked_now = time_in(seen[0]);
    if (!asked_now) return asked_now.error();
    const Instant now = *asked_now;
    const auto ask_all = [&](const Commands& commands) -> Result<Replies> {
      auto replies = ask(commands);
      if (!replies) return Error{ErrorCode::retry_later, replies.error().detail};
      for (const Reply& reply : *replies)
        if (reply.is_error()) return Error{ErrorCode::retry_later, reply.text};
      return replies;
    };
    Commands later;
    later.add({"ZRANGE", held, "-inf", format("{}", now.micros()), "BYSCORE", "LIMIT", "0", freed_max});
    later.add({"ZRANGE", held, format("({}", now.micros()), "+inf", "BYSCORE", "LIMIT", "0",
               format("{}", others_at_once + seen[1].list.size() + seen[2].list.size())});
    const auto times = ask_all(later);
    if (!times) return times.error();

    // The messages that are free again, and those that this claim already holds.
    std::set<std::string> freed;
    for (const std::string& member : texts_of(seen[1])) freed.insert(member);
    for (const std::string& member : texts_of((*times)[0])) freed.insert(member);
    std::set<std::uint64_t> mine;
    for (const Reply& entry : seen[2].list) {
      const std::string_view id = entry[0].text;
      mine.insert(number_in<std::uint64_t>(id.substr(0, id.find('-'))).value_or(0));
    }
    for (const std::string& member : freed)
      if (const auto place = parse_member(member)) mine.erase(place->position);
    const bool again = !mine.empty();

    std::vector<std::string> line(freed.begin(), freed.end());
    for (const std::string& member : texts_of(seen[3])) line.push_back(member);
    std::sort(line.begin(), line.end());

    // The rows of all that change, and the messages of those that may be handed out.
    Commands rows;
    std::vector<Seen> found;
    const auto look_at = [&](const std::string& member) -> Status {
      const auto place = parse_member(member);
      if (!place) return place.error();
      rows.add({"HGET", keys_.of_run(place->run, "told"), place->guid.text()});
      found.push_back({member, *place, {}, {}});
      return {};
    };
    for (const std::string& member : line)
      if (const auto looked = look_at(member); !looked) return looked.error();
    std::size_t handed_from_claim = 0;
    Commands entries;
    if (again) {
      for (const std::uint64_t position : mine)
        entries.add({"XRANGE", stream, format("{}-0", position), format("{}-0", position)});
      handed_from_claim = mine.size();
    } else {
      for (std::size_t i = 0; i < found.size() && i < dequeue.items_max; ++i) {
        const std::string id = format("{}-0", found[i].place.position);
        entries.add({"XRANGE", stream, id, id});
      }
    }
    Replies told_rows, bodies;
    if (rows.count() > 0) {
      auto replies = ask_all(rows);
      if (!replies) return replies.error();
      told_rows = std::move(*replies);
    }
    if (entries.count() > 0) {
      auto replies = ask_all(entries);
      if (!replies) return replies.error();
      bodies = std::move(*replies);
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      auto told = Told::parse(told_rows[i].text);
      if (!told) return told.error();
      found[i].told = std::move(*told);
    }

    Decision decision;
    Commands& commands = decision.commands;
    Handed handed;
    for (std::size_t i = 0; i < handed_from_claim; ++i) {
      auto message = read_stream_message(bodies[i][0]);
      if (!message) return message.error();
      Commands row;
      row.add({"HGET", keys_.of_run(message->run, "told"), message->guid.text()});
      const auto reply = ask_all(row);
      if (!reply) return reply.error();
      const auto told = Told::parse(reply->front().text);
      if (!told) return told.error();
      handed.messages.push_back(claimed_message(std::move(*message), *told));
    }
    std::size_t taken = 0;
    std::size_t bytes = 0;
    for (; !again && taken < found.size() && taken < dequeue.items_max; ++taken) {
      auto message = read_stream_message(bodies[taken][0]);
      if (!message) return message.error();
      const Payload* payload = payload_of(message->body);
      bytes += payload == nullptr ? 0 : payload->size();
      if (bytes > dequeue.bytes_max && taken > 0) break;
      Seen& one = found[taken];
      one.told.shelf = Told::Shelf::claimed;
      one.told.claim = dequeue.claim;
      one.told.epoch = dequeue.epoch;
      one.told.free_at = now + dequeue.lease;
      ++one.told.claims;
      handed.messages.push_back(claimed_message(std::move(*message), one.told));
    }
    // The first claim of a stream creates its group.
    if (taken > 0 && seen[2].is_error("NOGROUP"))
      commands.add({"XGROUP", "CREATE", stream, consumers, "0", "MKSTREAM"});
    for (std::size_t i = 0; i < found.size(); ++i) {
      Seen& one = found[i];
      const bool is_taken = i < taken;
      const bool was_freed = freed.contains(one.member);
      if (!is_taken && !was_freed) continue;
      unshelf(commands, lane, one.told, one.member);
      if (is_taken) {
        const std::string id = format("{}-0", one.place.position);
        commands.add({"ZADD", held, format("{}", one.told.free_at.micros()), one.member});
        commands.add({"ZADD", claimed, format("{}", dequeue.epoch.raw()), one.member});
        commands.add({"XCLAIM", stream, consumers, consumer, "0", id, "RETRYCOUNT",
                      format("{}", one.told.claims - one.told.given_back), "FORCE", "JUSTID"});
      } else {
        one.told.shelf = Told::Shelf::free;
        commands.add({"ZADD", free, "0", one.member});
      }
      commands.add({"HSET", keys_.of_run(one.place.run, "told"), one.place.guid.text(), one.told.words()});
    }

    // When the next of the others may be claimed.
    if (found.size() > taken) {
      handed.next_free = now;
    } else {
      for (const std::string& member : texts_of((*times)[1])) {
        const auto place = parse_member(member);
        if (!place) return place.error();
        if (freed.contains(member) || mine.contains(place->position)) continue;
        Commands row;
        row.add({"HGET", keys_.of_run(place->run, "told"), place->guid.text()});
        const auto reply = ask_all(row);
        if (!reply) return reply.error();
        const auto told = Told::parse(reply->front().text);
        if (!told) return told.error();
        handed.next_free = told->free_at;
        break;
      }
    }
    decision.outcome = {again ? OutcomeKind::already_done : OutcomeKind::committed, {}, std::move(handed)};
    return decision;
  });
}

}  // namespace pawl::store::redis
