// Reads all of a Redis store as records, a page at a time.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/redis/duplex_records.h"
#include "store/redis/transfer_site.h"
#include "store/transfer/whole.h"

namespace pawl::store::redis {

class TransferReader {
 public:
  // The references must outlive it.
  TransferReader(TransferSite& site, const transfer::See& see) : site_(site), see_(see), keys_(site.keys()) {}
  Status read();

 private:
  // transfer_reader.cc
  Status read_catalogue();
  Status read_lane(core::LaneId lane, const std::string& pool);
  Status read_apps();
  Status read_measures();
  Status read_outboxes(core::LaneId lane);
  Status read_outbox(core::LaneId lane, core::LaneId target, std::uint64_t last);
  Status read_signal_ids(core::LaneId lane);
  // transfer_reader_jobs.cc
  Status read_jobs(core::LaneId lane);
  Status read_page_of_jobs(core::LaneId lane, const std::vector<RunId>& runs);
  Status read_expiring(core::LaneId lane);
  Status read_work(core::LaneId lane);
  Status read_labels(core::LaneId lane);
  Status read_mailboxes(core::LaneId lane);
  // transfer_reader_duplex.cc
  Status read_duplex_job(RunId run);
  Status read_stream(core::LaneId lane, const std::string& topic);

  // All members of a sorted set in their order, a page at a time.
  Status each_member(core::LaneId lane, const std::string& key, const std::string& from, const std::string& until,
                     const std::function<Status(const std::vector<std::string>&)>& see);

  TransferSite& site_;
  const transfer::See& see_;
  const Keys& keys_;
  std::vector<core::LaneId> lanes_;
  std::set<std::pair<core::LaneId, std::string>> streams_;  // in which messages wait: lane and topic, escaped
};

}  // namespace pawl::store::redis
