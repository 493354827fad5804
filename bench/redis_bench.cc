// The Redis store: worker activities per second of 10-step jobs, beside a loop over the server that writes the same
// fields by hand, measured at the same time; the memory of a job; the time of one step.
//
//   redis_bench [--jobs N] [--lanes N] [--group N] [--rounds N] [--sleeping N] [--dir DIR]
//     [--only rates|cluster|one|memory|sleeping]
//   redis_bench --only profile [--concurrent N] [--width N] [--fsync always|everysec] [--connections N] [--jobs N]
//     [--lanes N] [--dir DIR]
//
// Starts new servers in DIR. `--only sleeping --sleeping 1000000` is the million of docs/REDIS.md. The profile is one
// measurement alone, to be observed with other tools. Prints one JSON object.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "redis_jobs.h"
#include "redis_raw.h"
#include "redis_servers.h"

namespace {

using namespace pawl::bench;

struct Settings {
  std::uint32_t jobs = 4'000;
  std::uint32_t lanes = 0;  // 0: the default of the store
  std::uint32_t group = 256;
  std::uint32_t rounds = 2;
  std::uint32_t sleeping = 20'000;
  std::string dir = "/tmp";
  std::string only;
  std::string appendfsync = "always";  // of the profile
  std::uint32_t concurrent = 2'000;
  std::uint32_t connections = 0;
  std::uint32_t width = 0;  // of the profile: workers side by side
  bool does(const char* part) const { return only.empty() || only == part; }
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = argv[i + 1];
    const auto number = static_cast<std::uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    if (flag == "--jobs")
      settings.jobs = number;
    else if (flag == "--lanes")
      settings.lanes = number;
    else if (flag == "--group")
      settings.group = number;
    else if (flag == "--rounds")
      settings.rounds = number;
    else if (flag == "--sleeping")
      settings.sleeping = number;
    else if (flag == "--dir")
      settings.dir = value;
    else if (flag == "--only")
      settings.only = value;
    else if (flag == "--fsync")
      settings.appendfsync = value;
    else if (flag == "--connections")
      settings.connections = number;
    else if (flag == "--width")
      settings.width = number;
    else if (flag == "--concurrent")
      settings.concurrent = number;
    else {
      fmt::print(stderr, "unknown option {}\n", flag);
      std::exit(2);
    }
  }
  return settings;
}

// The best of several numbers of connections and sizes of groups: the loop is a limit. `concurrent`: how many jobs it
// may have open, as an engine does; 0: all at once.
double raw_rate(const RedisServer& server, const Settings& settings, std::uint32_t concurrent, RedisLegs legs) {
  double best = 0;
  for (const std::uint32_t connections : {1u, 2u, 4u}) {
    std::uint32_t group_before = 0;
    for (std::uint32_t group : {64u, settings.group}) {
      if (concurrent != 0) group = std::min(group, concurrent / connections);
      if (group == group_before) continue;
      group_before = group;
      const RedisRawSettings raw{settings.jobs, activities_per_job, concurrent, group, connections};
      best = std::max(best, redis_raw_rate(server, raw, legs));
    }
  }
  return best;
}

std::string costs_of(const JobsFigure& figure) {
  return fmt::format(
      "\"operations_per_group\": {:.1f}, \"round_trips_per_group\": {:.2f}, \"commands\": {:.1f}, \"log_bytes\": "
      "{:.0f},"
      " \"server_cpu_us\": {:.1f}, \"our_cpu_us\": {:.1f}, \"bytes_per_finished_job\": {:.0f}",
      figure.operations_per_group, figure.round_trips_per_group, figure.commands, figure.log_bytes,
      figure.server_cpu_us, figure.our_cpu_us, figure.bytes_per_job);
}

std::string rates(const Settings& settings, const std::string& appendfsync) {
  std::string text;
  double unlimited = 0;
  for (const std::uint32_t concurrent : {64u, 256u, 2'000u}) {
    // Raw and Pawl alternate, and the best of each counts: what the machine can do without disturbance.
    double raw = 0;
    double fused = 0;
    JobsFigure ours;
    for (std::uint32_t round = 0; round < settings.rounds; ++round) {
      const RedisServer server(settings.dir, appendfsync, RedisServer::Kind::alone);
      raw = std::max(raw, raw_rate(server, settings, concurrent, RedisLegs::both));
      fused = std::max(fused, raw_rate(server, settings, concurrent, RedisLegs::fused));
      if (concurrent == 64)
        for (const RedisLegs legs : {RedisLegs::both, RedisLegs::fused})
          unlimited = std::max(unlimited, raw_rate(server, settings, 0, legs));
      const JobsFigure figure = run_jobs(server.url(), &server, {settings.jobs, concurrent, settings.lanes});
      if (figure.activities_per_second > ours.activities_per_second) ours = figure;
    }
    text += fmt::format(
        "{}\n  {{\"appendfsync\": \"{}\", \"concurrent\": {}, \"activities_per_second\": {:.0f}, \"raw\": {:.0f}, "
        "\"of_raw\": {:.2f},"
        " \"raw_fused\": {:.0f}, \"of_raw_fused\": {:.2f}, \"raw_all_jobs_open\": {:.0f}, {}}}",
        text.empty() ? "" : ",", appendfsync, concurrent, ours.activities_per_second, raw,
        ours.activities_per_second / raw, fused, ours.activities_per_second / fused, unlimited, costs_of(ours));
  }
  return text;
}

std::string cluster(const Settings& settings) {
  double one = 0;
  double three = 0;
  constexpr std::uint32_t concurrent = 2'000;
  for (std::uint32_t round = 0; round < settings.rounds; ++round) {
    {
      const RedisServer server(settings.dir, "always", RedisServer::Kind::alone);
      one = std::max(
          one, run_jobs(server.url(), nullptr, {settings.jobs, concurrent, settings.lanes}).activities_per_second);
    }
    const RedisMasters masters(settings.dir, "always");
    three = std::max(
        three, run_jobs(masters.url(), nullptr, {settings.jobs, concurrent, settings.lanes}).activities_per_second);
  }
  return fmt::format("{{\"one_master\": {:.0f}, \"three_masters\": {:.0f}, \"of_one\": {:.2f}}}", one, three,
                     three / one);
}

std::string sleeping(const Settings& settings) {
  const RedisServer server(settings.dir, "everysec", RedisServer::Kind::alone);
  return fmt::format("{{\"jobs\": {}, \"bytes_per_job\": {:.0f}}}", settings.sleeping,
                     bytes_per_sleeping_job(server, settings.dir, settings.sleeping, settings.lanes));
}

std::string memory(const Settings& settings) {
  const auto measure = [&](auto make) {
    const RedisServer server(settings.dir, "everysec", RedisServer::Kind::alone);
    return make(server);
  };
  const double waiting =
      measure([&](const RedisServer& server) { return bytes_per_open_job(server, settings.sleeping, settings.lanes); });
  const double delayed = measure(
      [&](const RedisServer& server) { return bytes_per_delayed_job(server, settings.sleeping, settings.lanes); });
  return fmt::format("{{\"jobs\": {}, \"with_open_work\": {:.0f}, \"delayed_start\": {:.0f}}}", settings.sleeping,
                     waiting, delayed);
}

std::string profile(const Settings& settings) {
  const RedisServer server(settings.dir, settings.appendfsync, RedisServer::Kind::alone);
  const JobsSettings jobs{settings.jobs, settings.concurrent, settings.lanes, settings.connections, settings.width};
  const JobsFigure figure = run_jobs(server.url(), &server, jobs);
  return fmt::format("{{\"activities_per_second\": {:.0f}, {}}}", figure.activities_per_second, costs_of(figure));
}

std::string one_step(const Settings& settings) {
  const RedisServer server(settings.dir, "always", RedisServer::Kind::alone);
  constexpr std::uint32_t count = 300;
  const std::vector<double> bare = redis_bare_writes(server, count);
  const std::vector<double> ours = one_step_jobs(server.url(), count, settings.lanes);
  return fmt::format("{{\"p50_us\": {:.0f}, \"bare_write_p50_us\": {:.0f}, \"in_bare_writes\": {:.1f}}}",
                     ours[count / 2], bare[count / 2], ours[count / 2] / bare[count / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  fmt::print("{{\"jobs\": {}", settings.jobs);
  const auto print = [](const char* name, const std::string& text) {
    fmt::print(",\n \"{}\": {}", name, text);
    std::fflush(stdout);
  };
  if (settings.does("rates"))
    print("runs", fmt::format("[{},{}]", rates(settings, "everysec"), rates(settings, "always")));
  if (settings.does("cluster")) print("masters", cluster(settings));
  if (settings.only == "profile") print("run", profile(settings));
  if (settings.does("one")) print("one_step_job", one_step(settings));
  if (settings.does("memory")) print("bytes_per_open_job", memory(settings));
  if (settings.does("sleeping")) print("sleeping", sleeping(settings));
  fmt::print("}}\n");
}
