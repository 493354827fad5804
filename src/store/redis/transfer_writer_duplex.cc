// Jobs of collation duplex, in the form of duplex.cc and duplex_dequeue.cc.
#include <algorithm>

#include "base/format.h"
#include "store/redis/transfer_writer.h"

namespace pawl::store::redis {

namespace {

constexpr std::string_view consumers = "engines";

Told::Shelf shelf_of(transfer::DuplexMessage::Shelf shelf) {
  using Shelf = transfer::DuplexMessage::Shelf;
  switch (shelf) {
    case Shelf::claimed:
      return Told::Shelf::claimed;
    case Shelf::later:
      return Told::Shelf::later;
    case Shelf::parked:
      return Told::Shelf::parked;
    case Shelf::free:
      break;
  }
  return Told::Shelf::free;
}

}  // namespace

void TransferWriter::put_one(const transfer::DuplexCellAt& one) {
  const DuplexCell& cell = one.cell;
  const std::string key = keys_.of_run(one.run, "run");
  const std::string place = place_text(cell.place);
  const std::string number = format("{}", one.order + 1);
  std::vector<std::string> words = {"HSET",
                                    key,
                                    "c:" + place,
                                    format("{}", cell.value),
                                    "c:" + place + ":is",
                                    format("{} {}", number, cell.opened_at.micros()),
                                    "cells",
                                    number};
  if (cell.closer)
    words.insert(words.end(), {"z:" + place, format("{} {} {} {}", cell.closer->text(), static_cast<int>(cell.status),
                                                    cell.code, cell.closed_at.micros())});
  if (!cell.output.empty()) words.insert(words.end(), {"z:" + place + ":out", std::string(cell.output.view())});
  to(one.run).add(words);
}

void TransferWriter::put_one(const transfer::DuplexMark& one) {
  to(one.run).add({"SADD", keys_.of_run(one.run, "marks"), one.mark.text()});
}

void TransferWriter::put_one(const transfer::DuplexAddress& one) {
  to(one.run).add({"SADD", keys_.of_run(one.run, one.open ? "open" : "closed"), place_text(one.place)});
}

void TransferWriter::put_one(const transfer::DuplexDone& one) {
  Told told;
  told.shelf = Told::Shelf::done;
  told.topic = escape("");
  to(one.run).add({"HSET", keys_.of_run(one.run, "told"), one.guid.text(), told.words()});
}

void TransferWriter::put_one(const transfer::DuplexMessage& one) {
  const core::LaneId lane = core::lane_of(one.run);
  auto body = body_of(one.kind, one.place, one.topic, one.status, one.code, one.number, one.data);
  if (!body) return;  // the source has checked its kind; the sums would show a missing record
  Told told;
  told.shelf = shelf_of(one.shelf);
  told.topic = escape(stream_of(*body).raw());
  told.position = one.position;
  told.claim = one.claim;
  told.epoch = one.epoch;
  told.free_at = one.free_at;
  told.claims = one.claims;
  told.given_back = one.given_back;
  numbers_[lane].position = std::max(numbers_[lane].position, one.position);
  const auto key_of = [&](const char* what) { return keys_.of_lane(lane, format("{}:{}", what, told.topic)); };
  const std::string stream = key_of("stream");
  const std::string id = format("{}-0", one.position);
  const std::string member = stream_member(one.position, one.run, one.guid);
  Commands& commands = to(lane);
  std::vector<std::string> entry = {"XADD", stream, id};
  for (std::string& word : message_fields({one.run, one.guid, std::move(*body)})) entry.push_back(std::move(word));
  commands.add(entry);
  commands.add({"HSET", keys_.of_run(one.run, "told"), one.guid.text(), told.words()});
  if (told.shelf == Told::Shelf::free) commands.add({"ZADD", key_of("free"), "0", member});
  if (told.shelf == Told::Shelf::later || told.shelf == Told::Shelf::claimed)
    commands.add({"ZADD", key_of("held"), format("{}", one.free_at.micros()), member});
  if (told.shelf != Told::Shelf::claimed) return;
  commands.add({"ZADD", key_of("claimed"), format("{}", one.epoch.raw()), member});
  commands.add({"XGROUP", "CREATE", stream, consumers, "0", "MKSTREAM"});
  commands.add({"XCLAIM", stream, consumers, format("{}", one.claim.raw()), "0", id, "RETRYCOUNT",
                format("{}", one.claims - one.given_back), "FORCE", "JUSTID"});
}

}  // namespace pawl::store::redis
