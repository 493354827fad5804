// Shared by the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "graph/check.h"
#include "graph/report.h"

namespace pawl::graph {

// One mistake as "G101 12:7", warnings with a w in front.
inline std::vector<std::string> codes_of(const Checked& checked) {
  std::vector<std::string> out;
  for (const Mistake& mistake : checked.mistakes)
    out.push_back((mistake.severity == Severity::warning ? "w" : "") + id_of(mistake.code));
  return out;
}

inline std::string indented(std::string_view text, std::size_t by) {
  std::string out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (!line.empty()) out += std::string(by, ' ') + std::string(line);
    out += '\n';
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return out;
}

// An app of one graph; `graph` is the text below its list item, without indentation.
inline std::string app_with(std::string_view graph, std::string_view app_keys = "") {
  return "app:\n  id: test\n  version: \"1\"\n" + indented(app_keys, 2) + "  graphs:\n    - subscribes: test.start\n" +
         indented(graph, 6);
}

inline Checked check_graph(std::string_view graph, std::string_view app_keys = "") {
  return check_text(app_with(graph, app_keys));
}

inline std::string report_of(const Checked& checked) { return report_text(checked, Colours::off); }

}  // namespace pawl::graph
