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

std::string describe(const std::string& name, bool errored, std::int32_t code, std::string_view output,
                     std::vector<std::string> planes) {
  const std::size_t entries = planes.size();
  return format("{}({}{} {:08x} entries={}{})", name, errored ? "error " : "", code, hash_of(output) & 0xffffffff,
                entries, joined(std::move(planes)));
}

// --- the model

// How one activity ends, under any interference.
struct Ending {
  ReplyStatus status = ReplyStatus::success;
  std::int32_t code = 200;
  Payload output;
  std::uint64_t runs = 1;      // without a fault
  std::uint32_t redrives = 0;  // it needs this many
  bool parks = false;
  bool never = false;
};

bool is_failure(ReplyStatus status) { return status == ReplyStatus::error || status == ReplyStatus::fatal; }

struct Walk {
  const Scenario& scenario;
  const Graph& graph;
  bool redriven = false;
  Expected expected{};

  bool fires(const core::Condition& when, ReplyStatus status, std::int32_t code) const {
    if (when.kind() == core::Condition::Kind::always) return !is_failure(status);
    if (when.kind() == core::Condition::Kind::on_error) return is_failure(status);
    return std::count(when.code_list().begin(), when.code_list().end(), code) > 0;
  }
  bool caught(const Graph::Node& node, ReplyStatus status, std::int32_t code) const {
    return std::any_of(node.edges.begin(), node.edges.end(),
                       [&](const Graph::Edge& edge) { return fires(edge.when, status, code); });
  }

  static Ending timed_out(const char* what, std::uint64_t runs) {
    return {ReplyStatus::error, 408, Payload(format("\"no answer: its {} timeout ran out\"", what)), runs};
  }

  // It never gets a reply.
  Ending silence(const Graph::Node& node, const Behaviour& behaviour, const Payload& input) const {
    const std::string topic = node.topic.raw();
    const Timeouts& times = node.policy.timeouts;
    if (behaviour.unserved) return timed_out("queue", 0);
    if (times.total().count() != 0) return timed_out("total", 1);
    if (times.attempt().count() == 0) return {.never = true};
    if (node.policy.guarantee == Guarantee::at_least_once) return timed_out("attempt", 1);
    if (behaviour.finding == Behaviour::Finding::failed)
      return {ReplyStatus::fatal, 500, failure_data(topic, input.view())};
    return {ReplyStatus::success, 200, reply_data(topic, input.view(), behaviour, std::nullopt)};
  }

  Ending ending(const Graph::Node& node, const Behaviour& behaviour, const Payload& input) const {
    const std::string topic = node.topic.raw();
    if (behaviour.unserved || behaviour.silent_runs == for_ever) return silence(node, behaviour, input);
    const bool always_fails = is_failure(behaviour.status) || behaviour.fails_first == for_ever;
    Ending success{behaviour.status, behaviour.code, reply_data(topic, input.view(), behaviour, std::nullopt)};
    const bool once = node.policy.guarantee == Guarantee::at_most_once;
    const bool run_again =
        !once || node.policy.when_unknown == WhenUnknown::retry || behaviour.finding == Behaviour::Finding::retry;
    success.runs +=
        behaviour.silent_tries + behaviour.fails_first + behaviour.forgotten + (run_again ? behaviour.silent_runs : 0);
    success.runs += behaviour.gives_back;
    if (!always_fails && behaviour.fails_first == 0) return success;

    Ending failure{behaviour.failure, behaviour.failure_code, failure_data(topic, input.view())};
    if (is_failure(behaviour.status)) failure = {behaviour.status, behaviour.code, success.output};
    const Retry& retry = node.policy.retry;
    const auto& never_on = retry.never_on();
    const bool retryable = node.policy.retries && failure.status != ReplyStatus::fatal &&
                           std::count(never_on.begin(), never_on.end(), failure.code) == 0;
    failure.runs += behaviour.gives_back;
    if (!retryable) return failure;
    failure.runs = retry.attempts() + behaviour.gives_back;
    const bool parks = retry.when_exhausted() == WhenExhausted::park && !caught(node, failure.status, failure.code);
    const bool enough = !always_fails && behaviour.fails_first < retry.attempts();
    if (enough) return success;
    if (!parks) return failure;
    failure.parks = true;
    if (!redriven || always_fails) return failure;
    success.redrives = behaviour.fails_first / retry.attempts();
    return success;
  }

  // One reply and everything that follows from it.
  std::string plane(const Graph::Node& node, ReplyStatus status, std::int32_t code, const Payload& data) {
    std::vector<std::string> children;
    for (const Graph::Edge& edge : node.edges)
      if (fires(edge.when, status, code)) children.push_back(activity(graph.nodes()[edge.to], data));
    if (children.empty() && is_failure(status)) worsen(Expected::End::failed);
    return "[" + joined(std::move(children)) + "]";
  }

  // The worst end of a branch is the end of the job: a failure is final, the other ends only keep the job open.
  void worsen(Expected::End end) {
    if (expected.end == Expected::End::failed) return;
    if (end == Expected::End::failed || expected.end == Expected::End::completed) expected.end = end;
  }

  std::string activity(const Graph::Node& node, const Payload& input) {
    const std::string topic = node.topic.raw();
    const Behaviour& behaviour = scenario.behaviour(topic);
    const Ending end = ending(node, behaviour, input);
    expected.runs += end.runs;
    expected.redrives = std::max(expected.redrives, end.redrives);
    std::vector<std::string> planes;
    for (std::uint32_t i = 0; i < behaviour.pendings; ++i)
      planes.push_back(plane(node, ReplyStatus::pending, 202, reply_data(topic, input.view(), behaviour, i)));
    if (end.never) return worsen(Expected::End::never), std::string();
    if (end.parks) return worsen(Expected::End::parked), std::string();
    planes.push_back(plane(node, end.status, end.code, end.output));
    return describe(node.name.raw(), is_failure(end.status), end.code, end.output.view(), std::move(planes));
  }
};

// --- the canonical form

using store::memory::DumpedJob;

class Reader {
 public:
  Reader(const DumpedJob& job, const Graph& graph, Verdict& verdict) : job_(job), graph_(graph), verdict_(verdict) {}

  std::string activity(const core::Activity& instance) {
    std::vector<std::string> planes;
    for (const core::MessageRecord& record : job_.records)
      if (record.activity == instance.seq) planes.push_back(plane(instance, record));
    if (planes.size() != instance.ledger.entries())
      verdict_.fail("entries",
                    format("{}: {} entries and {} messages", name(instance), instance.ledger.entries(), planes.size()));
    using Mark = ledger::ActivityLedger::Mark;
    for (const Mark mark : {Mark::leg1_complete, Mark::work_done, Mark::children_spawned})
      if (!instance.ledger.has(mark))
        verdict_.fail("marks", format("{} ended as {}", name(instance), instance.ledger.digits()));
    return describe(name(instance), instance.status == core::ActivityStatus::errored, instance.code,
                    instance.output.view(), std::move(planes));
  }

 private:
  std::string name(const core::Activity& instance) const { return graph_.nodes()[instance.node].name.raw(); }

  std::string plane(const core::Activity& parent, const core::MessageRecord& record) {
    using Step = ledger::MessageLedger::Step;
    if (!record.ledger.done(Step::work) || !record.ledger.done(Step::spawn))
      verdict_.fail("marks", format("a message of {} ended as {}", name(parent), record.ledger.digits()));
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
  if (!job.input.empty()) return Payload(job.input);
  return Payload(format("{{\"job\":\"{}/{}{}\"}}", job.name_space, job.id, job.tag));
}

Expected expect(const Scenario& scenario, const WantedJob& job) {
  if (scenario.is_graphs()) return {};  // Scenario::ends
  const auto graph = scenario.graphs->newest(GraphName(job.graph));
  invariant(graph != nullptr, "a scenario deploys the graphs of its jobs");
  Walk walk{scenario, *graph};
  for (const Ask& ask : scenario.asks) {
    if (ask.of != job.id || ask.name_space != job.name_space) continue;
    walk.redriven = walk.redriven || ask.kind == Ask::Kind::redrive;
    walk.expected.interruptible = walk.expected.interruptible || ask.kind == Ask::Kind::interrupt;
  }
  for (const WantedJob& other : scenario.jobs)
    if (other.id == job.id && other.name_space == job.name_space && other.reuse == store::Reuse::replace)
      walk.expected.interruptible = true;
  if (job.end_within.count() != 0) walk.expected.interruptible = true;
  const Graph::Node& trigger = graph->nodes()[graph->trigger()];
  const Payload input = input_of(job);
  const std::string planes = walk.plane(trigger, ReplyStatus::success, 200, input);
  walk.expected.canonical = describe(trigger.name.raw(), false, 200, input.view(), {planes});
  // A race decides what still ran in a job that fails, parks or is interrupted.
  if (walk.expected.end != Expected::End::completed) walk.expected.runs_known = false;
  if (job.reuse != store::Reuse::never) walk.expected.runs_known = false;
  // The writes of a worker with a transaction whose job was stopped meanwhile are undone; it runs again, or never.
  const bool stops = std::any_of(scenario.asks.begin(), scenario.asks.end(), [&](const Ask& ask) {
    return ask.of == job.id && (ask.kind == Ask::Kind::interrupt || ask.kind == Ask::Kind::pause);
  });
  const bool transacts = std::any_of(graph->nodes().begin(), graph->nodes().end(), [&](const Graph::Node& node) {
    return scenario.behaviour(node.topic.raw()).transaction;
  });
  if (stops && transacts) walk.expected.runs_known = false;
  return walk.expected;
}

std::string graph_job_problem(const DumpedJob& job, const Graph& graph, const JobEnd& end) {
  if (end.or_else && job.job.status == *end.or_else) return {};
  if (job.job.status != end.status)
    return format("is {} and should be {} ({})", core::name_of(job.job.status), core::name_of(end.status),
                  job.job.reason);
  const std::string data = job.job.data.empty() ? "{}" : job.job.data.str();
  if (!end.data.empty() && std::find(end.data.begin(), end.data.end(), data) == end.data.end())
    return format("has the data {}, and should have {}", data, end.data.front());
  for (const core::Activity& done : job.activities) {
    const auto undo = graph.nodes()[done.node].undo;
    if (!end.undone || !undo || done.status != core::ActivityStatus::completed) continue;
    const bool undone = std::any_of(job.activities.begin(), job.activities.end(), [&](const core::Activity& one) {
      return one.node == *undo && one.parent == done.seq && one.status == core::ActivityStatus::completed;
    });
    if (!undone) return format("ended and did not undo {}", graph.nodes()[done.node].name.raw());
  }
  for (const auto& [name, wanted] : end.instances) {
    const auto count = std::count_if(
        job.activities.begin(), job.activities.end(),
        [&, &name = name](const auto& activity) { return graph.nodes()[activity.node].name.raw() == name; });
    if (static_cast<std::uint32_t>(count) != wanted)
      return format("has {} instances of {}, not {}", count, name, wanted);
  }
  return {};
}

std::string canonical_of_graph_job(const DumpedJob& job, const Graph& graph) {
  std::vector<std::string> parts;
  for (const core::Activity& activity : job.activities)
    parts.push_back(format(" {}({} {} {:08x})", graph.nodes()[activity.node].name.raw(), core::name_of(activity.status),
                           activity.code, hash_of(activity.output.view()) & 0xffffffff));
  return format("{} {}{}", core::name_of(job.job.status), job.job.data.view(), joined(std::move(parts)));
}

std::string canonical_of(const DumpedJob& job, const Graph& graph, Verdict& verdict) {
  if (job.activities.empty()) return "nothing";
  return Reader(job, graph, verdict).activity(job.activities.front());
}

}  // namespace pawl::sim
