#include "graphs/all_cases.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <stdexcept>

namespace pawl::graphs {

namespace {

std::vector<Case> read_all() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(GRAPH_CASES))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<Case> all;
  for (const std::string& file : files) {
    const std::string group = std::filesystem::path(file).stem().string();
    for (Case& one : read_cases(file)) {
      one.name = group + "_" + one.name;
      std::replace_if(
          one.name.begin(), one.name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> all = read_all();
  return all;
}

const Case& case_named(const std::string& name) {
  for (const Case& one : cases())
    if (one.name == name) return one;
  throw std::runtime_error("there is no case " + name);
}

}  // namespace pawl::graphs
