// Checks and freezes a built graph. Every mistake is reported in one error, one line each.
#include "pawl/graph.h"

#include <map>
#include <set>
#include <string_view>

#include "base/format.h"
#include "base/limits.h"
#include "base/random.h"
#include "ledger/dimensions.h"

namespace pawl {

namespace {

using Index = std::map<std::string, std::uint32_t, std::less<>>;

class Mistakes {
 public:
  void add(std::string line) { text_.append(text_.empty() ? "" : "\n").append(line); }
  bool none() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::uint64_t hash_text(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = Random::mix(hash ^ static_cast<unsigned char>(c));
  return Random::mix(hash + text.size());
}

std::uint64_t fingerprint_of(const Graph& graph) {
  std::uint64_t hash = hash_text(1, graph.name().raw());
  for (const Graph::Node& node : graph.nodes()) {
    hash = hash_text(hash, node.name.raw());
    hash = hash_text(hash, node.topic.raw());
    hash = Random::mix(hash ^ static_cast<std::uint64_t>(node.kind));
    for (const Graph::Edge& edge : node.edges) {
      hash = Random::mix(hash ^ edge.to ^ (static_cast<std::uint64_t>(edge.when.kind()) << 32));
      for (const std::int32_t code : edge.when.code_list()) hash = Random::mix(hash + static_cast<std::uint32_t>(code));
    }
  }
  hash = Random::mix(hash ^ graph.result_of().value_or(0xffffffff));
  // The default adds nothing: fingerprints of jobs that run already stay what they are.
  return graph.collation() == Collation::ledger ? hash : hash_text(hash, name_of(graph.collation()));
}

// Named one by one: a kind that is new is refused until somebody has shown that it works.
bool runs_under_duplex(Graph::Kind kind) { return kind == Graph::Kind::trigger || kind == Graph::Kind::worker; }

// Names the activities of a cycle: "a -> b -> a". Walks parents, since each node has at most one.
std::string cycle_through(std::uint32_t node, const std::vector<std::optional<std::uint32_t>>& parent,
                          const std::vector<Graph::Node>& nodes) {
  std::string text = nodes[node].name.raw();
  for (auto at = parent[node]; at && *at != node; at = parent[*at])
    text = nodes[*at].name.raw() + " -> " + text;
  return nodes[node].name.raw() + " -> " + text;
}

}  // namespace

std::string_view name_of(Collation collation) {
  switch (collation) {
    case Collation::ledger: return "ledger";
    case Collation::duplex: return "duplex";
  }
  return "?";
}

std::optional<std::uint32_t> Graph::find(const ActivityName& name) const {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].name == name) return i;
  return std::nullopt;
}

GraphBuilder::GraphBuilder(std::string name, std::uint32_t version) : name_(std::move(name)), version_(version) {}

GraphBuilder& GraphBuilder::trigger(std::string name) {
  activities_.push_back({std::move(name), Graph::Kind::trigger, ""});
  return *this;
}

GraphBuilder& GraphBuilder::worker(std::string name, std::string topic) {
  activities_.push_back({std::move(name), Graph::Kind::worker, std::move(topic)});
  return *this;
}

GraphBuilder& GraphBuilder::after(std::string parent, Condition when) {
  links_.push_back({std::move(parent), activities_.empty() ? "" : activities_.back().name, std::move(when)});
  return *this;
}

GraphBuilder& GraphBuilder::transition(std::string from, std::string to, Condition when) {
  links_.push_back({std::move(from), std::move(to), std::move(when)});
  return *this;
}

GraphBuilder& GraphBuilder::result_of(std::string activity) {
  result_ = std::move(activity);
  return *this;
}

GraphBuilder& GraphBuilder::collation(Collation collation) {
  collation_ = collation;
  return *this;
}

Result<Graph> GraphBuilder::build() const {
  Mistakes mistakes;
  const auto require_name = [&](std::string_view what, std::string_view name) {
    const auto checked = check_name(what, name);
    if (!checked) mistakes.add(checked.error().detail);
  };
  require_name("graph name", name_);
  if (activities_.size() > limits::graph_activities_max)
    return Error{ErrorCode::over_limit, format("graph {} has {} activities; at most {} are allowed", name_,
                                               activities_.size(), limits::graph_activities_max)};
  Graph graph{GraphName(name_), version_};
  Index index;
  std::vector<std::uint32_t> triggers;
  for (const Declared& declared : activities_) {
    const auto number = static_cast<std::uint32_t>(graph.nodes_.size());
    require_name("activity name", declared.name);
    if (declared.kind == Graph::Kind::worker) require_name(format("topic of activity {}", declared.name), declared.topic);
    if (!index.emplace(declared.name, number).second)
      mistakes.add(format("activity {} is declared twice", declared.name));
    if (declared.kind == Graph::Kind::trigger) triggers.push_back(number);
    if (collation_ == Collation::duplex && !runs_under_duplex(declared.kind))
      mistakes.add(format("activity {}: collation duplex runs triggers and workers only, since it has no transaction "
                          "for what else this kind would have to write at once; use collation ledger",
                          declared.name));
    graph.nodes_.push_back({ActivityName(declared.name), declared.kind, Topic(declared.topic), {}});
  }
  if (triggers.size() != 1)
    mistakes.add(format("graph {} has {} triggers; it needs exactly one", name_, triggers.size()));

  std::vector<std::optional<std::uint32_t>> parent(graph.nodes_.size());
  for (const Link& link : links_) {
    const auto from = index.find(link.from);
    const auto to = index.find(link.to);
    if (from == index.end()) mistakes.add(format("transition {} -> {}: no activity named {}", link.from, link.to, link.from));
    if (to == index.end()) mistakes.add(format("transition {} -> {}: no activity named {}", link.from, link.to, link.to));
    if (from == index.end() || to == index.end()) continue;
    if (link.when.kind() == Condition::Kind::on_codes && link.when.code_list().empty())
      mistakes.add(format("transition {} -> {}: a condition without codes never fires", link.from, link.to));
    if (graph.nodes_[to->second].kind == Graph::Kind::trigger)
      mistakes.add(format("transition {} -> {}: a trigger has no parent", link.from, link.to));
    if (parent[to->second] && *parent[to->second] != from->second)
      mistakes.add(format("activity {} has two parents, {} and {}; only a join may have several", link.to,
                          graph.nodes_[*parent[to->second]].name.raw(), link.from));
    else if (parent[to->second])
      mistakes.add(format("transition {} -> {} is declared twice", link.from, link.to));
    else
      parent[to->second] = from->second;
    graph.nodes_[from->second].edges.push_back({to->second, link.when});
  }
  if (result_) {
    const auto found = index.find(*result_);
    if (found == index.end()) mistakes.add(format("result_of: no activity named {}", *result_));
    else graph.result_ = found->second;
  }
  if (!mistakes.none()) return Error{ErrorCode::invalid, mistakes.text()};

  graph.trigger_ = triggers.front();
  // Each node has one parent, so whatever the trigger does not reach is an orphan or part of a cycle.
  std::vector<bool> reached(graph.nodes_.size(), false);
  std::vector<std::pair<std::uint32_t, std::size_t>> queue{{graph.trigger_, 1}};  // node and its depth
  while (!queue.empty()) {
    const auto [node, depth] = queue.back();
    queue.pop_back();
    if (depth > ledger::Dimensions::depth_max)
      return Error{ErrorCode::over_limit, format("graph {} is more than {} activities deep", name_,
                                                 ledger::Dimensions::depth_max)};
    reached[node] = true;
    for (const Graph::Edge& edge : graph.nodes_[node].edges) queue.emplace_back(edge.to, depth + 1);
  }
  std::set<std::uint32_t> reported;
  for (std::uint32_t node = 0; node < graph.nodes_.size(); ++node) {
    if (reached[node]) continue;
    std::set<std::uint32_t> seen;
    std::optional<std::uint32_t> at = node;
    while (at && seen.insert(*at).second) at = parent[*at];
    if (!at) {
      mistakes.add(format("activity {} is not reachable from the trigger", graph.nodes_[node].name.raw()));
    } else if (reported.insert(*at).second) {
      for (auto on = parent[*at]; on && *on != *at; on = parent[*on]) reported.insert(*on);
      mistakes.add(format("cycle without a pivot: {}", cycle_through(*at, parent, graph.nodes_)));
    }
  }
  if (!mistakes.none()) return Error{ErrorCode::invalid, mistakes.text()};
  graph.collation_ = collation_;
  graph.fingerprint_ = fingerprint_of(graph);
  return graph;
}

}  // namespace pawl
