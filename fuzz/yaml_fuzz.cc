// Any bytes as an app: the check must end, within limits, and what it accepts must be drawable.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/invariant.h"
#include "graph/check.h"
#include "graph/draw/draw.h"
#include "graph/report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pawl;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const bool hotmesh : {false, true}) {
    const auto checked = graph::check_text(text, {.force_hotmesh = hotmesh});
    invariant(checked.app || !checked.mistakes.empty(), "a refusal says why");
    invariant(!graph::report_text(checked, graph::Colours::on).empty(), "a report has words");
    invariant(!graph::report_json(checked).empty(), "a report has words");
    if (!checked.app) continue;
    graph::Graphs graphs;
    for (const auto& one : checked.app->graphs) graphs.push_back(&one);
    invariant(!graph::draw_svg(graphs).empty(), "an app has a picture");
    invariant(!graph::draw_mermaid(graphs).empty(), "an app has a picture");
    invariant(!graph::draw_text(graphs).empty(), "an app has a picture");
  }
  return 0;
}
