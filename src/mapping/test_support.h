// Shared by the tests of this folder: compile and evaluate in one call, and reading files of the tree.
#pragma once

#include "base/random.h"
#include "mapping/data_document.h"
#include "mapping/expression.h"
#include "mapping/json_parse.h"
#include "mapping/json_text.h"

#include <gtest/gtest.h>
#include <boost/json/value.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace pawl::mapping {

inline boost::json::value json_of(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << text;
  return value ? std::move(*value) : boost::json::value();
}

inline std::string read_tree_file(const std::string& path) {
  std::ifstream file(std::string(PAWL_SOURCE_DIR "/") + path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// 2024-02-29T13:05:09.007Z: a leap day, so that month arithmetic shows.
inline constexpr Instant test_now = Instant::from_micros(1709211909007000);

inline std::string describe(const std::vector<Mistake>& mistakes) {
  std::string out;
  for (const Mistake& m : mistakes)
    out += "[" + m.path + (m.at == 0 ? "" : "@" + std::to_string(m.at)) + "] " + m.message +
           (m.suggestion.empty() ? "" : " -> " + m.suggestion) + "\n";
  return out;
}

// The result as JSON text, or "error: <code>: <detail>", or the mistakes.
inline std::string evaluate_value(const boost::json::value& source, const boost::json::value& data,
                                  const CompileOptions& options = {}) {
  const CompileResult compiled = compile(source, options);
  if (!compiled.expression) return "mistakes: " + describe(compiled.mistakes);
  const DataDocument document(data);
  Random random(7);
  Data view = document.data();
  view.now = test_now;
  view.random = &random;
  Budget budget;
  const auto result = compiled.expression->evaluate(view, budget);
  if (!result) return "error: " + to_string(result.error());
  return json_text(*result);
}

inline std::string evaluate_text(std::string_view source, std::string_view data = "{}",
                                 const CompileOptions& options = {}) {
  return evaluate_value(json_of(source), json_of(data), options);
}

}  // namespace pawl::mapping
