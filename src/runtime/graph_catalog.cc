#include "runtime/graph_catalog.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include "base/format.h"

namespace pawl::runtime {

std::string app_of(const GraphName& graph) { return graph.raw().substr(0, graph.raw().find('/')); }

core::GraphRef ref_of(const Graph& graph) { return {graph.name(), graph.version(), graph.fingerprint()}; }

Status GraphCatalog::add(Graph graph) {
  if (const auto admitted = check(graph); !admitted) return admitted;
  const std::lock_guard lock(mutex_);
  const auto key = std::make_pair(graph.name().raw(), graph.version());
  const auto found = graphs_.find(key);
  if (found != graphs_.end()) {
    if (found->second->fingerprint() == graph.fingerprint()) return {};
    return Error{ErrorCode::already_exists,
                 format("graph {} version {} is deployed with another content; give the changed graph a new version",
                        key.first, key.second)};
  }
  graphs_.emplace(key, std::make_shared<const Graph>(std::move(graph)));
  return {};
}

void GraphCatalog::prefer(const std::string& app, std::uint32_t version) {
  const std::lock_guard lock(mutex_);
  preferred_.insert_or_assign(app, version);
}

bool GraphCatalog::any_of(const std::function<bool(const Graph&)>& is_it) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(graphs_.begin(), graphs_.end(), [&](const auto& entry) { return is_it(*entry.second); });
}

std::vector<std::shared_ptr<const Graph>> GraphCatalog::versions(const GraphName& name) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const Graph>> found;
  for (auto it = graphs_.lower_bound({name.raw(), 0}); it != graphs_.end() && it->first.first == name.raw(); ++it)
    found.push_back(it->second);
  return found;
}

std::vector<std::shared_ptr<const Graph>> GraphCatalog::of_app(const std::string& app) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const Graph>> found;
  const std::string start = app + '/';
  for (auto it = graphs_.lower_bound({app, 0}); it != graphs_.end() && it->first.first == app; ++it)
    if (it->second->origin() != nullptr) found.push_back(it->second);
  for (auto it = graphs_.lower_bound({start, 0}); it != graphs_.end() && it->first.first.starts_with(start); ++it)
    if (it->second->origin() != nullptr) found.push_back(it->second);
  return found;
}

Status GraphCatalog::check_activity(const GraphName& graph, const std::string& activity) const {
  constexpr std::size_t named_max = 40;
  const std::lock_guard lock(mutex_);
  std::set<std::string> known;
  for (const auto& [key, one] : graphs_) {
    if (!graph.raw().empty() && key.first != graph.raw()) continue;
    for (const Graph::Node& node : one->nodes()) known.insert(node.name.raw());
  }
  if (known.contains(activity)) return {};
  if (known.empty())
    return Error{ErrorCode::not_found, graph.raw().empty() ? std::string("no graph is deployed")
                                                           : format("no graph named {} is deployed", graph.raw())};
  std::string names;
  std::size_t count = 0;
  for (const std::string& name : known) {
    if (++count > named_max) break;
    names += (names.empty() ? "" : ", ") + name;
  }
  return Error{
      ErrorCode::invalid,
      format("{} activity {}; {}: {}{}", graph.raw().empty() ? "no graph has an" : "graph " + graph.raw() + " has no",
             activity, graph.raw().empty() ? "there are" : "it has", names, count > named_max ? " ..." : "")};
}

std::shared_ptr<const Graph> GraphCatalog::preferred(const GraphName& name) const {
  const std::lock_guard lock(mutex_);
  const auto version = preferred_.find(app_of(name));
  if (version == preferred_.end()) return nullptr;
  const auto found = graphs_.find({name.raw(), version->second});
  return found == graphs_.end() ? nullptr : found->second;
}

std::shared_ptr<const Graph> GraphCatalog::newest(const GraphName& name) const {
  if (auto found = preferred(name)) return found;
  const std::lock_guard lock(mutex_);
  const auto behind = graphs_.upper_bound({name.raw(), std::numeric_limits<std::uint32_t>::max()});
  if (behind == graphs_.begin() || std::prev(behind)->first.first != name.raw()) return nullptr;
  return std::prev(behind)->second;
}

std::shared_ptr<const Graph> GraphCatalog::find(const core::GraphRef& ref) const {
  auto found = known(ref);
  if (found != nullptr || !source_) return found;
  for (Graph& graph : source_(ref)) {
    const std::lock_guard lock(mutex_);
    const auto key = std::make_pair(graph.name().raw(), graph.version());
    graphs_.emplace(key, std::make_shared<const Graph>(std::move(graph)));
  }
  return known(ref);
}

std::shared_ptr<const Graph> GraphCatalog::known(const core::GraphRef& ref) const {
  const std::lock_guard lock(mutex_);
  const auto found = graphs_.find({ref.name.raw(), ref.version});
  if (found == graphs_.end() || found->second->fingerprint() != ref.fingerprint) return nullptr;
  return found->second;
}

}  // namespace pawl::runtime
