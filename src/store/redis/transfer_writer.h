// Writes records into an empty Redis store: plain commands, many to a round trip, because no other process uses it.
#pragma once

#include <map>
#include <string>

#include "store/redis/duplex_records.h"
#include "store/redis/transfer_site.h"

namespace pawl::store::redis {

class TransferWriter {
 public:
  explicit TransferWriter(TransferSite& site) : site_(site), keys_(site.keys()) {}

  void put(const transfer::Record& record);
  Status flush();
  Status end_of_records();  // the counters that continue after the moved numbers

 private:
  struct Numbers {
    std::uint64_t place = 0;     // in the queue of work
    std::uint64_t position = 0;  // in the streams of collation duplex
  };

  // transfer_writer.cc
  void put_one(const transfer::Identity& one);
  void put_one(const transfer::PoolLanes& one);
  void put_one(const transfer::Lane& one);
  void put_one(const transfer::PausedTopic& one);
  void put_one(const transfer::App& one);
  void put_one(const transfer::ActiveApp& one);
  void put_one(const transfer::Measured& one);
  void put_one(const transfer::Announcement& one);
  void put_one(const transfer::SignalId& one);
  void put_one(const transfer::OutboxRoute& one);
  void put_one(const transfer::OutboxEntry& one);
  void put_one(const transfer::OutboxTaken& one);
  // transfer_writer_jobs.cc
  void put_one(const transfer::Job& one);
  void put_one(const transfer::Activity& one);
  void put_one(const transfer::MessageLedger& one);
  void put_one(const transfer::InboxMessage& one);
  void put_one(const transfer::Timer& one);
  void put_one(const transfer::Work& one);
  void put_one(const transfer::StartKey& one);
  void put_one(const transfer::JobLabel& one);
  void put_one(const transfer::Mailbox& one);
  void put_one(const transfer::MailboxEntry& one);
  // transfer_writer_duplex.cc
  void put_one(const transfer::DuplexCellAt& one);
  void put_one(const transfer::DuplexMark& one);
  void put_one(const transfer::DuplexAddress& one);
  void put_one(const transfer::DuplexDone& one);
  void put_one(const transfer::DuplexMessage& one);

  Commands& to(std::string_view tag) { return commands_[std::string(tag)]; }
  Commands& to(core::LaneId lane) { return commands_[tag_of(lane)]; }
  Commands& to(RunId run) { return to(core::lane_of(run)); }
  void put_due(RunId run, Instant at, char kind, const std::string& guid, const std::string& activity);

  TransferSite& site_;
  const Keys& keys_;
  std::map<std::string, Commands> commands_;  // by tag
  std::map<core::LaneId, Numbers> numbers_;
  std::string id_;
};

}  // namespace pawl::store::redis
