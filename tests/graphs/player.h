// Plays a case: a real engine over a real store, scripted workers and signals, a clock that jumps to the next event.
// One thread; the same case gives the same commits, so that each of them can be broken.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/job_state.h"
#include "graphs/case.h"

namespace pawl::graphs {

struct Setting {
  std::string store = "memory";  // graphs/stores.h
  bool fusion = true;
};

// The fault at one commit call.
enum class Break : std::uint8_t { crash_before, crash_after, refused, reply_lost, cut_midway, fenced, repeated };
inline constexpr Break all_breaks[] = {Break::crash_before, Break::crash_after, Break::refused, Break::reply_lost,
                                       Break::cut_midway,   Break::fenced,      Break::repeated};
std::string_view name_of(Break what);
struct Broken {
  Break what = Break::crash_before;
  std::uint64_t call = 0;  // from 1
};

struct PlayedActivity {
  std::string name;
  std::string address;
  std::string ledger;
  std::string status;
  std::int32_t code = 0;
  std::string output;
};
struct PlayedJob {
  std::string status;
  std::string data;
  std::string reason;
  std::int32_t code = 0;
  double took_seconds = 0;
  std::int64_t semaphore = 0;
  std::uint32_t completions = 0;
  std::size_t left = 0;  // messages, timers and work items of a closed job: must be 0
  std::vector<PlayedActivity> activities;
  boost::json::array announced;
};
struct Played {
  std::map<std::string, PlayedJob> jobs;  // by id; the case's own is `main`
  std::string main;
  std::map<std::string, std::uint32_t> calls;  // of workers, by topic
  boost::json::array measures;
  boost::json::array labels;  // those that the case asks for
  std::uint64_t commits = 0;
  std::string problem;  // why it could not be played to its end; empty: no problem
};

// `bad_reads`: how many of a thousand reads of the engine fail, until nothing else happens; random from `seed`.
struct BadReads {
  std::uint32_t per_thousand = 0;
  std::uint64_t seed = 0;
};
Played play(const Case& one, const Setting& setting, std::optional<Broken> broken = std::nullopt,
            BadReads bad_reads = {});

// The differences from what the case expects; empty: none. `broken`: there may be more attempts and calls.
std::string compare(const Case& one, const Played& played, bool broken);

// Everything that a case left, as one text, to compare it with another play: on another store, or unbroken. `broken`:
// without what a fault may add to (attempts, calls of workers, time).
std::string told(const Played& played, bool broken);

}  // namespace pawl::graphs
