#include "execute/stats.h"

#include <cstdlib>
#include <set>
#include <utility>

#include "base/format.h"
#include "base/limits.h"
#include "execute/metadata.h"
#include "execute/values.h"
#include "mapping/calendar.h"
#include "mapping/json_text.h"

namespace pawl::execute {
namespace {

const graph::Activity& trigger_of(const graph::Graph& graph) { return graph.activities[graph.topology.trigger]; }

class Collector {
 public:
  Collector(const graph::Graph& graph, const json::value& input, Instant created)
      : graph_(graph), trigger_(trigger_of(graph)), input_(input), created_(created) {}

  Result<JobStats> collect() {
    const auto& kind = std::get<graph::Trigger>(trigger_.kind);
    const graph::Stats& stats = kind.stats;
    auto key = stats_key(graph_, input_, created_);
    if (!key) return key.error();
    key_ = std::move(*key);
    slice_ = slice_of(created_, stats.granularity);
    if (stats.key) found_.labels.push_back({key_, "", ""});
    Status read = label("", "entity", kind.entity, "entity");
    if (read) read = label("", "parent", stats.parent, "stats.parent");
    if (read) read = label("", "adjacent", stats.adjacent, "stats.adjacent");
    for (std::size_t i = 0; read && i < stats.measures.size(); ++i) read = measure(stats.measures[i], i);
    if (!read) return read.error();
    return std::move(found_);
  }

 private:
  Status label(const std::string& key, const std::string& name, const graph::OptionalFormula& formula,
               std::string_view place) {
    if (!formula) return {};
    auto value = evaluate_stats(trigger_, *formula, place, input_, created_);
    if (!value) return value.error();
    if (value->is_null()) return {};
    auto text = label_text(*value);
    if (!text) return name_place(trigger_, place, text.error());
    found_.labels.push_back({key, name, std::move(*text)});
    return {};
  }

  Status measure(const graph::Measurement& one, std::size_t index) {
    if (!one.target) {
      add({key_, slice_, "", std::nullopt, 1});
      return {};
    }
    const std::string place = format("stats.measures[{}].target", index);
    const std::string name = name_of_target(*one.target, index);
    if (one.measure == graph::Measure::index) return label(key_, name, one.target, place);
    auto value = evaluate_stats(trigger_, *one.target, place, input_, created_);
    if (!value) return value.error();
    if (value->is_null()) return {};  // a job without the value is not measured
    const bool is_number = value->is_number();
    if (one.measure != graph::Measure::count && !is_number)
      return name_place(trigger_, place, {ErrorCode::invalid, format("wants a number, got {}", kind_of(*value))});
    if (one.measure == graph::Measure::count || one.measure == graph::Measure::mdn) {
      auto text = label_text(*value);
      if (!text) return name_place(trigger_, place, text.error());
      add({key_, slice_, name, std::move(*text), is_number ? value->to_number<double>() : 1});
      return {};
    }
    add({key_, slice_, name, std::nullopt, value->to_number<double>()});
    return {};
  }

  // Two measures of one target share a stored row.
  void add(core::Measure measure) {
    if (seen_.emplace(measure.target, measure.value).second) found_.measures.push_back(std::move(measure));
  }

  const graph::Graph& graph_;
  const graph::Activity& trigger_;
  const json::value& input_;
  const Instant created_;
  std::string key_, slice_;
  JobStats found_;
  std::set<std::pair<std::string, std::optional<std::string>>> seen_;
};

}  // namespace

Result<std::string> label_text(const json::value& value) {
  std::string text = value.is_string() ? std::string(view(value.get_string())) : mapping::json_text(value);
  if (text.size() <= limits::label_bytes_max) return text;
  return Error{ErrorCode::over_limit,
               format("has {} bytes; at most {} are allowed", text.size(), limits::label_bytes_max)};
}

bool has_stats(const graph::Graph& graph) {
  const auto& kind = std::get<graph::Trigger>(trigger_of(graph).kind);
  const graph::Stats& stats = kind.stats;
  return stats.key || !stats.measures.empty() || kind.entity || stats.parent || stats.adjacent;
}

Result<JobStats> stats_of(const graph::Graph& graph, const json::value& input, Instant created) {
  if (!has_stats(graph)) return JobStats{};
  return Collector(graph, input, created).collect();
}

Result<std::string> stats_key(const graph::Graph& graph, const json::value& input, Instant now) {
  const graph::Activity& trigger = trigger_of(graph);
  const graph::OptionalFormula& formula = std::get<graph::Trigger>(trigger.kind).stats.key;
  if (!formula) return std::string();
  auto value = evaluate_stats(trigger, *formula, "stats.key", input, now);
  if (!value) return value.error();
  if (value->is_null()) return std::string();
  auto text = label_text(*value);
  if (!text) return name_place(trigger, "stats.key", text.error());
  return text;
}

std::string slice_of(Instant created, std::string_view granularity) {
  if (granularity == "infinity") return "0";
  int minutes = 60;
  if (granularity != "1h") minutes = std::atoi(std::string(granularity).c_str());
  const auto fields = mapping::fields_of(mapping::date_of(created));
  const auto at = [&](mapping::DateField field) { return static_cast<int>(fields[static_cast<std::size_t>(field)]); };
  using mapping::DateField;
  const int minute = at(DateField::minute) / minutes * minutes;
  return format("{:04}{:02}{:02}{:02}{:02}", at(DateField::year), at(DateField::month) + 1, at(DateField::day),
                at(DateField::hour), minute);
}

std::string name_of_target(const graph::Formula& target, std::size_t index) {
  const auto& references = target.expression.references();
  if (references.size() == 1 && !references.front().parts.empty()) return references.front().parts.back();
  return format("target{}", index);
}

}  // namespace pawl::execute
