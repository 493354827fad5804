// Leg 2: which transitions fire.
#include <algorithm>

#include "base/format.h"
#include "execute/program.h"
#include "execute/scene.h"
#include "execute/values.h"

namespace pawl::execute {
namespace {

bool takes(const graph::Transition& edge, core::ReplyStatus status, std::int32_t code) {
  using On = graph::Transition::On;
  switch (edge.on) {
    case On::not_error:
      return !core::is_error(status);
    case On::anything:
      return true;
    case On::codes:
      return (edge.any_error && core::is_error(status)) ||
             std::find(edge.codes.begin(), edge.codes.end(), code) != edge.codes.end();
  }
  return false;
}

}  // namespace

Result<std::vector<std::uint32_t>> GraphProgram::fired(const core::Sight& sight) const {
  std::vector<std::uint32_t> fired;
  const std::vector<std::uint32_t>& edges = plan_.place(sight.node).out;
  std::optional<Scene> scene;  // most edges have no expression to evaluate
  for (std::uint32_t i = 0; i < edges.size(); ++i) {
    const graph::Transition& edge = plan_.graph->transitions[edges[i]];
    if (!takes(edge, sight.status, sight.code)) continue;
    if (!edge.matches.empty()) {
      if (!scene) scene.emplace(*app_, plan_, sight, sight.node, "fired");
      const auto fire = fires(*scene, edge);
      if (!fire) return fire.error();
      if (!*fire) continue;
    }
    fired.push_back(i);
  }
  return fired;
}

Result<bool> GraphProgram::fires(Scene& scene, const graph::Transition& edge) const {
  const std::string label = format("transition to \"{}\"", plan_.activity(edge.to).id);
  for (const graph::Match& match : edge.matches) {
    const auto actual = scene.evaluate(match.actual, label);
    if (!actual) return actual.error();
    bool same = false;
    if (const auto* literal = std::get_if<json::value>(&match.expected)) {
      same = scene.equal(*actual, *literal);
    } else {
      const auto expected = scene.evaluate(std::get<graph::Formula>(match.expected), label);
      if (!expected) return expected.error();
      same = scene.equal(*actual, *expected);
    }
    if (same == edge.gate_or) return same;  // `or`: one true is enough; `and`: one false is enough
  }
  return !edge.gate_or;
}

}  // namespace pawl::execute
