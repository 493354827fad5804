// What is written, and when; the catalogue, and data of a lane as a whole.
#include "store/redis/transfer_writer.h"

#include "base/format.h"
#include "core/codec.h"

namespace pawl::store::redis {

void TransferWriter::put(const transfer::Record& record) {
  std::visit([this](const auto& one) { put_one(one); }, record);
}

Status TransferWriter::flush() {
  for (auto& [tag, commands] : commands_) {
    if (commands.count() == 0) continue;
    if (const auto done = site_.ask(tag, commands); !done) return done.error();
    commands.clear();
  }
  return {};
}

Status TransferWriter::end_of_records() {
  for (const auto& [lane, last] : numbers_) {
    if (last.place > 0) to(lane).add({"HSET", keys_.of_lane(lane, "lane"), "place", format("{}", last.place)});
    if (last.position > 0) to(lane).add({"SET", keys_.of_lane(lane, "positions"), format("{}", last.position)});
  }
  return flush();
}

void TransferWriter::put_one(const transfer::Identity& one) {
  id_ = one.id.text();
  to(catalogue_tag).add({"HSET", keys_.of_catalogue("store"), "id", id_});
}

void TransferWriter::put_one(const transfer::PoolLanes& one) {
  to(catalogue_tag).add({"HINCRBY", keys_.of_catalogue("store"), "lanes", format("{}", one.lanes)});
  to(catalogue_tag)
      .add({"HSET", keys_.of_catalogue("pools"), one.pool.raw(), format("{} {}", one.first.raw(), one.lanes)});
}

void TransferWriter::put_one(const transfer::Lane& one) {
  Commands& commands = to(one.lane);
  commands.add({"HSET", keys_.of_lane(one.lane, "lane"), "store", id_, "epoch", format("{}", one.epoch.raw())});
  if (one.next_announcement > 1)
    commands.add({"HSET", keys_.of_lane(one.lane, "lane"), "announced", format("{}", one.next_announcement - 1)});
  if (one.next_run > 1)
    commands.add(
        {"SET", keys_.of_lane(one.lane, "runs"), format("{}", core::make_run(one.lane, one.next_run - 1).raw())});
  numbers_[one.lane];
}

// In every lane; the records of the lanes came before.
void TransferWriter::put_one(const transfer::PausedTopic& one) {
  for (const auto& [lane, numbers] : numbers_)
    to(lane).add({"SADD", keys_.of_lane(lane, "paused"), escape(one.topic.raw())});
}

void TransferWriter::put_one(const transfer::App& one) {
  const std::string version = name_of_version(one.app, one.version);
  to(catalogue_tag)
      .add({"HSET", keys_.apps(one.name_space), "b:" + version, one.body, "t:" + version,
            format("{}", one.deployed_at.micros())});
}

void TransferWriter::put_one(const transfer::ActiveApp& one) {
  to(catalogue_tag).add({"HSET", keys_.apps(one.name_space), "a:" + one.app, one.version});
}

// The sums over all lanes now belong to the first lane.
void TransferWriter::put_one(const transfer::Measured& one) {
  const core::LaneId first(1);
  const std::string field = joined(one.name_space.raw()) + joined(one.graph.raw()) + joined(one.key) +
                            joined(one.slice) + joined(one.target) + joined(one.value ? "=" + *one.value : "");
  to(first).add({"HSET", keys_.of_lane(first, "measures"), field,
                 format("{} {:.17g} {:.17g} {:.17g}", one.count, one.sum, one.least, one.most)});
}

void TransferWriter::put_one(const transfer::Announcement& one) {
  const core::Announce& said = one.said;
  Commands& commands = to(one.lane);
  commands.add({"XADD",
                keys_.of_lane(one.lane, "announcements"),
                format("{}-0", one.number),
                "run",
                format("{}", one.run.raw()),
                "ns",
                one.name_space.raw(),
                "id",
                one.job.raw(),
                "topic",
                said.topic.raw(),
                "what",
                said.what == core::Announce::What::end ? "end" : "progress",
                "status",
                format("{}", static_cast<int>(said.status)),
                "code",
                format("{}", said.code),
                "when",
                format("{}", said.at.micros()),
                "data",
                said.data.view()});
  commands.add({"HSET", keys_.of_run(one.run, "run"), format("n:{}", one.number), ""});
}

void TransferWriter::put_one(const transfer::SignalId& one) {
  to(one.lane).add({"ZADD", keys_.of_lane(one.lane, "signals"), format("{}", one.until.micros()), one.guid.text()});
}

void TransferWriter::put_one(const transfer::OutboxRoute& one) {
  to(one.source)
      .add({"HSET", keys_.of_lane(one.source, "sent"), format("{}", one.target.raw()), format("{}", one.last)});
}

void TransferWriter::put_one(const transfer::OutboxEntry& one) {
  to(one.source)
      .add({"XADD", keys_.outbox(one.source, one.target), format("{}-0", one.number), "guid",
            one.envelope.message.guid.text(), "kind", kind_of(one.envelope.message.body), "envelope",
            core::encode(one.envelope)});
}

void TransferWriter::put_one(const transfer::OutboxTaken& one) {
  to(one.target)
      .add({"HSET", keys_.of_lane(one.target, "taken"), format("{}", one.source.raw()), format("{}", one.last)});
}

}  // namespace pawl::store::redis
