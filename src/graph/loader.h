// Where the text of an app comes from: a folder, or memory (tests, fuzzers, an upload).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "pawl/result.h"

namespace pawl::graph {

// `name` is relative to the app's folder, with / between its parts and no "." or ".." left in it.
class Loader {
 public:
  virtual ~Loader() = default;
  virtual Result<std::string> read(std::string_view name) const = 0;
};

class MemoryLoader final : public Loader {
 public:
  explicit MemoryLoader(std::map<std::string, std::string, std::less<>> files);
  Result<std::string> read(std::string_view name) const override;

 private:
  std::map<std::string, std::string, std::less<>> files_;
};

// Reads regular files below `folder`, and only those: a symbolic link that leads outside is not
// found.
class FolderLoader final : public Loader {
 public:
  explicit FolderLoader(std::string folder);
  Result<std::string> read(std::string_view name) const override;

 private:
  std::string folder_;
};

// The path that `ref` means in the file `from`; `invalid` when it leaves the app's folder.
Result<std::string> join_inside(std::string_view from, std::string_view ref);

}  // namespace pawl::graph
