#include "cli/app_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "graph/check.h"

namespace pawl::cli {

namespace {

bool is_app_file(std::string_view name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

}  // namespace

AppWatch::AppWatch(const std::vector<std::string>& files) : descriptor_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (descriptor_ < 0) return;
  for (const std::string& file : files) texts_[file] = read(file);
}

std::string AppWatch::read(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::set<std::filesystem::path> folders{folder};
  std::string text;
  const graph::Checked checked = graph::check_file(file);
  for (std::uint32_t i = 0; i < checked.sources.count(); ++i) {
    const auto& part = checked.sources.file(i);
    text += part.name + '\0' + part.text + '\0';
    folders.insert((folder / part.name).parent_path());
  }
  for (const std::filesystem::path& one : folders) {
    const std::string name = one.empty() ? "." : one.string();
    const int watch = inotify_add_watch(descriptor_, name.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO);
    if (watch >= 0) files_[watch].insert(file);
  }
  return text;
}

AppWatch::~AppWatch() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::vector<std::string> AppWatch::take_changed() {
  std::set<std::string> touched;
  alignas(inotify_event) std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t size = ::read(descriptor_, bytes.data(), bytes.size());
    if (size <= 0) break;
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(size);) {
      inotify_event event;
      std::memcpy(&event, bytes.data() + at, sizeof event);
      const char* name = bytes.data() + at + sizeof event;
      if (event.len > 0 && is_app_file(name)) touched.insert(files_[event.wd].begin(), files_[event.wd].end());
      at += sizeof event + event.len;
    }
  }
  std::vector<std::string> changed;
  for (const std::string& file : touched) {
    std::string text = read(file);
    if (text == texts_[file]) continue;
    texts_[file] = std::move(text);
    changed.push_back(file);
  }
  return changed;
}

}  // namespace pawl::cli
