#include "redis_raw.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "jobs.h"

namespace pawl::bench {

namespace {

using Clock = std::chrono::steady_clock;
namespace redis = store::redis;

// KEYS: those of the lane, then two for each job: its hash and its history. ARGV: the phase, whether there are both
// legs, the activity and the next one, then for each job its run, the guid of the message, the output, the fields of
// the work and a number that grows. What all jobs write into one key is one command.
constexpr std::string_view raw_script = R"lua(#!lua
local call = redis.call
local items, transitions, requests, jobs, ids, runs = unpack(KEYS, 1, 6)
local phase, both, before, next = ARGV[1], ARGV[2] == "both", ARGV[3], ARGV[4]
local key, last = 6, nil
local sets, drops, names, opened, ended = {}, {}, {}, {}, {}
local function put(list, ...)
  local n = #list
  for i = 1, select("#", ...) do list[n + i] = select(i, ...) end
end
for i = 5, #ARGV, 5 do
  local run, guid, output, words, number = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local hash, history = KEYS[key + 1], KEYS[key + 2]
  key, last = key + 2, run
  local is_next = next .. " ,0,0 0 open 0 1763362800000000"
  local is_done = before .. " ,0,0 0 completed 200 1763362800000000 +1000"
  if phase == "start" then
    call("HSET", hash, "ns", "default", "id", run, "graph", "chain", "version", "1 12345678901234567890",
         "at", "1763362800000000",
         "status", "running", "rev", "1", "bundle", number, "semaphore", "1", "head", "0 " .. next, "a:" .. next,
         "1100000000000", "a:" .. next .. ":is", is_next)
    put(opened, 0, "0" .. run)
    put(names, run, run)
  elseif phase == "end" then
    call("HSET", hash, "status", "completed", "rev", next, "bundle", number, "semaphore", "0", "head", "1 " .. next,
         "result", output,
         "a:" .. before, "1111000000001", "a:" .. before .. ":is", is_done, "a:" .. before .. ":out", output,
         "m:" .. before .. ":" .. guid, "111000000000001")
    call("XADD", history, next .. "-0", "did", "closed " .. before)
    put(opened, 0, "1" .. run)
    put(ended, "0" .. run)
  else
    call("HSET", hash, "rev", next, "bundle", number, "head", "0 " .. next, "a:" .. before, "1111000000001",
         "a:" .. before .. ":is", is_done, "a:" .. before .. ":out", output,
         "m:" .. before .. ":" .. guid, "111000000000001",
         "a:" .. next, both and "0" or "1100000000000", "a:" .. next .. ":is", is_next)
    call("XADD", history, next .. "-0", "did", "closed " .. before .. " opened " .. next)
  end
  if both and phase ~= "start" then call("XDEL", requests, number .. "-0") end
  if both and phase ~= "end" then
    call("XADD", transitions, number .. "-1", "run", run, "guid", guid, "input", output)
    call("XDEL", transitions, number .. "-1")
    call("HINCRBY", hash, "a:" .. next, "1100000000000")
    call("XADD", requests, number .. "-1", "run", run, "words", words, "input", output)
  end
  if not both and phase ~= "start" then put(drops, run .. "." .. before, run .. "." .. before .. ":input") end
  if not both and phase ~= "end" then put(sets, run .. "." .. next, words, run .. "." .. next .. ":input", output) end
end
if #ended > 0 then call("ZREM", jobs, unpack(ended)) end
if #opened > 0 then call("ZADD", jobs, unpack(opened)) end
if #names > 0 then
  call("HSET", ids, unpack(names))
  call("SET", runs, last)
end
if #drops > 0 then call("HDEL", items, unpack(drops)) end
if #sets > 0 then call("HSET", items, unpack(sets)) end
return #ARGV)lua";

// One connection with its own part of the jobs: the numbers `part`, `part` + `connections`, and so on.
class Part {
 public:
  Part(redis::Connection& connection, const std::string& digest, const RedisRawSettings& settings, RedisLegs legs,
       std::uint32_t part)
      : connection_(connection), digest_(digest), settings_(settings), legs_(legs), part_(part) {}

  // So many jobs at a time, all of them one step after the other. The start of the next ones goes with the end of the
  // ones before, in one round trip.
  void run(std::uint32_t open) {
    const std::uint32_t jobs = (settings_.jobs - part_ + settings_.connections - 1) / settings_.connections;
    const std::uint32_t group = std::min(settings_.group, open);
    for (std::uint32_t from = 0; from < jobs; from += open) {
      const std::uint32_t to = std::min(from + open, jobs);
      for (std::uint32_t step = from == 0 ? 0 : 1; step <= settings_.activities; ++step)
        for (std::uint32_t first = from; first < to; first += group) {
          redis::Commands commands;
          put(commands, step, first, std::min(first + group, to));
          const std::uint32_t next = first + open;  // in the place of those that end
          if (step == settings_.activities && next < jobs)
            put(commands, 0, next, std::min({next + group, to + open, jobs}));
          for (const redis::Reply& reply : must(connection_.ask(commands)))
            if (reply.is_error()) must(Status(Error{ErrorCode::invalid, reply.text}));
        }
    }
  }

 private:
  // This step of the part's jobs first .. last.
  void put(redis::Commands& commands, std::uint32_t step, std::uint32_t first, std::uint32_t last) {
    const char* phase = step == 0 ? "start" : step == settings_.activities ? "end" : "step";
    std::vector<std::string> keys;
    for (const char* name : {"items", "transitions", "requests", "jobs", "ids", "runs"})
      keys.push_back(fmt::format("raw:{{{}}}:{}", part_, name));
    std::vector<std::string> arguments = {phase, legs_ == RedisLegs::both ? "both" : "fused", fmt::format("{}", step),
                                          fmt::format("{}", step + 1)};
    for (std::uint32_t job = first; job < last; ++job) {
      const std::uint32_t run = part_ + job * settings_.connections;
      keys.push_back(fmt::format("raw:{{{}}}:run:{}", part_, run));
      keys.push_back(fmt::format("raw:{{{}}}:history:{}", part_, run));
      const std::string guid = fmt::format("{:032x}", std::uint64_t{run} * 1'000'003 + step);
      arguments.insert(
          arguments.end(),
          {fmt::format("{:020}", run), guid, output_,
           fmt::format(
               "{:016} 2147483648 - 0 noop 12345678901234567890 {} 2 1234567890123456789 1 0 1 0 0 0 0 worker 0", run,
               guid),
           fmt::format("{}", ++number_)});
    }
    std::vector<std::string> words = {"EVALSHA", digest_, fmt::format("{}", keys.size())};
    words.insert(words.end(), keys.begin(), keys.end());
    words.insert(words.end(), arguments.begin(), arguments.end());
    commands.add(words);
  }

  redis::Connection& connection_;
  const std::string& digest_;
  const RedisRawSettings& settings_;
  const RedisLegs legs_;
  const std::uint32_t part_;
  const std::string output_ = std::string(200, 'x');
  std::uint64_t number_ = 0;
};

}  // namespace

double redis_raw_rate(const RedisServer& server, const RedisRawSettings& settings, RedisLegs legs) {
  const std::string digest = server.ask({"SCRIPT", "LOAD", raw_script}).text;
  std::vector<std::unique_ptr<redis::Connection>> connections;
  for (std::uint32_t i = 0; i < settings.connections; ++i) connections.push_back(server.connect());
  const auto begin = Clock::now();
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < settings.connections; ++i)
    threads.emplace_back([&, i] {
      const std::uint32_t all = settings.jobs;
      const std::uint32_t open = settings.concurrent == 0 ? all : settings.concurrent / settings.connections;
      Part(*connections[i], digest, settings, legs, i).run(std::max(1u, open));
    });
  for (std::thread& thread : threads) thread.join();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  server.ask({"FLUSHALL"});
  return settings.jobs * settings.activities / seconds;
}

std::vector<double> redis_bare_writes(const RedisServer& server, std::uint32_t count) {
  const auto connection = server.connect();
  const std::string value(200, 'x');
  std::vector<double> micros;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto begin = Clock::now();
    must(connection->ask_one({"SET", "bare", value}));
    micros.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::sort(micros.begin(), micros.end());
  return micros;
}

}  // namespace pawl::bench
