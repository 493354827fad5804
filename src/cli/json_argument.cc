#include "cli/json_argument.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "mapping/json_parse.h"

namespace pawl::cli {

namespace {

Result<std::string> read_all(const std::string& what, const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored))
    return Error{ErrorCode::not_found, fmt::format("{}: the file {} cannot be read", what, path)};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

Result<Payload> read_json_argument(const std::string& what, const std::string& argument) {
  std::string text = argument;
  if (argument.starts_with('@')) {
    auto content = read_all(what, argument.substr(1));
    if (!content) return content.error();
    text = std::move(*content);
  }
  if (const auto value = mapping::parse_json(text); !value)
    return Error{ErrorCode::invalid, fmt::format("{} is {}", what, value.error().detail)};
  return Payload(std::move(text));
}

}  // namespace pawl::cli
