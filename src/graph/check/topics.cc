#include <boost/json.hpp>

#include "base/format.h"
#include "graph/check/structure.h"

namespace pawl::graph {
namespace {

using Topics = std::vector<std::string_view>;

struct Known {
  Topics graphs;
  Topics duplex;  // of these, graphs that no other job can start
  Topics hooks;
};

void check_topic(const Formula& topic, const Topics& known, std::string_view what, Mistakes& mistakes) {
  const boost::json::value* literal = topic.expression.literal();
  if (literal == nullptr || !literal->is_string()) return;  // computed: known at run time
  const std::string_view name(literal->get_string().data(), literal->get_string().size());
  for (const std::string_view candidate : known)
    if (candidate == name) return;
  mistakes.add({.code = Code::unknown_topic,
                .mark = topic.where.mark,
                .path = topic.where.path,
                .message = format("no {} of this app has the topic '{}'", what, name),
                .suggestion = nearest(name, known)});
}

// A child and its parent send messages through inboxes, which jobs under duplex do not have.
void check_awaited(const Formula& topic, const Topics& duplex, Mistakes& mistakes) {
  const boost::json::value* literal = topic.expression.literal();
  if (literal == nullptr || !literal->is_string()) return;  // computed: known at run time
  const std::string_view name(literal->get_string().data(), literal->get_string().size());
  for (const std::string_view one : duplex)
    if (one == name)
      mistakes.add(
          {.code = Code::not_under_duplex,
           .mark = topic.where.mark,
           .path = topic.where.path,
           .message = format("the graph '{}' has collation: duplex, and no other job can start one of its jobs; "
                             "give it collation: ledger, or start it from outside",
                             name),
           .suggestion = {}});
}

}  // namespace

void check_topics(const App& app, Mistakes& mistakes) {
  Known known;
  for (const Graph& graph : app.graphs) {
    known.graphs.push_back(graph.subscribes);
    if (graph.collation == Collation::duplex) known.duplex.push_back(graph.subscribes);
    for (const Activity& activity : graph.activities)
      if (const auto* hook = std::get_if<Hook>(&activity.kind); hook && hook->topic)
        known.hooks.push_back(*hook->topic);
  }
  for (const Graph& graph : app.graphs) {
    for (const Activity& activity : graph.activities) {
      if (const auto* await = std::get_if<Await>(&activity.kind)) {
        check_topic(await->topic, known.graphs, "graph", mistakes);
        check_awaited(await->topic, known.duplex, mistakes);
      }
      if (const auto* signal = std::get_if<Signal>(&activity.kind))
        check_topic(signal->topic, known.hooks, "hook", mistakes);
      if (const auto* interrupt = std::get_if<Interrupt>(&activity.kind); interrupt && interrupt->topic)
        check_topic(*interrupt->topic, known.graphs, "graph", mistakes);
    }
  }
}

}  // namespace pawl::graph
