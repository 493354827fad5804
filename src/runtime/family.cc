#include "runtime/family.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "core/child_name.h"
#include "core/kind_state.h"
#include "mapping/json_parse.h"
#include "runtime/collate.h"

namespace pawl::runtime {

namespace {

// The output of an await that does not wait is the id of the job it started.
std::string id_in(const Payload& output) {
  const auto value = mapping::parse_json(output.view());
  if (!value || !value->is_object()) return "";
  const boost::json::value* id = value->get_object().if_contains("job_id");
  return id != nullptr && id->is_string() ? std::string(id->get_string()) : "";
}

}  // namespace

// The id may belong to a job that is unrelated to this one: then the await was refused.
std::optional<Family::Child> Family::taken_by(const core::JobState& parent, const core::Activity& activity,
                                              std::string id) const {
  if (id.empty() || id.size() > limits::name_bytes_max) return std::nullopt;
  const auto run = store_.find_run(parent.job.name_space, JobId(id));
  if (!run || !*run) return std::nullopt;
  const auto job = store_.read_job(**run);
  if (!job || !*job) return std::nullopt;
  const auto& link = (*job)->state.job.parent;
  if (!link || link->run != parent.job.run || link->activity != activity.seq) return std::nullopt;
  return Child{std::move(id), **run};
}

std::optional<Family::Child> Family::child_of(const core::JobState& state, const core::Activity& activity,
                                              const Graph& graph) const {
  const auto kind = core::decode_kind_state(activity.state.view());
  const auto* await = kind ? std::get_if<core::AwaitState>(&*kind) : nullptr;
  if (await != nullptr && !await->child.empty()) return taken_by(state, activity, await->child);
  if (auto named =
          taken_by(state, activity, core::child_name(state.job.id, graph.nodes()[activity.node].name, activity.at)))
    return named;
  return taken_by(state, activity, id_in(activity.output));
}

std::optional<ledger::CollationKey> Family::key_of(RunId run, std::uint32_t depth) const {
  if (depth > ledger::CollationKey::awaited_depth_max) return std::nullopt;
  const auto job = store_.read_job(run);
  if (!job || !*job) return std::nullopt;
  const auto graph = graphs_.find((*job)->state.job.graph);
  if (graph == nullptr) return std::nullopt;
  const auto key = key_of((*job)->state, *graph, depth);
  return key ? std::optional(*key) : std::nullopt;
}

Result<ledger::CollationKey> Family::key_of(const core::JobState& state, const Graph& graph,
                                            std::uint32_t depth) const {
  return collation_key_of(state, graph, [&](const core::Activity& activity) -> std::optional<ledger::CollationKey> {
    const auto child = child_of(state, activity, graph);
    if (!child) return std::nullopt;
    return key_of(child->run, depth + 1);
  });
}

void Family::complete(JobDetail& detail, const core::JobState& state, const Graph& graph) const {
  for (const core::Activity& activity : state.activities()) {
    if (activity.node >= graph.nodes().size() || graph.nodes()[activity.node].kind != Graph::Kind::await) continue;
    if (activity.seq.raw() >= detail.activities.size()) continue;
    if (const auto child = child_of(state, activity, graph)) detail.activities[activity.seq.raw()].child = child->id;
  }
  const auto key = key_of(state, graph, 1);
  detail.collation_key = key ? key->text() : key.error().detail;
}

}  // namespace pawl::runtime
