// LaneWriter: owns pools and lanes: the owner of a lane, and the number of its next run.
//
// A process owns the lanes (owner_lock.h): a lane has no lease and needs no renewal; the epoch fences the former owner.
// What is read about a lane is valid for one transaction and dropped with it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "core/ids.h"
#include "store/operation.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/connection.h"

namespace pawl::store::sqlite {

// Whether this process may own lanes. Implemented by the owner lock.
class Ownership {
 public:
  virtual ~Ownership() = default;
  virtual Result<bool> try_own() = 0;
};

class LaneWriter {
 public:
  // `ownership` must outlive it.
  explicit LaneWriter(Ownership& ownership) : ownership_(ownership) {}
  Status prepare(Connection& connection);

  void forget() { lanes_.clear(); }
  int store_next_numbers();  // the last write of a transaction: a result code of SQLite

  // A refusal, `fenced`, unless the lane has an owner and this is its epoch.
  Applied guard(core::LaneId lane, core::Epoch epoch);
  Checked exists(core::LaneId lane);
  // REQUIRES, for both: exists(lane), in this transaction.
  RunId next_run(core::LaneId lane);
  std::uint64_t next_announcement(core::LaneId lane);

  Applied apply(const OpenPool& open);
  Applied apply(const AcquireLane& acquire);
  Applied apply(const RenewLane& renew);
  Applied apply(const ReleaseLane& release);

 private:
  struct Next {
    std::uint64_t run = 0;
    std::uint64_t announcement = 0;
    friend bool operator==(const Next&, const Next&) = default;
  };
  struct Lane {
    bool exists = false;
    core::Epoch epoch{0};
    std::string owner;
    Next next;
    Next next_stored;
  };
  struct Found {
    Lane* lane = nullptr;  // null: there is none
    int code = SQLITE_OK;  // other than SQLITE_OK: it could not be read
  };
  Found find(core::LaneId lane);

  Ownership& ownership_;
  std::string path_;  // of the file, for people
  Statement read_lane_, put_next_, take_lane_, free_lane_, read_pool_, last_lane_, put_pool_, put_lane_;
  std::unordered_map<core::LaneId, Lane> lanes_;        // of the open transaction
  std::unordered_map<core::LaneId, core::Epoch> held_;  // taken by this process
};

Applied no_lane(core::LaneId lane);

}  // namespace pawl::store::sqlite
