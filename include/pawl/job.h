// What can be seen of a job: plain values, copied out of the store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pawl/ids.h"
#include "pawl/payload.h"
#include "pawl/time.h"

namespace pawl {

enum class JobStatus : std::uint8_t { running, completed, failed, interrupted, parked };
std::string_view name_of(JobStatus status);

struct JobView {
  Namespace name_space{""};
  JobId id{""};
  RunId run{0};
  GraphName graph{""};
  std::uint32_t version = 0;
  JobStatus status = JobStatus::running;
  std::int64_t semaphore = 0;  // open obligations
  Instant created_at;
  Instant closed_at;           // when closed
  Payload result;              // when completed
  std::string reason;          // when failed or parked
  bool closed() const { return status != JobStatus::running && status != JobStatus::parked; }
};

struct MessageView {
  std::string ledger;       // 15 digits
  std::string explanation;  // the digits in words
};

struct ActivityView {
  ActivityName name{""};
  std::string address;      // its dimensional address, such as ,0,1,0
  std::string ledger;       // 15 digits
  std::string explanation;  // the digits in words
  std::vector<MessageView> messages;
  bool open = true;
  bool errored = false;
  std::int32_t code = 0;
  Instant opened_at;
  Instant closed_at;
  Payload output;
};

struct JobDetail {
  JobView job;
  std::vector<ActivityView> activities;  // in the order they were opened
  std::string collation_key;             // one digit per activity of the graph, ids in ascending order
};

}  // namespace pawl
