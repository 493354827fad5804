#include "runtime/apps.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <set>

#include "base/format.h"
#include "base/random.h"
#include "execute/assemble.h"
#include "execute/program.h"
#include "execute/stable_hash.h"
#include "graph/check.h"
#include "graph/report.h"
#include "mapping/json_parse.h"
#include "mapping/json_text.h"

namespace pawl::runtime {

namespace {

// Apps have no owner: all tenants of a store run the same ones.
Namespace everybody() { return default_namespace(); }

// The main file always has this name in the store: the same text is the same app.
constexpr const char* main_name = "app.yaml";

// The files of an app as one text: what the store keeps and what a fingerprint is made of. The first is the main one.
std::string pack(const graph::Sources& sources, bool hotmesh) {
  const std::string& own_name = sources.file(0).name;
  bool is_named = false;  // a $ref may refer to it: then its name is part of the app
  for (std::uint32_t i = 0; i < sources.count(); ++i) {
    const bool taken = i > 0 && sources.file(i).name == main_name;
    is_named = is_named || taken || sources.file(i).text.find(own_name) != std::string::npos;
  }
  boost::json::array files;
  for (std::uint32_t i = 0; i < sources.count(); ++i)
    files.push_back({{"name", i == 0 && !is_named ? main_name : sources.file(i).name}, {"text", sources.file(i).text}});
  if (hotmesh) files.front().get_object()["compat"] = "hotmesh";  // whoever deployed it said so, not the file
  return boost::json::serialize(files);
}

std::vector<std::pair<std::string, std::string>> files_in(const std::string& body) {
  boost::system::error_code failed;
  const boost::json::value files = boost::json::parse(body, failed);
  std::vector<std::pair<std::string, std::string>> texts;
  if (!failed && files.is_array())
    for (const boost::json::value& file : files.get_array())
      texts.emplace_back(file.at("name").as_string(), file.at("text").as_string());
  return texts;
}

bool is_for_hotmesh(const std::string& body) {
  boost::system::error_code failed;
  const boost::json::value files = boost::json::parse(body, failed);
  return !failed && files.is_array() && !files.get_array().empty() && files.get_array().front().is_object() &&
         files.get_array().front().get_object().contains("compat");
}

std::string as_for_hotmesh(const std::string& body) {
  boost::system::error_code failed;
  boost::json::value files = boost::json::parse(body, failed);
  if (failed || !files.is_array() || files.get_array().empty()) return body;
  files.get_array().front().as_object()["compat"] = "hotmesh";
  return boost::json::serialize(files);
}

graph::Checked unpack(const std::string& body) {
  const auto files = files_in(body);
  return graph::check(graph::MemoryLoader({files.begin(), files.end()}), files.empty() ? "" : files.front().first,
                      {.force_hotmesh = is_for_hotmesh(body)});
}

Error mistakes_of(const graph::Checked& checked, bool is_built = false) {
  return {ErrorCode::invalid,
          is_built ? graph::mistakes_by_key(checked) : graph::report_text(checked, graph::Colours::off)};
}

// Content that was deployed for development has a separate version.
std::shared_ptr<const graph::App> under_version(const std::shared_ptr<const graph::App>& app,
                                                const std::string& version) {
  if (app->version == version) return app;
  auto other = std::make_shared<graph::App>(*app);
  other->version = version;
  return other;
}

std::vector<std::string> topics_of(const graph::App& app) {
  std::vector<std::string> topics;
  for (const graph::Graph& graph : app.graphs) topics.push_back(graph.subscribes);
  return topics;
}

std::string fresh_id(const core::GraphRef& graph, Instant now) {
  static std::atomic<std::uint64_t> count{0};
  const std::uint64_t drawn = Random::mix(static_cast<std::uint64_t>(now.micros()) + Random::mix(count.fetch_add(1)) +
                                          (static_cast<std::uint64_t>(getpid()) << 40));
  return format("{}-{:016x}", graph.name.raw().substr(graph.name.raw().find('/') + 1), drawn);
}

Status refused(const Result<store::Outcome>& outcome, const std::string& what) {
  if (!outcome) return outcome.error();
  if (outcome->kind == store::OutcomeKind::exists)
    return Error{ErrorCode::already_exists,
                 format("{} is deployed with another content; give the changed app a new version, or deploy it for "
                        "development (--dev), which keeps both",
                        what)};
  if (!outcome->done()) return Error{ErrorCode::invalid, format("{}: {}", what, outcome->reason)};
  return {};
}

}  // namespace

Apps::Apps(store::Store& store, GraphCatalog& graphs, Commit commit)
    : store_(store), graphs_(graphs), commit_(std::move(commit)) {
  graphs_.fetch_from([this](const core::GraphRef& ref) -> std::vector<Graph> {
    const std::string app = app_of(ref.name);
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
  return execute::assemble(under_version(checked.app, version), **body);
}

Result<std::string> Apps::keep(const graph::App& app, const std::string& body, bool development) {
  const std::string what = format("app {} version {}", app.id, app.version);
  const auto put = commit_(store::PutApp{everybody(), app.id, app.version, body});
  const bool differs = put && put->kind == store::OutcomeKind::exists;
  if (!differs || !development) {
    const auto kept = refused(put, what);
    if (!kept) return kept.error();
    return app.version;
  }
  std::string version = format("{}+dev.{:08x}", app.version, execute::stable_hash(body) >> 32U);
  const auto kept = refused(commit_(store::PutApp{everybody(), app.id, version, body}), what);
  if (!kept) return kept.error();
  return version;
}

Result<AppVersion> Apps::deploy(const AppSource& source, const DeployOptions& options) {
  const graph::CheckOptions check{.force_hotmesh = options.compat_hotmesh};
  const graph::Checked checked =
      source.is_file() ? graph::check_file(source.path(), check) : graph::check_text(source.text(), check);
  if (!checked.could_read) return Error{ErrorCode::not_found, format("{} cannot be read", source.path())};
  if (checked.app == nullptr) return mistakes_of(checked, source.is_built());
  const std::string body = pack(checked.sources, options.compat_hotmesh);
  const auto assembled = execute::assemble(checked.app, body);
  if (!assembled) return assembled.error();
  for (const Graph& graph : *assembled)
    if (const auto admitted = graphs_.check(graph); !admitted) return admitted.error();
  const auto version = keep(*checked.app, body, options.development);
  if (!version) return version.error();
  auto graphs = execute::assemble(under_version(checked.app, *version), body);
  if (!graphs) return graphs.error();
  for (Graph& graph : *graphs)
    if (const auto added = graphs_.add(std::move(graph)); !added) return added.error();
  if (options.activate)
    if (const auto active = activate(checked.app->id, *version); !active) return active.error();
  return AppVersion{checked.app->id, *version, options.activate, store_.now(), topics_of(*checked.app)};
}

Status Apps::activate(const std::string& app, const std::string& version) {
  auto done =
      refused(commit_(store::ActivateApp{everybody(), app, version}), format("app {} version {}", app, version));
  if (done) graphs_.prefer(app, execute::version_number(version));
  return done;
}

Result<AppFiles> Apps::files(const std::string& app, const std::string& version) const {
  const auto known = store_.list_apps(everybody());
  if (!known) return known.error();
  std::string there;
  for (const store::AppInfo& info : *known) {
    there += format("{}{} {}", there.empty() ? "" : ", ", info.app, info.version);
    if (info.app != app || (version.empty() ? !info.active : info.version != version)) continue;
    const auto body = store_.read_app(everybody(), app, info.version);
    if (!body) return body.error();
    if (*body) return AppFiles{app, info.version, files_in(**body)};
  }
  return Error{ErrorCode::not_found,
               format("{} {} is not deployed here; there is {}", app, version.empty() ? "(an active version)" : version,
                      there.empty() ? "nothing" : there)};
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

Status Apps::fetch_for(const JobFilter& filter) const {
  if (filter.where.empty() && filter.activity.empty()) return {};
  const auto known = store_.list_apps(everybody());
  if (!known) return known.error();
  for (const store::AppInfo& info : *known)
    if (filter.graph.empty() || info.app == app_of(GraphName(filter.graph)))
      if (const auto graphs = graphs_of(info); !graphs) return graphs.error();
  return {};
}

Result<GraphName> Apps::graph_of(const std::string& topic) const {
  const auto versions = list();
  if (!versions) return versions.error();
  std::string topics;
  for (const AppVersion& version : *versions)
    for (const std::string& one : version.topics) {
      if (one == topic) return GraphName(execute::graph_name(version.app, topic));
      topics += format("{}{}", topics.empty() ? "" : ", ", one);
    }
  return Error{ErrorCode::not_found, format("no deployed app subscribes to {}; topics here: {}", topic,
                                            topics.empty() ? "none (deploy an app first)" : topics)};
}

Result<std::shared_ptr<const Graph>> Apps::started_by(const std::string& asked) const {
  if (auto known = graphs_.preferred(GraphName(asked))) return known;
  const auto apps = store_.list_apps(everybody());
  if (!apps) return apps.error();
  std::string topics;
  for (const store::AppInfo& info : *apps) {
    if (!info.active) continue;
    const auto graphs = graphs_of(info);
    if (!graphs) return graphs.error();
    for (const auto& graph : *graphs) {
      const std::string& topic = execute::GraphProgram::of(*graph)->source().subscribes;
      topics += format("{}{}", topics.empty() ? "" : ", ", topic);
      if (topic != asked && graph->name().raw() != asked) continue;
      graphs_.prefer(info.app, graph->version());
      return graph;
    }
  }
  // Deployed here, but no version is active.
  if (auto known = graphs_.newest(GraphName(asked))) return known;
  return Error{ErrorCode::not_found, format("no active app has a graph {0} or subscribes to {0}; topics here: {1}",
                                            asked, topics.empty() ? "none (deploy an app first)" : topics)};
}

Result<std::shared_ptr<const Graph>> Apps::as_hotmesh(std::shared_ptr<const Graph> graph) const {
  const graph::App& app = execute::GraphProgram::of(*graph)->app();
  if (app.dialect == graph::Dialect::hotmesh) return graph;
  const std::string version = app.version + "+hotmesh";
  const store::AppInfo twin{app.id, version, false, {}};
  const auto find = [&](const std::vector<std::shared_ptr<const Graph>>& graphs) -> std::shared_ptr<const Graph> {
    for (const auto& one : graphs)
      if (one->name() == graph->name() && one->version() == execute::version_number(version)) return one;
    return nullptr;
  };
  if (auto known = find(graphs_.of_app(app.id))) return known;
  const auto body = store_.read_app(everybody(), app.id, app.version);
  if (!body) return body.error();
  if (!*body)
    return Error{ErrorCode::not_found, format("app {} version {} is not deployed in this store", app.id, app.version)};
  const std::string marked = as_for_hotmesh(**body);
  if (const graph::Checked checked = unpack(marked); checked.app == nullptr) return mistakes_of(checked);
  const std::string what = format("app {} version {}", app.id, version);
  if (const auto kept = refused(commit_(store::PutApp{everybody(), app.id, version, marked}), what); !kept)
    return kept.error();
  const auto graphs = graphs_of(twin);
  if (!graphs) return graphs.error();
  if (auto made = find(*graphs)) return made;
  return Error{ErrorCode::not_found, format("{} has no graph {}", what, graph->name().raw())};
}

Result<core::GraphRef> Apps::prepare(JobRequest& request) const {
  auto graph = started_by(request.graph);
  if (graph && request.options.compat_hotmesh) graph = as_hotmesh(std::move(*graph));
  if (!graph) return graph.error();
  const execute::GraphProgram& program = *execute::GraphProgram::of(**graph);
  auto input = program.check_start(request.input);
  if (!input) return input.error();
  request.input = std::move(*input);
  request.graph = (*graph)->name().raw();
  if (request.options.id.empty()) {
    const auto id = program.start_id(request.input, store_.now());
    if (!id) return id.error();
    request.options.id = *id ? (*id)->raw() : fresh_id(ref_of(**graph), store_.now());
  }
  return ref_of(**graph);
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
