// Layered drawing in five steps: layers by longest path; every edge cut into pieces of one layer by helper items
// (labels are items too, so they never collide); order within layers by barycentres; x by least squares with minimum
// distances; y by layer heights.
#include "graph/draw/layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/invariant.h"
#include "graph/draw/caption.h"

namespace pawl::graph {
namespace {

constexpr double node_height = 46;
constexpr double label_height = 20;
constexpr double layer_gap = 22;
constexpr double item_gap = 28;
constexpr double margin = 24;
constexpr double lane_gap = 22;
constexpr double region_padding = 14;
constexpr std::size_t text_characters_max = 34;
constexpr std::size_t label_characters_max = 30;
constexpr int order_sweeps = 12;
constexpr int position_sweeps = 40;
constexpr int closing_sweeps = 40;

struct Item {
  enum class Role { node, label, bend };
  Role role = Role::bend;
  std::size_t index = 0;  // of the activity or the edge
  std::size_t layer = 0;
  double width = 0;
  double x = 0;
  std::vector<std::size_t> up, down;
};

double text_width(const std::string& text, double per_character) {
  return static_cast<double>(character_count(text)) * per_character;
}

class Drawing {
 public:
  explicit Drawing(const Graph& graph) : graph_(graph), topology_(graph.topology) {}

  Layout run() {
    make_items();
    order_items();
    position_items();
    return finish();
  }

 private:
  struct Path {
    std::uint32_t transition;
    std::string label;
    std::vector<std::size_t> items;
  };

  // Activities are on even layers, labels on odd ones.
  void make_items() {
    std::vector<std::size_t> layer(graph_.activities.size());
    for (const ActivityIndex index : topology_.order)
      for (const std::uint32_t edge : topology_.places[index].in)
        layer[index] = std::max(layer[index], layer[graph_.transitions[edge].from] + 2);
    node_item_.assign(graph_.activities.size(), 0);
    for (const ActivityIndex index : topology_.order) {
      const Activity& activity = graph_.activities[index];
      const std::string title = shortened(title_of(activity), text_characters_max);
      const std::string subtitle = shortened(subtitle_of(activity), text_characters_max + 6);
      const double wanted = std::max(text_width(title, 7.4), text_width(subtitle, 6.0)) + 44;
      node_item_[index] = add(Item::Role::node, index, layer[index], std::max(wanted, 120.0));
    }
    for (const ActivityIndex index : topology_.order)
      for (const std::uint32_t edge : topology_.places[index].out) add_edge(edge, layer);
  }

  std::size_t add(Item::Role role, std::size_t index, std::size_t layer, double width) {
    if (layers_.size() <= layer) layers_.resize(layer + 1);
    layers_[layer].push_back(items_.size());
    items_.push_back({role, index, layer, width, 0, {}, {}});
    return items_.size() - 1;
  }

  void add_edge(std::uint32_t edge, const std::vector<std::size_t>& layer) {
    const Transition& transition = graph_.transitions[edge];
    Path path{edge, shortened(condition_of(graph_, transition), label_characters_max), {}};
    std::size_t last = node_item_[transition.from];
    path.items.push_back(last);
    for (std::size_t at = layer[transition.from] + 1; at < layer[transition.to]; ++at) {
      const bool labelled = at == layer[transition.from] + 1 && !path.label.empty();
      const std::size_t item = add(labelled ? Item::Role::label : Item::Role::bend, paths_.size(), at,
                                   labelled ? text_width(path.label, 6.1) + 16 : 6);
      connect(last, item);
      path.items.push_back(item);
      last = item;
    }
    connect(last, node_item_[transition.to]);
    path.items.push_back(node_item_[transition.to]);
    paths_.push_back(std::move(path));
  }

  void connect(std::size_t upper, std::size_t lower) {
    items_[upper].down.push_back(lower);
    items_[lower].up.push_back(upper);
  }

  void order_items() {
    std::vector<double> rank(items_.size());
    const auto renumber = [&](const std::vector<std::size_t>& layer) {
      for (std::size_t i = 0; i < layer.size(); ++i) rank[layer[i]] = static_cast<double>(i);
    };
    for (const auto& layer : layers_) renumber(layer);
    auto best = layers_;
    std::size_t best_crossings = crossings(rank);
    for (int sweep = 0; sweep < order_sweeps && best_crossings > 0; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (std::size_t i = 0; i < layers_.size(); ++i) {
        auto& layer = layers_[down ? i : layers_.size() - 1 - i];
        std::vector<double> wanted(items_.size());
        for (const std::size_t item : layer) {
          const auto& near = down ? items_[item].up : items_[item].down;
          double sum = 0;
          for (const std::size_t other : near) sum += rank[other];
          wanted[item] = near.empty() ? rank[item] : sum / static_cast<double>(near.size());
        }
        std::stable_sort(layer.begin(), layer.end(),
                         [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
        renumber(layer);
      }
      const std::size_t now = crossings(rank);
      if (now < best_crossings) best_crossings = now, best = layers_;
    }
    layers_ = std::move(best);
  }

  // Pairs of pieces between two layers that cross; capped, since only the comparison matters.
  std::size_t crossings(const std::vector<double>& rank) const {
    constexpr std::size_t pairs_max = 2'000'000;
    std::size_t count = 0;
    std::size_t looked = 0;
    for (const auto& layer : layers_) {
      std::vector<std::pair<double, double>> pieces;
      for (const std::size_t item : layer)
        for (const std::size_t other : items_[item].down) pieces.emplace_back(rank[item], rank[other]);
      for (std::size_t a = 0; a < pieces.size(); ++a) {
        for (std::size_t b = a + 1; b < pieces.size(); ++b) {
          if (++looked > pairs_max) return count;
          if ((pieces[a].first - pieces[b].first) * (pieces[a].second - pieces[b].second) < 0) ++count;
        }
      }
    }
    return count;
  }

  void position_items() {
    for (const auto& layer : layers_) {
      double x = 0;
      for (const std::size_t item : layer) {
        items_[item].x = x + items_[item].width / 2;
        x += items_[item].width + item_gap;
      }
    }
    for (int sweep = 0; sweep < position_sweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (std::size_t i = 0; i < layers_.size(); ++i) settle(layers_[down ? i : layers_.size() - 1 - i], down);
    }
    // The parents decide last: a single child is exactly below.
    for (int sweep = 0; sweep < closing_sweeps; ++sweep)
      for (const auto& layer : layers_) settle(layer, true);
  }

  // Moves the items of a layer towards the mean of their neighbours, as near as order and distances
  // allow: isotonic regression over x minus the packed offset (pool adjacent violators).
  void settle(const std::vector<std::size_t>& layer, bool down) {
    struct Pool {
      double mean;
      double weight;
      std::size_t count;
    };
    std::vector<Pool> pools;
    std::vector<double> offsets;
    double offset = 0;
    for (std::size_t i = 0; i < layer.size(); ++i) {
      const Item& item = items_[layer[i]];
      if (i > 0) offset += items_[layer[i - 1]].width / 2 + item_gap + item.width / 2;
      offsets.push_back(offset);
      auto near = down ? item.up : item.down;
      if (item.role != Item::Role::node) {  // helpers are between their two ends
        const auto& others = down ? item.down : item.up;
        near.insert(near.end(), others.begin(), others.end());
      }
      double wanted = item.x;
      double weight = 0.05;  // without a neighbour on that side it stays where it is
      if (!near.empty()) {
        wanted = 0;
        double total = 0;
        for (const std::size_t other : near) {
          // Two helpers of one edge attract each other: long edges run straight.
          const bool helpers = item.role != Item::Role::node && items_[other].role != Item::Role::node;
          const double pull = helpers ? 8 : 1;
          wanted += pull * items_[other].x;
          total += pull;
        }
        wanted /= total;
        weight = item.role == Item::Role::node ? 1 : 4;
      }
      pools.push_back({wanted - offset, weight, 1});
      while (pools.size() > 1 && pools[pools.size() - 2].mean > pools.back().mean) {
        const Pool last = pools.back();
        pools.pop_back();
        Pool& into = pools.back();
        into.mean = (into.mean * into.weight + last.mean * last.weight) / (into.weight + last.weight);
        into.weight += last.weight;
        into.count += last.count;
      }
    }
    std::size_t at = 0;
    for (const Pool& pool : pools)
      for (std::size_t i = 0; i < pool.count; ++i, ++at) items_[layer[at]].x = pool.mean + offsets[at];
  }

  Layout finish() {
    Layout out;
    double left = 0;
    double right = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      left = i == 0 ? items_[i].x - items_[i].width / 2 : std::min(left, items_[i].x - items_[i].width / 2);
      right = i == 0 ? items_[i].x + items_[i].width / 2 : std::max(right, items_[i].x + items_[i].width / 2);
    }
    for (Item& item : items_) item.x += margin - left;
    place_layers();
    for (const ActivityIndex index : topology_.order) {
      const Item& item = items_[node_item_[index]];
      out.nodes.push_back({index,
                           {{item.x, layer_y_[item.layer]}, item.width, node_height},
                           shortened(title_of(graph_.activities[index]), text_characters_max),
                           shortened(subtitle_of(graph_.activities[index]), text_characters_max + 6)});
    }
    for (const Path& path : paths_) out.edges.push_back(draw(path));
    out.width = right - left + 2 * margin;
    out.height = (layer_y_.empty() ? 0 : layer_y_.back() + node_height / 2) + margin;
    add_regions(out);
    add_loops(out);
    return out;
  }

  void place_layers() {
    double y = margin;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const bool nodes = i % 2 == 0;
      const bool labels = std::any_of(layers_[i].begin(), layers_[i].end(),
                                      [this](std::size_t item) { return items_[item].role == Item::Role::label; });
      const double height = nodes ? node_height : labels ? label_height : 0;
      layer_y_.push_back(y + height / 2);
      y += height + layer_gap;
    }
  }

  DrawnEdge draw(const Path& path) const {
    DrawnEdge edge;
    edge.label = path.label;
    const Transition& transition = graph_.transitions[path.transition];
    edge.on_error = transition.any_error;
    for (const int code : transition.codes) edge.on_error = edge.on_error || code >= 400;
    edge.points.push_back(
        {port(path.items.front(), path.items[1], true), layer_y_[items_[path.items.front()].layer] + node_height / 2});
    for (std::size_t i = 1; i + 1 < path.items.size(); ++i) {
      const Item& item = items_[path.items[i]];
      const double y = layer_y_[item.layer];
      if (item.role == Item::Role::label) edge.label_box = {{item.x, y}, item.width, label_height};
      // A bend between two layers would only dent the curve.
      if (item.role == Item::Role::bend && item.layer % 2 == 1) continue;
      const double half = item.layer % 2 == 0 ? node_height / 2 : 0;
      edge.points.push_back({item.x, y - half});
      if (half > 0) edge.points.push_back({item.x, y + half});
    }
    const std::size_t target = path.items.back();
    edge.points.push_back(
        {port(target, path.items[path.items.size() - 2], false), layer_y_[items_[target].layer] - node_height / 2});
    return edge;
  }

  // Where on the lower (or upper) side of a node the piece towards `other` ends: spread in the
  // order of the neighbours, within the middle half of the side.
  double port(std::size_t node, std::size_t other, bool down) const {
    auto near = down ? items_[node].down : items_[node].up;
    if (near.size() < 2) return items_[node].x;
    std::stable_sort(near.begin(), near.end(),
                     [this](std::size_t a, std::size_t b) { return items_[a].x < items_[b].x; });
    const auto at = static_cast<double>(std::find(near.begin(), near.end(), other) - near.begin());
    const double spread = std::min(items_[node].width / 2, 16.0 * static_cast<double>(near.size() - 1));
    return items_[node].x - spread / 2 + spread * at / static_cast<double>(near.size() - 1);
  }

  const Box& box_of(const Layout& layout, ActivityIndex activity) const {
    const auto found = std::find_if(layout.nodes.begin(), layout.nodes.end(),
                                    [&](const DrawnNode& node) { return node.activity == activity; });
    invariant(found != layout.nodes.end(), "every reachable activity is drawn");
    return found->box;
  }

  // A frame behind a map's body, unless it would also enclose something that is not part of it.
  void add_regions(Layout& layout) const {
    for (const DrawnNode& map : layout.nodes) {
      double left = 1e9, right = -1e9, top = 1e9, bottom = -1e9;
      for (const DrawnNode& node : layout.nodes) {
        if (topology_.places[node.activity].inside_map != map.activity) continue;
        left = std::min(left, node.box.left() - region_padding);
        right = std::max(right, node.box.right() + region_padding);
        top = std::min(top, node.box.top() - region_padding);
        bottom = std::max(bottom, node.box.bottom() + region_padding);
      }
      if (left > right) continue;
      const Box box{{(left + right) / 2, (top + bottom) / 2}, right - left, bottom - top};
      const bool clean = std::none_of(layout.nodes.begin(), layout.nodes.end(), [&](const DrawnNode& node) {
        const auto inside = topology_.places[node.activity].inside_map;
        return inside != map.activity && node.box.right() > left && node.box.left() < right &&
               node.box.bottom() > top && node.box.top() < bottom;
      });
      if (clean) layout.regions.push_back({map.activity, box});
    }
  }

  // Loops run in lanes right of everything, leave a cycle at the bottom and enter the pivot from
  // above: between layers there are only edges to cross, never nodes.
  void add_loops(Layout& layout) const {
    double lane = layout.width - margin;
    for (const DrawnNode& node : layout.nodes) {
      const auto* cycle = std::get_if<Cycle>(&graph_.activities[node.activity].kind);
      if (cycle == nullptr) continue;
      const auto pivot = graph_.find(cycle->ancestor);
      if (!pivot || !topology_.places[*pivot].reachable) continue;
      const Box& target = box_of(layout, *pivot);
      lane += lane_gap;
      const double below = node.box.bottom() + layer_gap / 2;
      const double above = target.top() - layer_gap / 2;
      const double enter = target.centre.x + target.width / 4;
      layout.loops.push_back({{{node.box.centre.x, node.box.bottom()},
                               {node.box.centre.x, below},
                               {lane, below},
                               {lane, above},
                               {enter, above},
                               {enter, target.top()}}});
      layout.height = std::max(layout.height, below + margin);
    }
    layout.width = std::max(layout.width, lane + margin);
  }

  const Graph& graph_;
  const Topology& topology_;
  std::vector<Item> items_;
  std::vector<std::vector<std::size_t>> layers_;
  std::vector<std::size_t> node_item_;
  std::vector<Path> paths_;
  std::vector<double> layer_y_;
};

}  // namespace

Layout lay_out(const Graph& graph) { return Drawing(graph).run(); }

}  // namespace pawl::graph
