#include "cli/app_topics.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <optional>
#include <vector>

namespace pawl::cli {

namespace {

// None: it is computed while the job runs.
std::optional<std::string> literal(const graph::Formula& formula) {
  const boost::json::value* value = formula.expression.literal();
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(value->get_string());
}

class Walk {
 public:
  explicit Walk(const graph::App& app) : app_(app) {}

  WorkTopics from(const graph::Graph& start) {
    reach(start);
    for (std::size_t i = 0; i < reached_.size(); ++i)
      for (const graph::Activity& activity : reached_[i]->activities) look_at(activity);
    return std::move(found_);
  }

 private:
  void reach(const graph::Graph& graph) {
    if (seen_.insert(&graph).second) reached_.push_back(&graph);
  }
  void look_at(const graph::Activity& activity) {
    if (const auto* worker = std::get_if<graph::Worker>(&activity.kind)) {
      if (auto topic = literal(worker->topic))
        found_.topics.insert(std::move(*topic));
      else
        found_.computed = true;
    }
    const auto* await = std::get_if<graph::Await>(&activity.kind);
    if (await == nullptr) return;
    const auto topic = literal(await->topic);
    for (const graph::Graph& graph : app_.graphs)
      if (!topic || graph.subscribes == *topic) reach(graph);
  }

  const graph::App& app_;
  std::set<const graph::Graph*> seen_;
  std::vector<const graph::Graph*> reached_;
  WorkTopics found_;
};

}  // namespace

Result<const graph::Graph*> choose_graph(const graph::App& app, const std::string& topic) {
  std::string topics;
  for (const graph::Graph& graph : app.graphs) {
    if (!topic.empty() && graph.subscribes == topic) return &graph;
    if (topic.empty() && (app.graphs.size() == 1 || !graph.is_private())) return &graph;
    topics += (topics.empty() ? "" : ", ") + graph.subscribes;
  }
  if (topic.empty())
    return Error{ErrorCode::invalid, fmt::format("all graphs of app {} are private; say --topic: {}", app.id, topics)};
  return Error{ErrorCode::not_found,
               fmt::format("no graph of app {} subscribes to {}; its topics: {}", app.id, topic, topics)};
}

bool names_its_jobs(const graph::Graph& graph) {
  for (const graph::Activity& activity : graph.activities)
    if (const auto* trigger = std::get_if<graph::Trigger>(&activity.kind)) return trigger->stats.id.has_value();
  return false;
}

WorkTopics work_topics(const graph::App& app, const graph::Graph& graph) { return Walk(app).from(graph); }

}  // namespace pawl::cli
