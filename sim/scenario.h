// Scenario: graphs, the jobs that clients want, and what the workers of each topic answer. Data
// only: the world runs it, the model predicts how every job of it must end, whatever fails
// meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/message.h"
#include "pawl/graph.h"
#include "pawl/time.h"
#include "runtime/graph_catalog.h"

namespace pawl::sim {

// What a worker does with a request. It depends on the topic only, so a second run says the same.
struct Behaviour {
  std::uint32_t pendings = 0;  // replies before the last one
  core::ReplyStatus status = core::ReplyStatus::success;
  std::int32_t code = 200;
  std::size_t padding = 0;  // bytes added to each reply
  bool answers_twice = false;
  bool answers_late = false;  // and once more when everybody has forgotten it
  bool kills_engine = false;  // the poison that the limits on re-entry are for
  bool remote = false;        // claimed from the queue by a worker outside the engines
};

struct WantedJob {
  std::string name_space = "default";
  std::string id;
  std::string graph;
  std::uint32_t submits = 1;  // more: duplicates from other clients
  Duration at{0};
};

struct Scenario {
  std::string name;
  runtime::GraphCatalog* graphs = nullptr;      // never null; outlives the scenario
  std::map<std::string, Behaviour> behaviours;  // by topic; a topic not named here succeeds
  std::vector<WantedJob> jobs;
  bool small = false;     // cheap enough for every pair of faults
  bool poisoned = false;  // one job of it must end parked

  const Behaviour& behaviour(const std::string& topic) const;
};

// What the worker of `topic` answers to `input`: a pure function, so every run of a request says
// the same.
Payload reply_data(const std::string& topic, std::string_view input, const Behaviour& behaviour,
                   std::optional<std::uint32_t> pending);

// The scenarios of the boundary tests, built once. Their order is part of the printed commands.
const std::vector<Scenario>& all_scenarios();
const Scenario* find_scenario(const std::string& name);

}  // namespace pawl::sim
