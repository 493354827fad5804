// Scenarios of the duplex simulator: graphs under collation duplex, their jobs, and what the workers answer. The model
// says how each must end, computed without any code of the engine.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/graph.h"
#include "core/message.h"
#include "pawl/payload.h"

namespace pawl::sim {

using core::Graph;

// It depends on the topic only, so a second run says the same.
struct DuplexBehaviour {
  std::uint32_t pendings = 0;  // replies before the last one
  core::ReplyStatus status = core::ReplyStatus::success;
  std::int32_t code = 200;
  bool later = false;           // the request is acknowledged first and answered from outside
  bool leaves = false;          // the worker leaves its request, and whoever has the token answers
  std::uint32_t forgotten = 0;  // so many times nobody does
  bool late_pending = false;    // one more pending reply when the activity is closed already
  bool second_closer = false;   // somebody else concludes the activity too, under another guid
};

struct DuplexScenario {
  std::string name;
  std::shared_ptr<const Graph> graph;
  std::map<std::string, DuplexBehaviour> behaviours;  // by topic; a topic not named here succeeds
  std::uint32_t jobs = 1;
  bool small = false;        // cheap enough for every pair of faults
  bool interrupted = false;  // somebody ends the first job from outside, some time

  const DuplexBehaviour& behaviour(const std::string& topic) const;
};

const std::vector<DuplexScenario>& duplex_scenarios();

// What a worker of `topic` says to `input`; none: its last word.
Payload duplex_reply(const std::string& topic, std::string_view input, std::optional<std::uint32_t> pending);

struct DuplexExpected {
  struct Instance {
    bool errored = false;
    std::int32_t code = 0;
    std::string output;
    std::uint32_t exits = 0;
    friend bool operator==(const Instance&, const Instance&) = default;
  };
  std::map<std::string, Instance> instances;  // "name at ,0,0"; of a job that completes
  std::vector<std::string> uncaught;          // instances whose error nobody catches: one of them fails the job
  std::vector<std::string> results;           // any of these
};
DuplexExpected duplex_expected(const DuplexScenario& scenario, const Payload& input);

}  // namespace pawl::sim
