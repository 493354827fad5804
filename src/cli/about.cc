// pawl about: what this binary is, what it was built with, and its limits.
#include <fmt/format.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <CLI/CLI.hpp>

#include <boost/json.hpp>
#include <boost/version.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "cli/commands.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

std::vector<std::pair<std::string, std::string>> libraries() {
  const int pq = PQlibVersion();
  return {{"SQLite", sqlite3_libversion()},
          {"libpq", fmt::format("{}.{}", pq / 10000, pq % 10000)},
          {"Boost", fmt::format("{}.{}.{}", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)}};
}

std::string build() {
#if defined(__clang__)
  std::string text = fmt::format("clang {}.{}", __clang_major__, __clang_minor__);
#else
  std::string text = fmt::format("g++ {}.{}", __GNUC__, __GNUC_MINOR__);
#endif
#ifdef NDEBUG
  text += ", release";
#endif
#if defined(__SANITIZE_ADDRESS__)
  text += ", address sanitizer";
#elif defined(__SANITIZE_THREAD__)
  text += ", thread sanitizer";
#endif
  return text;
}

std::vector<std::pair<std::string, std::uint64_t>> bounds() {
  return {{"payload_bytes_max", limits::payload_bytes_max},
          {"name_bytes_max", limits::name_bytes_max},
          {"reason_bytes_max", limits::reason_bytes_max},
          {"submits_waiting_max", limits::submits_waiting_max},
          {"early_signals_per_mailbox_max", limits::early_signals_per_mailbox_max},
          {"early_signal_bytes_per_mailbox_max", limits::early_signal_bytes_per_mailbox_max}};
}

int about(bool as_json) {
  if (as_json) {
    json::object with, most;
    for (const auto& [name, version] : libraries()) with[name] = version;
    for (const auto& [name, value] : bounds()) most[name] = value;
    fmt::print("{}\n", json::serialize(json::object{
                           {"version", PAWL_VERSION}, {"build", build()}, {"libraries", with}, {"limits", most}}));
    return 0;
  }
  fmt::print("pawl {}\nbuilt with {}\n", PAWL_VERSION, build());
  for (const auto& [name, version] : libraries()) fmt::print("  {:<10} {}\n", name, version);
  fmt::print("limits\n");
  for (const auto& [name, value] : bounds()) fmt::print("  {:<36} {}\n", name, value);
  return 0;
}

}  // namespace

void add_about(CLI::App& app, int& exit_code) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("about", "What this binary is, what it was built with, and its limits");
  command->add_flag("--json", *as_json, "Machine-readable output");
  command->callback([as_json, &exit_code] { exit_code = about(*as_json); });
}

}  // namespace pawl::cli
