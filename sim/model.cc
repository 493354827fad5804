#include "sim/model.h"

#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "sim/trace.h"

namespace pawl::sim {

namespace {

using core::ReplyStatus;

std::string joined(std::vector<std::string> parts) {
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

std::string describe(const std::string& name, bool errored, std::int32_t code,
                     std::string_view output, std::vector<std::string> planes) {
  const std::size_t entries = planes.size();
  return format("{}({}{} {:08x} entries={}{})", name, errored ? "error " : "", code,
                hash_of(output) & 0xffffffff, entries, joined(std::move(planes)));
}

// --- the model

struct Walk {
  const Scenario& scenario;
  const Graph& graph;
  bool fails = false;

  bool fires(const Condition& when, ReplyStatus status, std::int32_t code) const {
    if (when.kind() == Condition::Kind::always) return status != ReplyStatus::error;
    if (when.kind() == Condition::Kind::on_error) return status == ReplyStatus::error;
    return std::count(when.code_list().begin(), when.code_list().end(), code) > 0;
  }

  // One reply and all that follows from it.
  std::string plane(const Graph::Node& node, ReplyStatus status, std::int32_t code,
                    const Payload& data) {
    std::vector<std::string> children;
    for (const Graph::Edge& edge : node.edges)
      if (fires(edge.when, status, code))
        children.push_back(activity(graph.nodes()[edge.to], data));
    if (children.empty() && status == ReplyStatus::error) fails = true;
    return "[" + joined(std::move(children)) + "]";
  }

  std::string activity(const Graph::Node& node, const Payload& input) {
    const std::string topic = node.topic.raw();
    const Behaviour& behaviour = scenario.behaviour(topic);
    std::vector<std::string> planes;
    for (std::uint32_t i = 0; i < behaviour.pendings; ++i)
      planes.push_back(
          plane(node, ReplyStatus::pending, 202, reply_data(topic, input.view(), behaviour, i)));
    const Payload output = reply_data(topic, input.view(), behaviour, std::nullopt);
    planes.push_back(plane(node, behaviour.status, behaviour.code, output));
    return describe(node.name.raw(), behaviour.status == ReplyStatus::error, behaviour.code,
                    output.view(), std::move(planes));
  }
};

// --- the canonical form

using store::memory::DumpedJob;

class Reader {
 public:
  Reader(const DumpedJob& job, const Graph& graph, Verdict& verdict)
      : job_(job), graph_(graph), verdict_(verdict) {}

  std::string activity(const core::Activity& instance) {
    std::vector<std::string> planes;
    for (const core::MessageRecord& record : job_.records)
      if (record.activity == instance.seq) planes.push_back(plane(instance, record));
    if (planes.size() != instance.ledger.entries())
      verdict_.fail("entries", format("{}: {} entries and {} messages", name(instance),
                                      instance.ledger.entries(), planes.size()));
    using Mark = ledger::ActivityLedger::Mark;
    for (const Mark mark : {Mark::leg1_complete, Mark::work_done, Mark::children_spawned})
      if (!instance.ledger.has(mark))
        verdict_.fail("marks", format("{} ended as {}", name(instance), instance.ledger.digits()));
    return describe(name(instance), instance.status == core::ActivityStatus::errored, instance.code,
                    instance.output.view(), std::move(planes));
  }

 private:
  std::string name(const core::Activity& instance) const {
    return graph_.nodes()[instance.node].name.raw();
  }

  std::string plane(const core::Activity& parent, const core::MessageRecord& record) {
    using Step = ledger::MessageLedger::Step;
    if (!record.ledger.done(Step::work) || !record.ledger.done(Step::spawn))
      verdict_.fail("marks",
                    format("a message of {} ended as {}", name(parent), record.ledger.digits()));
    std::vector<std::string> children;
    const ledger::Dimensions at = parent.at.in_plane(record.ledger.plane()).child();
    for (const core::Activity& child : job_.activities)
      if (child.parent == parent.seq && child.at == at) children.push_back(activity(child));
    return "[" + joined(std::move(children)) + "]";
  }

  const DumpedJob& job_;
  const Graph& graph_;
  Verdict& verdict_;
};

}  // namespace

Payload input_of(const WantedJob& job) {
  return Payload(format("{{\"job\":\"{}/{}\"}}", job.name_space, job.id));
}

Expected expect(const Scenario& scenario, const WantedJob& job) {
  const auto graph = scenario.graphs->newest(GraphName(job.graph));
  invariant(graph != nullptr, "a scenario deploys the graphs of its jobs");
  Walk walk{scenario, *graph};
  const Graph::Node& trigger = graph->nodes()[graph->trigger()];
  const Payload input = input_of(job);
  const std::string planes = walk.plane(trigger, ReplyStatus::success, 200, input);
  return {walk.fails, describe(trigger.name.raw(), false, 200, input.view(), {planes})};
}

std::string canonical_of(const DumpedJob& job, const Graph& graph, Verdict& verdict) {
  if (job.activities.empty()) return "nothing";
  return Reader(job, graph, verdict).activity(job.activities.front());
}

}  // namespace pawl::sim
