#include <boost/json.hpp>
#include <unordered_map>

#include "base/format.h"
#include "graph/limits.h"
#include "graph/read/read.h"

namespace pawl::graph {
namespace {

constexpr std::string_view compat_words[] = {"hotmesh", "pawl"};

// Decided before anything else is read, because it changes what counts as a mistake.
Dialect find_dialect(const Node& root, const ReadOptions& options) {
  if (options.force_hotmesh) return Dialect::hotmesh;
  const Node* app = root.find("app");
  const Node* compat = app == nullptr ? nullptr : app->find("compat");
  return compat != nullptr && compat->is_text() && compat->text == "hotmesh" ? Dialect::hotmesh : Dialect::pawl;
}

void read_id(const Cursor& at, const Reader& reader, App& app) {
  const auto id = reader.text(at);
  if (!id) return;
  app.id = *id;
  std::string plain = *id;
  std::erase(plain, '.');
  if (!is_id(plain)) reader.report(at, Code::bad_name, "an app's id is made of letters, digits, - . and _");
}

void read_version(const Cursor& at, const Reader& reader, App& app) {
  if (at.node().kind == Node::Kind::integer && at.node().integer >= 0) {
    app.version = format("{}", at.node().integer);
  } else if (at.node().is_text() && !at.node().text.empty()) {
    app.version = at.node().text;
  } else {
    reader.report(at, Code::wrong_type,
                  format("a version is a whole number or a text in quotes, not {}", describe(at.node())));
  }
}

void read_graphs(const Cursor& at, const Reader& reader, App& app) {
  if (!reader.expect_list(at)) return;
  if (at.node().items.size() > graphs_max) {
    reader.report(at, Code::over_limit, format("more than {} graphs", graphs_max));
    return;
  }
  std::unordered_map<std::string, std::uint32_t> topics;
  std::unordered_map<std::string, std::uint32_t> ids;
  for (std::size_t i = 0; i < at.node().items.size(); ++i) {
    const Cursor here(at, i);
    if (!reader.expect_map(here)) continue;
    Graph graph = read_graph(here, reader);
    if (!graph.subscribes.empty()) {
      const auto [first, is_new] = topics.emplace(graph.subscribes, graph.where.mark.line);
      if (!is_new)
        reader.report(graph.where, Code::duplicate_topic,
                      format("the graph on line {} subscribes to '{}' already", first->second, graph.subscribes));
    }
    for (const Activity& activity : graph.activities) {
      const auto [first, is_new] = ids.emplace(activity.id, activity.where.mark.line);
      if (!is_new)
        reader.report(activity.where, Code::duplicate_activity,
                      format("'{}' is already the id of the activity on line {}; ids are unique in an app", activity.id,
                             first->second));
    }
    app.graphs.push_back(std::move(graph));
  }
  if (at.node().items.empty()) reader.report(at, Code::bad_value, "an app has at least one graph");
}

}  // namespace

std::optional<App> read_app(const Node& root, const ReadOptions& options, Mistakes& mistakes) {
  App app;
  app.dialect = find_dialect(root, options);
  if (app.dialect == Dialect::hotmesh) mistakes.be_lenient();
  const Reader reader(mistakes, app.dialect);
  const Cursor top(root);
  if (!root.is_map() || root.find("app") == nullptr) {
    mistakes.add({.code = Code::missing_key,
                  .mark = root.mark.line == 0 ? Mark{root.mark.file, 1, 1} : root.mark,
                  .path = {},
                  .message = "the file must begin with the key 'app'",
                  .suggestion = {}});
    return std::nullopt;
  }
  for (const Entry& entry : root.entries) {
    const Cursor here(top, entry);
    if (entry.key.starts_with("x-")) continue;  // shared parts, named by $refs
    if (entry.key != "app") {
      const std::string_view known[] = {"app"};
      reader.report(Where{entry.mark, entry.key}, Code::unknown_key,
                    format("there is no key '{}' here; shared parts go under a key such as x-shared", entry.key),
                    nearest(entry.key, known));
      continue;
    }
    const Key keys[] = {
        {"id", [&](const Cursor& at) { read_id(at, reader, app); }},
        {"version", [&](const Cursor& at) { read_version(at, reader, app); }},
        {"compat", [&](const Cursor& at) { (void)reader.choice(at, compat_words); }},
        {"settings", [&](const Cursor& at) { app.settings = to_json(at.node()); }},
        {"title", [&](const Cursor& at) { (void)reader.text(at); }},
        {"graphs", [&](const Cursor& at) { read_graphs(at, reader, app); }},
    };
    reader.keys(here, Level::app, keys);
    for (const std::string_view required : {"id", "version", "graphs"})
      if (entry.value.is_map() && entry.value.find(required) == nullptr) reader.missing(here, required);
  }
  return app;
}

}  // namespace pawl::graph
