// pawl eval EXPRESSION --data FILE: evaluates a mapping expression against a document of scopes, as the engine would.
#include "base/clock.h"
#include "base/random.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "mapping/calendar.h"
#include "mapping/data_document.h"
#include "mapping/expression.h"
#include "mapping/json_parse.h"
#include "mapping/json_text.h"
#include "mapping/reference.h"

#include <fmt/format.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>
#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t data_bytes_max = 64 * 1024 * 1024;
constexpr int yaml_depth_max = 64;

constexpr int exit_failed = 1;
constexpr int exit_wrong_input = 2;

struct EvalArguments {
  std::string expression;
  std::string data_path;
  std::string now;
  std::uint64_t seed = 1;
  bool pretty = false;
  bool compact = false;
  bool compat_hotmesh = false;
};

json::value scalar_of(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return json::value(text);  // it was quoted
  if (text == "true") return true;
  if (text == "false") return false;
  const auto number = mapping::parse_json(text);
  if (number && (number->is_int64() || number->is_uint64() || number->is_double())) return *number;
  return json::value(text);
}

Result<json::value> value_of(const YAML::Node& node, int depth) {
  if (depth > yaml_depth_max) return Error{ErrorCode::over_limit, "YAML nests too deep"};
  if (node.IsSequence()) {
    json::array out;
    for (const YAML::Node& element : node) {
      auto value = value_of(element, depth + 1);
      if (!value) return value;
      out.push_back(std::move(*value));
    }
    return json::value(std::move(out));
  }
  if (node.IsMap()) {
    json::object out;
    for (const auto& member : node) {
      auto value = value_of(member.second, depth + 1);
      if (!value) return value;
      out.insert_or_assign(member.first.Scalar(), std::move(*value));
    }
    return json::value(std::move(out));
  }
  return node.IsScalar() ? scalar_of(node) : json::value();
}

// JSON, a bare {reference}, or YAML, in this order: {a.b} is a reference although YAML has a
// meaning for it.
Result<json::value> parse_expression(const std::string& text) {
  auto as_json = mapping::parse_json(text);
  if (as_json) return as_json;
  const bool braces = text.size() > 2 && text.front() == '{' && text.back() == '}';
  const auto read = mapping::read_source_text(text);
  if (braces && !std::holds_alternative<mapping::WrongText>(read)) return json::value(text);
  try {
    return value_of(YAML::Load(text), 0);
  } catch (const YAML::Exception& problem) {
    return Error{ErrorCode::invalid, fmt::format("the expression is neither JSON nor YAML: {}", problem.what())};
  }
}

Result<json::value> read_data(const std::string& path) {
  if (path.empty()) return json::value(json::object());
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) return Error{ErrorCode::not_found, fmt::format("cannot read {}", path)};
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string text;
  char chunk[65536];
  while (in.read(chunk, sizeof chunk) || in.gcount() > 0) {
    text.append(chunk, static_cast<std::size_t>(in.gcount()));
    if (text.size() > data_bytes_max)
      return Error{ErrorCode::over_limit, fmt::format("{} is larger than {} bytes", path, data_bytes_max)};
  }
  auto value = mapping::parse_json(text);
  if (!value) return Error{value.error().code, fmt::format("{}: {}", path, value.error().detail)};
  if (!value->is_object())
    return Error{ErrorCode::invalid, fmt::format("{}: wants an object of scopes, such as {{\"$job\": ...}}", path)};
  return value;
}

Result<Instant> read_now(const std::string& text) {
  if (text.empty()) return SystemClock().now();
  const auto date = mapping::parse_date(text);
  if (!date) return Error{ErrorCode::invalid, fmt::format("--now: \"{}\" is not a date", text)};
  return Instant::from_micros(static_cast<std::int64_t>(*date) * 1000);
}

int fail_eval(int exit_code, const Error& error) {
  fmt::print(stderr, "pawl eval: {}\n", printable(to_string(error)));
  return exit_code;
}

void report(const std::vector<mapping::Mistake>& mistakes) {
  for (const mapping::Mistake& mistake : mistakes) {
    fmt::print(stderr, "{}{}: {}\n", mistake.path.empty() ? "/" : printable(mistake.path),
               mistake.at == 0 ? "" : fmt::format(" at character {}", mistake.at + 1), printable(mistake.message));
    if (!mistake.suggestion.empty()) fmt::print(stderr, "  did you mean {}\n", printable(mistake.suggestion));
  }
}

int run_eval(const EvalArguments& options) {
  const auto source = parse_expression(options.expression);
  if (!source) return fail_eval(exit_wrong_input, source.error());
  const auto document = read_data(options.data_path);
  if (!document) return fail_eval(exit_wrong_input, document.error());
  const auto now = read_now(options.now);
  if (!now) return fail_eval(exit_wrong_input, now.error());

  const auto compiled = mapping::compile(*source, {.compat_hotmesh = options.compat_hotmesh});
  report(compiled.mistakes);
  report(compiled.doubts);
  if (!compiled.expression) return exit_wrong_input;
  const mapping::DataDocument view(*document);
  Random random(options.seed);
  mapping::Data data = view.data();
  data.now = *now;
  data.random = &random;
  mapping::Budget budget;
  const auto result = compiled.expression->evaluate(data, budget);
  if (!result) return fail_eval(exit_failed, result.error());

  const bool pretty = options.pretty || (!options.compact && isatty(STDOUT_FILENO) == 1);
  fmt::print("{}\n", printable_json(mapping::json_text(*result, pretty ? "  " : "")));
  return 0;
}

}  // namespace

void add_eval(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<EvalArguments>();  // outlives this function inside the callback
  CLI::App* command = app.add_subcommand("eval", "Evaluate a mapping expression (docs/MAPPING.md)");
  command->add_option("expression", options->expression, "JSON, YAML or a bare {reference}")->required();
  command->add_option("--data", options->data_path, "JSON file with the scopes to read, - for standard input");
  command->add_option("--now", options->now, "The time that dates and cron see, ISO 8601 (default: the clock)");
  command->add_option("--seed", options->seed, "The seed of math.random")->capture_default_str();
  auto* pretty = command->add_flag("--pretty", options->pretty, "Indent (the default on a terminal)");
  command->add_flag("--compact", options->compact, "One line (the default elsewhere)")->excludes(pretty);
  command->add_flag("--compat-hotmesh", options->compat_hotmesh, "Behave as the original dialect does");
  command->callback([options, &exit_code] { exit_code = run_eval(*options); });
}

}  // namespace pawl::cli
