// Jobs of collation duplex, and the streams in which their messages wait.
#include "base/format.h"
#include "base/invariant.h"
#include "store/redis/transfer_reader.h"

namespace pawl::store::redis {

namespace {

constexpr std::size_t messages_per_page = 200;

// The reverse of store::body_of.
void put_body(transfer::DuplexMessage& into, const stream::Body& body) {
  into.kind = static_cast<std::int64_t>(body.index());
  if (const Place* place = store::place_of(body)) into.place = *place;
  if (const Payload* data = payload_of(body)) into.data = *data;
  into.topic = stream_of(body);
  std::visit(Overloaded{
                 each_of<stream::Start, stream::Transition, stream::Request>([] {}),
                 [&](const stream::Reply& reply) {
                   into.status = reply.status;
                   into.code = reply.code;
                   into.number = reply.number;
                 },
                 [&](const stream::Cleanup& cleanup) {
                   if (!cleanup.failure) return;
                   into.status = core::ReplyStatus::error;
                   into.code = cleanup.failure->code;
                 },
             },
             body);
}

transfer::DuplexMessage::Shelf shelf_of(Told::Shelf shelf) {
  using Shelf = transfer::DuplexMessage::Shelf;
  switch (shelf) {
    case Told::Shelf::claimed:
      return Shelf::claimed;
    case Told::Shelf::later:
      return Shelf::later;
    case Told::Shelf::parked:
      return Shelf::parked;
    case Told::Shelf::free:
    case Told::Shelf::done:
      break;
  }
  return Shelf::free;
}

}  // namespace

Status TransferReader::read_duplex_job(RunId run) {
  const core::LaneId lane = core::lane_of(run);
  auto job = site_.store().duplex().read(run);
  if (!job) return job.error();
  if (!*job) return malformed(format("duplex job {}", run.raw()));
  std::uint32_t order = 0;
  for (DuplexCell& cell : (*job)->cells)
    if (auto seen = see_(transfer::DuplexCellAt{run, order++, std::move(cell)}); !seen) return seen;
  for (Place& place : (*job)->open)
    if (auto seen = see_(transfer::DuplexAddress{run, std::move(place), true}); !seen) return seen;
  Commands commands;
  commands.add({"SMEMBERS", keys_.of_run(run, "closed")});
  commands.add({"SMEMBERS", keys_.of_run(run, "marks")});
  commands.add({"HGETALL", keys_.of_run(run, "told")});
  const auto replies = site_.ask(lane, commands);
  if (!replies) return replies.error();
  for (const Reply& member : (*replies)[0].list) {
    auto place = parse_place(member.text);
    if (!place) return place.error();
    if (auto seen = see_(transfer::DuplexAddress{run, std::move(*place), false}); !seen) return seen;
  }
  for (const Reply& member : (*replies)[1].list) {
    const auto mark = core::Guid::parse(member.text);
    if (!mark) return malformed("a mark of a duplex job");
    if (auto seen = see_(transfer::DuplexMark{run, *mark}); !seen) return seen;
  }
  const Reply& told_rows = (*replies)[2];
  for (std::size_t i = 0; i + 1 < told_rows.list.size(); i += 2) {
    const auto guid = core::Guid::parse(told_rows[i].text);
    const auto told = Told::parse(told_rows[i + 1].text);
    if (!guid || !told) return malformed("what is known of a message of a duplex job");
    if (told->shelf != Told::Shelf::done)
      streams_.emplace(lane, told->topic);
    else if (auto seen = see_(transfer::DuplexDone{run, *guid}); !seen)
      return seen;
  }
  return {};
}

Status TransferReader::read_stream(core::LaneId lane, const std::string& topic) {
  const std::string key = keys_.of_lane(lane, "stream:" + topic);
  std::string after = "-";
  std::uint32_t rank = 0;
  for (;;) {
    const auto page = site_.ask_one(lane, {"XRANGE", key, after, "+", "COUNT", format("{}", messages_per_page)});
    if (!page) return page.error();
    if (page->list.empty()) return {};
    Commands commands;
    std::vector<StreamMessage> messages;
    for (const Reply& entry : page->list) {
      auto message = read_stream_message(entry);
      if (!message) return message.error();
      commands.add({"HGET", keys_.of_run(message->run, "told"), message->guid.text()});
      commands.add({"EXISTS", keys_.of_run(message->run, "run")});
      messages.push_back(std::move(*message));
    }
    after = "(" + page->list.back()[0].text;
    const auto rows = site_.ask(lane, commands);
    if (!rows) return rows.error();
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if ((*rows)[2 * i + 1].integer == 0) continue;  // its job was removed, and no other job has it
      const auto told = Told::parse((*rows)[2 * i].text);
      if (!told) return told.error();
      transfer::DuplexMessage record;
      record.run = messages[i].run;
      record.guid = messages[i].guid;
      put_body(record, messages[i].body);
      record.shelf = shelf_of(told->shelf);
      record.claim = told->claim;
      record.epoch = told->epoch;
      record.free_at = told->shelf == Told::Shelf::free ? Instant() : told->free_at;
      record.claims = told->claims;
      record.given_back = told->given_back;
      record.rank = ++rank;
      // Each lane counts separately; in other stores one number names one message.
      record.position = (told->position - 1) * lanes_.size() + lane.raw();
      if (auto seen = see_(std::move(record)); !seen) return seen;
    }
  }
}

}  // namespace pawl::store::redis
