#include "runtime/apps.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "base/format.h"
#include "base/random.h"
#include "execute/assemble.h"
#include "execute/program.h"
#include "graph/check.h"
#include "graph/report.h"
#include "mapping/json_parse.h"
#include "mapping/json_text.h"

namespace pawl::runtime {

namespace {

// Apps belong to nobody in particular: all tenants of a store run the same ones.
Namespace everybody() { return default_namespace(); }

// The files of an app as one text: what the store keeps and what a fingerprint is made of. The first is the main one.
std::string pack(const graph::Sources& sources) {
  boost::json::array files;
  for (std::uint32_t i = 0; i < sources.count(); ++i)
    files.push_back({{"name", sources.file(i).name}, {"text", sources.file(i).text}});
  return boost::json::serialize(files);
}

graph::Checked unpack(const std::string& body) {
  boost::system::error_code failed;
  const boost::json::value files = boost::json::parse(body, failed);
  std::map<std::string, std::string, std::less<>> texts;
  std::string main_file;
  if (!failed && files.is_array())
    for (const boost::json::value& file : files.get_array()) {
      const std::string name(file.at("name").as_string());
      if (main_file.empty()) main_file = name;
      texts.emplace(name, std::string(file.at("text").as_string()));
    }
  return graph::check(graph::MemoryLoader(std::move(texts)), main_file);
}

Error mistakes_of(const graph::Checked& checked) {
  return {ErrorCode::invalid, graph::report_text(checked, graph::Colours::off)};
}

std::vector<std::string> topics_of(const graph::App& app) {
  std::vector<std::string> topics;
  for (const graph::Graph& graph : app.graphs) topics.push_back(graph.subscribes);
  return topics;
}

std::string fresh_id(const core::GraphRef& graph, Instant now) {
  static std::atomic<std::uint64_t> count{0};
  const std::uint64_t drawn = Random::mix(static_cast<std::uint64_t>(now.micros()) + Random::mix(count.fetch_add(1)));
  return format("{}-{:012x}", graph.name.raw().substr(graph.name.raw().find('/') + 1), drawn >> 16);
}

Status refused(const Result<store::Outcome>& outcome, const std::string& what) {
  if (!outcome) return outcome.error();
  if (outcome->kind == store::OutcomeKind::exists)
    return Error{ErrorCode::already_exists,
                 format("{} is deployed with another content; give the changed app a new version", what)};
  if (!outcome->done()) return Error{ErrorCode::invalid, format("{}: {}", what, outcome->reason)};
  return {};
}

}  // namespace

Apps::Apps(store::Store& store, GraphCatalog& graphs, Commit commit)
    : store_(store), graphs_(graphs), commit_(std::move(commit)) {
  graphs_.fetch_from([this](const core::GraphRef& ref) -> std::vector<Graph> {
    const std::string app = ref.name.raw().substr(0, ref.name.raw().find('/'));
    const auto known = store_.list_apps(everybody());
    if (!known) return {};
    for (const store::AppInfo& info : *known) {
      if (info.app != app || execute::version_number(info.version) != ref.version) continue;
      auto found = read(info.app, info.version);
      if (found) return std::move(*found);
    }
    return {};
  });
}

Result<std::vector<Graph>> Apps::read(const std::string& app, const std::string& version) const {
  const auto body = store_.read_app(everybody(), app, version);
  if (!body) return body.error();
  if (!*body) return Error{ErrorCode::not_found, format("app {} has no version {}", app, version)};
  const graph::Checked checked = unpack(**body);
  if (checked.app == nullptr) return mistakes_of(checked);
  return execute::assemble(checked.app, **body);
}

Result<AppVersion> Apps::deploy(const std::string& path, bool activate_it) {
  const graph::Checked checked = graph::check_file(path);
  if (!checked.could_read) return Error{ErrorCode::not_found, format("{} cannot be read", path)};
  if (checked.app == nullptr) return mistakes_of(checked);
  const std::string body = pack(checked.sources);
  auto graphs = execute::assemble(checked.app, body);
  if (!graphs) return graphs.error();
  for (const Graph& graph : *graphs)
    if (const auto admitted = graphs_.check(graph); !admitted) return admitted.error();
  const std::string what = format("app {} version {}", checked.app->id, checked.app->version);
  const auto kept = refused(commit_(store::PutApp{everybody(), checked.app->id, checked.app->version, body}), what);
  if (!kept) return kept.error();
  for (Graph& graph : *graphs)
    if (const auto added = graphs_.add(std::move(graph)); !added) return added.error();
  if (activate_it)
    if (const auto active = activate(checked.app->id, checked.app->version); !active) return active.error();
  return AppVersion{checked.app->id, checked.app->version, activate_it, store_.now(), topics_of(*checked.app)};
}

Status Apps::activate(const std::string& app, const std::string& version) {
  return refused(commit_(store::ActivateApp{everybody(), app, version}), format("app {} version {}", app, version));
}

Result<std::vector<std::shared_ptr<const Graph>>> Apps::graphs_of(const store::AppInfo& app) const {
  std::vector<std::shared_ptr<const Graph>> found;
  const std::uint32_t number = execute::version_number(app.version);
  for (const auto& graph : graphs_.of_app(app.app))
    if (graph->version() == number) found.push_back(graph);
  if (!found.empty()) return found;
  auto read_now = read(app.app, app.version);
  if (!read_now) return read_now.error();
  for (Graph& graph : *read_now) {
    const core::GraphRef ref = ref_of(graph);
    if (const auto added = graphs_.add(std::move(graph)); !added) return added.error();
    found.push_back(graphs_.find(ref));
  }
  return found;
}

Result<std::vector<AppVersion>> Apps::list() const {
  const auto known = store_.list_apps(everybody());
  if (!known) return known.error();
  std::vector<AppVersion> versions;
  for (const store::AppInfo& info : *known) {
    AppVersion version{info.app, info.version, info.active, info.deployed_at, {}};
    if (const auto graphs = graphs_of(info))
      for (const auto& graph : *graphs)
        version.topics.push_back(execute::GraphProgram::of(*graph)->source().subscribes);
    versions.push_back(std::move(version));
  }
  return versions;
}

Result<GraphName> Apps::graph_of(const std::string& topic) const {
  const auto versions = list();
  if (!versions) return versions.error();
  std::string topics;
  for (const AppVersion& version : *versions)
    for (const std::string& one : version.topics) {
      if (one == topic) return GraphName(version.app + "/" + topic);
      topics += format("{}{}", topics.empty() ? "" : ", ", one);
    }
  return Error{ErrorCode::not_found, format("no deployed app subscribes to {}; topics here: {}", topic,
                                            topics.empty() ? "none (deploy an app first)" : topics)};
}

Result<core::GraphRef> Apps::prepare(JobRequest& request) const {
  const auto known = store_.list_apps(everybody());
  if (!known) return known.error();
  std::string topics;
  for (const store::AppInfo& info : *known) {
    if (!info.active) continue;
    const auto graphs = graphs_of(info);
    if (!graphs) return graphs.error();
    for (const auto& graph : *graphs) {
      const execute::GraphProgram& program = *execute::GraphProgram::of(*graph);
      topics += format("{}{}", topics.empty() ? "" : ", ", program.source().subscribes);
      if (program.source().subscribes != request.graph) continue;
      auto input = program.check_start(request.input);
      if (!input) return input.error();
      request.input = std::move(*input);
      request.graph = graph->name().raw();
      if (request.options.id.empty()) {
        const auto id = program.start_id(request.input, store_.now());
        if (!id) return id.error();
        request.options.id = *id ? (*id)->raw() : fresh_id(ref_of(*graph), store_.now());
      }
      return ref_of(*graph);
    }
  }
  return Error{ErrorCode::not_found,
               format("no graph named {0} is deployed here, and no active app subscribes to {0}; topics here: {1}",
                      request.graph, topics.empty() ? "none (deploy a graph or an app first)" : topics)};
}

Result<std::vector<std::string>> Apps::mailboxes_for(const std::string& topic, const Payload& data) const {
  const auto known = store_.list_apps(everybody());
  if (!known) return known.error();
  std::set<std::string> keys;
  std::optional<Error> why;
  for (const store::AppInfo& info : *known) {
    const auto graphs = graphs_of(info);
    if (!graphs) return graphs.error();
    if (graphs->empty()) continue;
    // Every graph of an app knows the hooks of all of them.
    const auto found = execute::GraphProgram::of(*graphs->front())->keys_of(Topic(topic), data);
    if (found)
      keys.insert(found->begin(), found->end());
    else if (!why || found.error().code != ErrorCode::not_found)
      why = found.error();
  }
  if (!keys.empty()) return std::vector<std::string>(keys.begin(), keys.end());
  if (why) return *why;
  return Error{ErrorCode::not_found, format("no deployed app has a hook for topic {}", topic)};
}

}  // namespace pawl::runtime
