#include "graph/loader.h"

#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "base/format.h"
#include "graph/limits.h"

namespace pawl::graph {
namespace fs = std::filesystem;

MemoryLoader::MemoryLoader(std::map<std::string, std::string, std::less<>> files) : files_(std::move(files)) {}

Result<std::string> MemoryLoader::read(std::string_view name) const {
  const auto found = files_.find(name);
  if (found == files_.end()) return Error{ErrorCode::not_found, format("there is no file {}", name)};
  return found->second;
}

FolderLoader::FolderLoader(std::string folder) : folder_(std::move(folder)) {}

Result<std::string> FolderLoader::read(std::string_view name) const {
  std::error_code failed;
  const fs::path root = fs::canonical(folder_.empty() ? "." : folder_, failed);
  if (failed) return Error{ErrorCode::not_found, format("there is no folder {}", folder_)};
  const fs::path path = fs::canonical(root / fs::path(std::string(name)), failed);
  if (failed) return Error{ErrorCode::not_found, format("there is no file {}", name)};
  const fs::path inside = path.lexically_relative(root);
  if (inside.empty() || *inside.begin() == "..")
    return Error{ErrorCode::invalid, format("{} leads out of the app's folder", name)};
  if (!fs::is_regular_file(path, failed)) return Error{ErrorCode::invalid, format("{} is not a file", name)};

  std::ifstream stream(path, std::ios::binary);
  if (!stream) return Error{ErrorCode::not_found, format("{} cannot be opened", name)};
  // One byte more than allowed is enough to say "too large".
  std::string text(file_bytes_max + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) return Error{ErrorCode::invalid, format("{} cannot be read", name)};
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

Result<std::string> join_inside(std::string_view from, std::string_view ref) {
  const Error outside{ErrorCode::invalid, format("'{}' is outside the app's folder", ref)};
  if (ref.empty() || ref.front() == '/' || ref.find('\\') != std::string_view::npos ||
      ref.find(':') != std::string_view::npos || ref.find('\0') != std::string_view::npos)
    return outside;
  std::vector<std::string_view> parts;
  const auto append = [&parts](std::string_view path) {
    while (!path.empty()) {
      const auto slash = path.find('/');
      const std::string_view part = path.substr(0, slash);
      path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
      if (part.empty() || part == ".") continue;
      if (part != "..") {
        parts.push_back(part);
      } else if (parts.empty()) {
        return false;
      } else {
        parts.pop_back();
      }
    }
    return true;
  };
  const auto slash = from.rfind('/');
  if (slash != std::string_view::npos && !append(from.substr(0, slash))) return outside;
  if (!append(ref) || parts.empty()) return outside;
  std::string out;
  for (const std::string_view part : parts) {
    if (!out.empty()) out += '/';
    out += part;
  }
  return out;
}

}  // namespace pawl::graph
