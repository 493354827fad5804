#include "sim/duplex_scenario.h"
#include "execute/test_graph.h"

#include <algorithm>
#include <cstdlib>

#include "base/format.h"

namespace pawl::sim {

namespace {

using core::ReplyStatus;

std::shared_ptr<const Graph> built(GraphBuilder builder) {
  auto graph = execute::graph_of(builder.collation(Collation::duplex));
  if (!graph) std::abort();
  return std::make_shared<const Graph>(std::move(*graph));
}

DuplexBehaviour pendings(std::uint32_t count) {
  DuplexBehaviour behaviour;
  behaviour.pendings = count;
  return behaviour;
}
DuplexBehaviour error(std::int32_t code) {
  DuplexBehaviour behaviour;
  behaviour.status = ReplyStatus::error;
  behaviour.code = code;
  return behaviour;
}
DuplexBehaviour later(std::uint32_t count = 0) {
  DuplexBehaviour behaviour = pendings(count);
  behaviour.later = true;
  return behaviour;
}
DuplexBehaviour leaves(std::uint32_t count = 0, std::uint32_t forgotten = 0) {
  DuplexBehaviour behaviour = pendings(count);
  behaviour.leaves = true;
  behaviour.forgotten = forgotten;
  return behaviour;
}
DuplexBehaviour late_pending() {
  DuplexBehaviour behaviour;
  behaviour.late_pending = true;
  return behaviour;
}
DuplexBehaviour second_closer() {
  DuplexBehaviour behaviour;
  behaviour.second_closer = true;
  return behaviour;
}

GraphBuilder chain() {
  return GraphBuilder("chain").trigger("t").worker("a", "a").after("t").worker("b", "b").after("a");
}

std::vector<DuplexScenario> make() {
  const auto caught = GraphBuilder("caught")
                          .trigger("t")
                          .worker("a", "a")
                          .after("t")
                          .worker("ok", "ok")
                          .after("a")
                          .worker("refund", "refund")
                          .after("a", Condition::code(402));
  const auto fan_out = GraphBuilder("fan_out")
                           .trigger("t")
                           .worker("a", "a")
                           .after("t")
                           .worker("b", "b")
                           .after("t")
                           .worker("c", "c")
                           .after("t")
                           .worker("d", "d")
                           .after("a")
                           .worker("e", "e")
                           .after("a")
                           .result_of("d");
  const auto siblings = GraphBuilder("siblings").trigger("t").worker("a", "a").after("t").worker("b", "b").after("t");
  return {
      {"trigger_only", built(GraphBuilder("only").trigger("t")), {}, 1, true},
      {"synchronous", built(chain()), {}, 1, true},
      {"asynchronous", built(chain()), {{"a", later()}}, 1, false},
      {"pending", built(chain()), {{"a", pendings(2)}}, 1, false},
      {"asynchronous_pending", built(chain()), {{"a", later(2)}}, 1, false},
      {"by_token", built(chain()), {{"a", leaves()}}, 1, true},
      {"by_token_pending", built(chain()), {{"a", leaves(2)}}, 1, false},
      {"by_token_forgotten", built(chain()), {{"a", leaves(0, 1)}}, 1, false},
      {"interrupted", built(fan_out), {{"a", pendings(1)}, {"b", leaves()}}, 2, false, true},
      {"caught_error", built(caught), {{"a", error(402)}}, 1, false},
      {"uncaught_error", built(chain()), {{"a", error(500)}}, 1, false},
      {"uncaught_beside_a_sibling", built(siblings), {{"b", error(500)}}, 1, false},
      {"two_uncaught_errors", built(siblings), {{"a", error(501)}, {"b", error(500)}}, 1, false},
      {"fan_out", built(fan_out), {}, 1, false},
      {"late_pending", built(chain()), {{"a", late_pending()}}, 1, false},
      {"second_closer", built(chain()), {{"a", second_closer()}}, 1, true},
      {"mixed_jobs", built(fan_out), {{"a", pendings(1)}, {"b", later()}, {"c", late_pending()}}, 3, false},
  };
}

struct Walk {
  const DuplexScenario& scenario;
  DuplexExpected& out;

  bool fires(const core::Condition& when, ReplyStatus status, std::int32_t code) const {
    if (when.kind() == core::Condition::Kind::always) return status != ReplyStatus::error;
    if (when.kind() == core::Condition::Kind::on_error) return status == ReplyStatus::error;
    return std::count(when.code_list().begin(), when.code_list().end(), code) > 0;
  }

  // Whether anything follows; `path` is that of the instance without its last index.
  bool follow(const Graph::Node& node, const std::string& path, std::uint32_t plane, ReplyStatus status,
              std::int32_t code, const Payload& data) {
    bool followed = false;
    for (const Graph::Edge& edge : node.edges) {
      if (!fires(edge.when, status, code)) continue;
      followed = true;
      activity(scenario.graph->nodes()[edge.to], format("{},{}", path, plane), data);
    }
    return followed;
  }

  void activity(const Graph::Node& node, const std::string& path, const Payload& input) {
    const std::string topic = node.topic.raw();
    const DuplexBehaviour& behaviour = scenario.behaviour(topic);
    const std::string key = format("{} at {},0", node.name.raw(), path);
    for (std::uint32_t i = 0; i < behaviour.pendings; ++i)
      follow(node, path, i, ReplyStatus::pending, 202, duplex_reply(topic, input.view(), i));
    const Payload output = duplex_reply(topic, input.view(), std::nullopt);
    const bool errored = behaviour.status == ReplyStatus::error;
    const bool followed = follow(node, path, behaviour.pendings, behaviour.status, behaviour.code, output);
    if (errored && !followed) out.uncaught.push_back(key);
    out.instances[key] = {errored, behaviour.code, output.str(), behaviour.pendings + 1};
    const auto named = scenario.graph->result_of();
    const bool is_result = named ? scenario.graph->nodes()[*named].name == node.name : !followed;
    if (is_result) out.results.push_back(output.str());
  }
};

}  // namespace

const DuplexBehaviour& DuplexScenario::behaviour(const std::string& topic) const {
  static const DuplexBehaviour plain;
  const auto found = behaviours.find(topic);
  return found == behaviours.end() ? plain : found->second;
}

const std::vector<DuplexScenario>& duplex_scenarios() {
  static const std::vector<DuplexScenario> scenarios = make();
  return scenarios;
}

Payload duplex_reply(const std::string& topic, std::string_view input, std::optional<std::uint32_t> pending) {
  return pending ? format("{}>{}#{}", input, topic, *pending) : format("{}>{}", input, topic);
}

DuplexExpected duplex_expected(const DuplexScenario& scenario, const Payload& input) {
  DuplexExpected out;
  Walk walk{scenario, out};
  const Graph::Node& trigger = scenario.graph->nodes()[scenario.graph->trigger()];
  out.instances[format("{} at ,0", trigger.name.raw())] = {false, 200, input.str(), 1};
  if (!walk.follow(trigger, "", 0, ReplyStatus::success, 200, input)) out.results.push_back(input.str());
  return out;
}

}  // namespace pawl::sim
