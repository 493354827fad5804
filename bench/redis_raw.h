// What Redis alone can do, without an engine: the limit with which the figures of redis_bench are compared.
#pragma once

#include <cstdint>
#include <vector>

#include "redis_servers.h"

namespace pawl::bench {

enum class RedisLegs : std::uint8_t {
  // The writes of both legs. Leg 1: transition taken, the activity's ledger, work request. Leg 2: work request taken,
  // message ledger, the activity's ledger and output, the job's semaphore, next child, its transition. Messages and
  // requests are streams.
  both,
  // The writes that remain when a child's leg 1 is fused with its parent's leg 2: no transition, and the request is a
  // field of a hash.
  fused,
};

struct RedisRawSettings {
  std::uint32_t jobs = 2'000;
  std::uint32_t activities = 10;  // of each
  std::uint32_t concurrent = 0;   // open jobs; 0: all of them at once
  std::uint32_t group = 64;       // activities per script call, at most
  std::uint32_t connections = 4;  // each has its share of the open jobs
};

// Activities per second of a loop that does whole jobs by hand, as an engine must: start, activities, end; `group` of
// them to a script call, never more than are open on the connection. An activity: the ledgers, the reply, the next
// activity and its work, an entry of the job's history. Nothing is compared or looked up.
double redis_raw_rate(const RedisServer& server, const RedisRawSettings& settings, RedisLegs legs);

// Microseconds of one write after the other, sorted.
std::vector<double> redis_bare_writes(const RedisServer& server, std::uint32_t count);

}  // namespace pawl::bench
