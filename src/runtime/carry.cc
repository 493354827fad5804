#include "runtime/carry.h"

#include <set>
#include <unordered_map>

#include "base/format.h"
#include "core/children.h"
#include "core/kind_state.h"
#include "core/program.h"
#include "core/secret.h"
#include "runtime/digits.h"

namespace pawl::runtime {

namespace {

using Kind = Graph::Kind;

constexpr std::string_view try_word = "/try.";

// Those that ask somebody, or tell somebody something: they are not done twice. All others follow from them.
bool acts(Kind kind) {
  return kind == Kind::worker || kind == Kind::await || kind == Kind::hook || kind == Kind::signal ||
         kind == Kind::interrupt;
}

std::set<std::uint32_t> reached_from(const Graph& graph, const std::string& name) {
  std::set<std::uint32_t> reached;
  std::vector<std::uint32_t> next;
  for (std::uint32_t i = 0; i < graph.nodes().size(); ++i)
    if (graph.nodes()[i].name.raw() == name) next.push_back(i);
  while (!next.empty()) {
    const std::uint32_t node = next.back();
    next.pop_back();
    if (!reached.insert(node).second) continue;
    for (const Graph::Edge& edge : graph.nodes()[node].edges) next.push_back(edge.to);
    // A map's body is not behind an edge of its own, and neither is its closing join.
    if (graph.nodes()[node].kind == Kind::map && graph.nodes()[node].aim) next.push_back(*graph.nodes()[node].aim);
  }
  return reached;
}

class Carrier {
 public:
  Carrier(const core::JobState& state, const Graph& graph, WorkNames names)
      : state_(state), graph_(graph), names_(names), draft_(state) {
    for (const core::Activity& activity : state.activities())
      if (graph.nodes()[activity.node].is_undo && activity.parent) undone_.insert(activity.parent->raw());
    for (const auto& [guid, record] : state.messages()) records_[record.activity].push_back(&record);
  }

  Result<std::vector<core::Carried>> all(const std::set<std::uint32_t>& without) {
    std::vector<core::Carried> made;
    for (const core::Activity& activity : state_.activities()) {
      const Graph::Node& node = graph_.nodes()[activity.node];
      if (!acts(node.kind) || node.is_undo || undone_.contains(activity.seq.raw())) continue;
      if (activity.status == core::ActivityStatus::skipped || is_passed_through(activity, node)) continue;
      if (activity.ledger.entries() > 1)
        return Error{ErrorCode::unsupported,
                     format("activity {} was answered in several parts, which cannot be taken over: start the job "
                            "again from its input (pawl rerun {})",
                            node.name.raw(), state_.job.id.raw())};
      const bool kept = !without.contains(activity.node) && is_taken(activity);
      if (kept)
        made.push_back(answer_of(activity, node));
      else if (auto again = asked_again(activity, node))
        made.push_back(std::move(*again));
    }
    return made;
  }

 private:
  core::Sight sight_of(const core::Activity& activity) const {
    core::Sight sight{draft_, activity.node, activity.at.in_plane(0), activity.closed_at};
    sight.output = &activity.output;
    sight.code = activity.code;
    const bool failed = activity.status == core::ActivityStatus::errored;
    sight.status = failed ? core::ReplyStatus::error : core::ReplyStatus::success;
    return sight;
  }

  // A hook that waits for nothing is its own answer.
  bool is_passed_through(const core::Activity& activity, const Graph::Node& node) const {
    if (node.kind != Kind::hook) return false;
    if (graph_.program() == nullptr) return true;
    const auto wait = graph_.program()->wait(sight_of(activity));
    return wait && !wait->sleep && !wait->mailbox;
  }

  // An answer that the job went on with. An error that nobody caught is none.
  bool is_taken(const core::Activity& activity) const {
    if (activity.status == core::ActivityStatus::completed) return true;
    if (activity.status != core::ActivityStatus::errored) return false;
    if (graph_.program() == nullptr) {
      for (const Graph::Edge& edge : graph_.nodes()[activity.node].edges)
        if (core::fires(edge.when, core::ReplyStatus::error, activity.code)) return true;
      return false;
    }
    const auto fired = graph_.program()->fired(sight_of(activity));
    return fired && !fired->empty();
  }

  std::string child_of(const core::Activity& activity) const {
    const auto state = core::decode_state<core::AwaitState>(activity.state.view());
    return state ? state->child : std::string();
  }

  core::Carried answer_of(const core::Activity& activity, const Graph::Node& node) const {
    core::Carried carried;
    carried.node = activity.node;
    carried.at = activity.at;
    carried.code = activity.code;
    const bool failed = activity.status == core::ActivityStatus::errored;
    carried.status = failed ? core::ReplyStatus::fatal : core::ReplyStatus::success;
    carried.data = activity.output;
    if (graph_.program() != nullptr && !failed) {
      auto said = graph_.program()->said(activity.node, activity.output);
      carried.data = std::move(said.data);
      carried.speaker = said.speaker;
    }
    if (node.kind == Kind::await) carried.child = child_of(activity);
    return carried;
  }

  // The name of the work that an instance asks for follows from the message that opened it, and that one from its
  // parent's: no row has it once the work is over.
  std::optional<core::Guid> request_of(const core::Activity& activity) const {
    if (const core::WorkItem* item = state_.find_work(activity.seq)) return item->request;
    if (const core::Carried* known = draft_.carried(activity.node, activity.at); known != nullptr)
      if (known->request != core::Guid{}) return known->request;
    const core::Activity* parent = activity.parent ? state_.find(*activity.parent) : nullptr;
    if (parent == nullptr || activity.at.depth() < 2) return std::nullopt;
    const std::uint32_t plane = activity.at.prefix(activity.at.depth() - 1).plane();
    const auto& edges = graph_.nodes()[parent->node].edges;
    const auto entered = entered_in(*parent, plane);
    // One of these, and an answer to it has a name that follows from it.
    for (const core::MessageRecord* record : entered)
      for (std::size_t i = 0; i < edges.size(); ++i)
        if (const core::Guid request = request_by(*record, i); is_answered(activity, request)) return request;
    // No answer was kept: which edges fired then is computed again.
    for (const core::MessageRecord* record : entered) {
      const auto fired = fired_by(*parent, plane, *record);
      for (std::size_t i = 0; i < fired.size(); ++i)
        if (fired[i] < edges.size() && edges[fired[i]].to == activity.node) return request_by(*record, i);
    }
    return std::nullopt;
  }

  std::vector<const core::MessageRecord*> entered_in(const core::Activity& activity, std::uint32_t plane) const {
    std::vector<const core::MessageRecord*> entered;
    if (const auto all = records_.find(activity.seq); all != records_.end())
      for (const core::MessageRecord* record : all->second)
        if (record->ledger.plane() == plane) entered.push_back(record);
    return entered;
  }
  // Of the work behind the child that this message spawned, counted from 0.
  core::Guid request_by(const core::MessageRecord& spawner, std::size_t child) const {
    return core::work_request(state_.job.secret, spawner.guid.derive(core::Guid::Purpose::transition, child));
  }
  bool is_answered(const core::Activity& activity, const core::Guid& request) const {
    const core::MessageRecord* answer = state_.find_message(request.derive(core::Guid::Purpose::response_final, 0));
    return answer != nullptr && answer->activity == activity.seq;
  }

  std::vector<std::uint32_t> fired_by(const core::Activity& parent, std::uint32_t plane,
                                      const core::MessageRecord& record) const {
    std::vector<std::uint32_t> fired;
    if (graph_.program() == nullptr) {
      const auto& edges = graph_.nodes()[parent.node].edges;
      const bool failed = parent.status == core::ActivityStatus::errored;
      const auto status = failed ? core::ReplyStatus::error : core::ReplyStatus::success;
      for (std::uint32_t i = 0; i < edges.size(); ++i)
        if (core::fires(edges[i].when, status, parent.code)) fired.push_back(i);
      return fired;
    }
    core::Sight sight = sight_of(parent);
    sight.at = parent.at.in_plane(plane);
    if (!record.output.empty()) sight.output = &record.output;
    auto edges = graph_.program()->fired(sight);
    return edges ? std::move(*edges) : fired;
  }

  // Work keeps its name, if it is the same work; the child of an await gets the next one. None: nothing is known of it.
  std::optional<core::Carried> asked_again(const core::Activity& activity, const Graph::Node& node) const {
    core::Carried carried;
    carried.node = activity.node;
    carried.at = activity.at;
    carried.answered = false;
    if (node.kind == Kind::worker) {
      if (names_ == WorkNames::fresh) return std::nullopt;
      const auto request = request_of(activity);
      if (!request) return std::nullopt;
      carried.request = *request;
      return carried;
    }
    if (node.kind != Kind::await) return std::nullopt;
    const std::string child = child_of(activity);
    if (child.empty()) return std::nullopt;
    carried.failed = 1;
    const auto at = child.rfind(try_word);
    if (at != std::string::npos) {
      const auto number = number_in<std::uint32_t>(std::string_view(child).substr(at + try_word.size()));
      if (number) carried.failed = *number;
    }
    return carried;
  }

  const core::JobState& state_;
  const Graph& graph_;
  const WorkNames names_;
  const core::Draft draft_;
  std::unordered_map<core::ActivitySeq, std::vector<const core::MessageRecord*>> records_;
  std::set<std::uint32_t> undone_;
};

}  // namespace

Result<std::vector<core::Carried>> carried_from(const core::JobState& state, const Graph& graph, WorkNames names,
                                                const std::string& from) {
  std::set<std::uint32_t> without;
  if (!from.empty()) {
    without = reached_from(graph, from);
    if (without.empty()) {
      std::string known;
      for (const Graph::Node& node : graph.nodes()) known += (known.empty() ? "" : ", ") + node.name.raw();
      return Error{ErrorCode::invalid,
                   format("graph {} has no activity {}; it has: {}", graph.name().raw(), from, known)};
    }
  }
  return Carrier(state, graph, names).all(without);
}

}  // namespace pawl::runtime
