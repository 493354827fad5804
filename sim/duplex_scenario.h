// Scenarios of the duplex simulator: graphs under collation duplex, their jobs, and the replies of the workers. The
// model predicts how each job must end, without any code of the engine.
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

// It depends on the topic only, so a second attempt gives the same reply.
struct DuplexBehaviour {
  std::uint32_t pendings = 0;  // replies before the last one
  core::ReplyStatus status = core::ReplyStatus::success;
  std::int32_t code = 200;
  bool later = false;           // the request is acknowledged first; the reply comes from outside
  bool leaves = false;          // the worker returns without a reply, and the holder of the token replies
  std::uint32_t forgotten = 0;  // this many times the holder does not reply
  bool late_pending = false;    // one more pending reply after the activity is closed
  bool second_closer = false;   // another message concludes the activity too, under another guid
};

struct DuplexScenario {
  std::string name;
  std::shared_ptr<const Graph> graph;
  std::map<std::string, DuplexBehaviour> behaviours;  // by topic; a topic not named here succeeds
  std::uint32_t jobs = 1;
  bool small = false;        // cheap enough for every pair of faults
  bool interrupted = false;  // the first job is interrupted from outside at some time

  const DuplexBehaviour& behaviour(const std::string& topic) const;
};

const std::vector<DuplexScenario>& duplex_scenarios();

// The reply of a worker of `topic` to `input`; none: its final reply.
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
  std::vector<std::string> uncaught;          // instances whose error no transition catches: one of them fails the job
  std::vector<std::string> results;           // any of these
};
DuplexExpected duplex_expected(const DuplexScenario& scenario, const Payload& input);

}  // namespace pawl::sim
