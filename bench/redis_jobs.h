// Jobs over the Redis store, for redis_bench: an engine with its workers in this process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "redis_servers.h"

namespace pawl::bench {

inline constexpr std::uint32_t activities_per_job = 10;

struct JobsSettings {
  std::uint32_t jobs = 0;
  std::uint32_t concurrent = 0;
  std::uint32_t lanes = 0;        // 0: the default of the store
  std::uint32_t connections = 0;  // 0: the default of the store
  std::uint32_t width = 0;        // so many workers side by side; 0: activities_per_job one after the other
};

struct JobsFigure {
  double activities_per_second = 0;
  double operations_per_group = 0;  // operations of a lane in one script call
  double round_trips_per_group = 0;
  double commands = 0;  // of one activity, as the next four; including those that scripts call
  double log_bytes = 0;
  double server_cpu_us = 0;
  double our_cpu_us = 0;
  double bytes_per_job = 0;  // of a finished job, in the server's memory
};

// `server`: whose counters are read; null: none.
JobsFigure run_jobs(const std::string& url, const RedisServer* server, const JobsSettings& settings);

// Microseconds from submit to end of jobs of one activity, one after the other, sorted.
std::vector<double> one_step_jobs(const std::string& url, std::uint32_t count, std::uint32_t lanes);

// In the server's memory: jobs whose topic has no worker; that have not begun; that are in a hook's sleep.
double bytes_per_open_job(const RedisServer& server, std::uint32_t jobs, std::uint32_t lanes);
double bytes_per_delayed_job(const RedisServer& server, std::uint32_t jobs, std::uint32_t lanes);
double bytes_per_sleeping_job(const RedisServer& server, const std::string& dir, std::uint32_t jobs,
                              std::uint32_t lanes);

}  // namespace pawl::bench
