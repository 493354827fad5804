// Puts the figures of all benchmarks beside the facts of their machine.
//
//   bench_report RESULTS_DIR OUTPUT
//
// Reads what each benchmark printed (RESULTS_DIR/*.json), measures the time of a sync in that directory, and writes
// OUTPUT.json (everything) and OUTPUT.md (a page for people).
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <boost/json.hpp>

namespace {

namespace json = boost::json;
namespace fs = std::filesystem;
constexpr int syncs = 200;

[[noreturn]] void die(const std::string& why) {
  fmt::print(stderr, "bench_report: {}\n", why);
  std::exit(1);
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The text after the colon of the first line that begins with `key`.
std::string line_of(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const auto at = line.find_first_not_of(" \t:", key.size());
    return at == std::string::npos ? "" : line.substr(at);
  }
  return "unknown";
}

std::string file_system_of(const fs::path& directory) {
  struct statfs facts {};
  if (statfs(directory.c_str(), &facts) != 0) return "unknown";
  switch (static_cast<unsigned long>(facts.f_type)) {
    case 0xef53:
      return "ext4";
    case 0x58465342:
      return "xfs";
    case 0x9123683e:
      return "btrfs";
    case 0x2fc12fc1:
      return "zfs";
    case 0x01021994:
      return "tmpfs";
    case 0x794c7630:
      return "overlayfs";
    default:
      return fmt::format("type {:#x}", static_cast<unsigned long>(facts.f_type));
  }
}

// 4 KiB appended and synced, as SQLite's log does it: microseconds, sorted.
std::vector<double> sync_times(const fs::path& directory) {
  const fs::path path = directory / fmt::format("sync-{}", getpid());
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) die("cannot write into " + directory.string());
  const std::array<char, 4096> page{};
  std::vector<double> times;
  for (int i = 0; i < syncs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (write(file, page.data(), page.size()) != static_cast<ssize_t>(page.size()) || fdatasync(file) != 0)
      die("cannot sync in " + directory.string());
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  close(file);
  fs::remove(path);
  std::sort(times.begin(), times.end());
  return times;
}

json::object machine_facts(const fs::path& directory) {
  utsname system{};
  uname(&system);
  const auto times = sync_times(directory);
  const auto rounded = [](double micros) { return static_cast<double>(static_cast<long>(micros * 10)) / 10; };
  return {{"processor", line_of("/proc/cpuinfo", "model name")},
          {"cores", std::thread::hardware_concurrency()},
          {"memory", line_of("/proc/meminfo", "MemTotal")},
          {"kernel", fmt::format("{} {}", system.sysname, system.release)},
          {"file_system", file_system_of(directory)},
          {"fdatasync_p50_us", rounded(times[syncs / 2])},
          {"fdatasync_p99_us", rounded(times[syncs * 99 / 100])}};
}

std::string shown(const json::value& value) {
  if (value.is_double()) return fmt::format("{:.6g}", value.as_double());
  return value.is_string() ? std::string(value.as_string()) : json::serialize(value);
}

// One line per figure; nested figures have names with a dot.
void add_lines(std::string& page, const std::string& prefix, const json::object& figures) {
  for (const auto& [key, value] : figures) {
    const std::string name = prefix.empty() ? std::string(key) : prefix + "." + std::string(key);
    if (const auto* nested = value.if_object())
      add_lines(page, name, *nested);
    else
      page += fmt::format("| {} | {} |\n", name, shown(value));
  }
}

// Google Benchmark's format, reduced to the time of each benchmark.
json::object simplified(const json::object& printed) {
  const auto* all = printed.if_contains("benchmarks");
  if (all == nullptr) return printed;
  json::object figures;
  for (const json::value& one : all->as_array()) {
    const json::object& benchmark = one.as_object();
    figures[std::string(benchmark.at("name").as_string()) + "_" + std::string(benchmark.at("time_unit").as_string())] =
        benchmark.at("cpu_time");
  }
  return figures;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) die("usage: bench_report RESULTS_DIR OUTPUT");
  const fs::path results = argv[1];
  const std::string output = argv[2];
  json::object all;
  all["machine"] = machine_facts(results);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(results))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    boost::system::error_code failed;
    const json::value printed = json::parse(text_of(file), failed);
    if (failed || !printed.is_object()) die(file.string() + " is not a JSON object");
    all[file.stem().string()] = simplified(printed.as_object());
  }
  std::string page =
      "# Figures of one machine\n\nWritten by `scripts/bench BUILD_DIR OUTPUT`; compare ratios, not machines. The raw "
      "figures are the\nsame rows written by hand, without an engine, in the same run.\n";
  for (const auto& [name, figures] : all) {
    page += fmt::format("\n## {}\n\n| figure | value |\n|---|---|\n", std::string_view(name));
    add_lines(page, "", figures.as_object());
  }
  std::ofstream(output + ".md") << page;
  std::ofstream(output + ".json") << json::serialize(all) << "\n";
  fmt::print("{0}.md and {0}.json\n", output);
  return 0;
}
