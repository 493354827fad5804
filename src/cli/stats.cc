// pawl stats: the measures of a graph's jobs, by key and slice of time.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <memory>

#include "base/quote.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/job_target.h"
#include "cli/terminal.h"

namespace pawl::cli {

namespace {

struct StatsArguments {
  StoreOptions store;
  MeasureFilter filter;
  std::string key;
  bool of_key = false;
};

// Sums may become too large for JSON.
std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

std::string json_of(const MeasureView& view) {
  std::string text = fmt::format(R"({{"key":{},"slice":{},"target":{},"count":{})", json_quoted(view.key),
                                 json_quoted(view.slice), json_quoted(view.target), view.count);
  if (view.sum)
    text += fmt::format(R"(,"sum":{},"avg":{},"min":{},"max":{})", number(*view.sum),
                        number(*view.sum / static_cast<double>(view.count)), number(*view.least), number(*view.most));
  if (view.median) text += fmt::format(R"(,"mdn":{})", number(*view.median));
  if (!view.values.empty()) {
    text += ",\"values\":{";
    for (std::size_t i = 0; i < view.values.size(); ++i)
      text += fmt::format("{}{}:{}", i == 0 ? "" : ",", json_quoted(view.values[i].first), view.values[i].second);
    text += "}";
  }
  return text + "}";
}

constexpr std::size_t values_shown_max = 8;

std::string text_of(const MeasureView& view) {
  std::string text = fmt::format("count {}", view.count);
  if (view.sum)
    text += fmt::format("  sum {}  avg {:.6g}  min {}  max {}", number(*view.sum),
                        *view.sum / static_cast<double>(view.count), number(*view.least), number(*view.most));
  if (view.median) return text + fmt::format("  mdn {}", number(*view.median));
  for (std::size_t i = 0; i < view.values.size() && i < values_shown_max; ++i)
    text += fmt::format("  {}: {}", printable(view.values[i].first), view.values[i].second);
  if (view.values.size() > values_shown_max)
    text += fmt::format("  and {} more values (--json shows them)", view.values.size() - values_shown_max);
  return text;
}

int run_stats(StatsArguments& options) {
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("stats", runtime.error());
  if (options.of_key) options.filter.key = options.key;
  const auto views = runtime->measures(options.filter);
  if (!views) return fail("stats", views.error());
  if (options.store.json) {
    fmt::print("[");
    for (std::size_t i = 0; i < views->size(); ++i) fmt::print("{}{}", i == 0 ? "" : ",\n ", json_of((*views)[i]));
    fmt::print("]\n");
    return 0;
  }
  const Paint paint = Paint::for_stdout(!options.store.no_color);
  std::string key = "\n";  // no real key has this value
  for (const MeasureView& view : *views) {
    if (view.key != key) fmt::print("{}\n", paint(Ink::bold, view.key.empty() ? "(no key)" : printable(view.key)));
    key = view.key;
    fmt::print("  {}  {:<16} {}\n", paint(Ink::dim, fmt::format("{:<12}", view.slice == "0" ? "all time" : view.slice)),
               view.target.empty() ? "jobs" : view.target, text_of(view));
  }
  if (views->empty())
    fmt::print("{}\n", paint(Ink::dim, "nothing was measured: the graph's trigger says what under stats.measures"));
  return 0;
}

}  // namespace

void add_stats(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<StatsArguments>();
  CLI::App* command = app.add_subcommand("stats", "Show what was measured of a graph's jobs (stats.measures)");
  command->add_option("topic", options->filter.topic, "What the graph subscribes to")->required();
  add_remote_options(*command, options->store);
  auto* key = command->add_option("--key", options->key, "Only this key (default: all)");
  command->add_option("--from", options->filter.from, "The first slice, such as 202402291305");
  command->add_option("--to", options->filter.to, "The last slice");
  command->add_option("--namespace", options->filter.name_space, "The namespace")->capture_default_str();
  command->add_option("--rows", options->filter.rows_max, "Stored rows to read at the most")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command->callback([options, key, &exit_code] {
    options->of_key = key->count() > 0;
    exit_code = run_stats(*options);
  });
}

}  // namespace pawl::cli
