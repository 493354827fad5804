// A join: the first arrival opens it and brings its obligation, later ones give theirs back. An edge that cannot fire
// any more reports it, so that `all` waits only for what can still come. A join that closes a map exists in the plane
// of every item, where it ends the item, and once more after all of them.
#include <algorithm>
#include <unordered_set>

#include "base/format.h"
#include "core/kinds/kinds.h"

namespace pawl::core::kinds {

namespace {

using Mark = ledger::ActivityLedger::Mark;

bool contains(const std::vector<std::uint32_t>& edges, std::uint32_t edge) {
  return std::find(edges.begin(), edges.end(), edge) != edges.end();
}

// The ancestor on the path whose address has `depth` parts.
ActivitySeq ancestor_at(const Draft& draft, const Activity& of, std::size_t depth) {
  const Activity* at = &of;
  while (at->at.depth() > depth && at->parent) at = draft.find(*at->parent);
  return at->seq;
}

class Skipper {
 public:
  Skipper(Context& context, const Activity& from, std::uint32_t plane, std::uint64_t first_number = 0)
      : context_(context), from_(from), at_(from.at.in_plane(plane)), number_(first_number) {}

  void skip(const Graph::Edge& edge) {
    const Graph::Node& to = context_.node(edge.to);
    const bool waits = to.kind == Graph::Kind::join && to.depth - 1 <= at_.depth();
    if (waits) {
      context_.pass_on(Message{context_.guid().derive(Guid::Purpose::skip, number_++),
                               Arrive{edge.to, place_of_join(to, at_), ancestor_at(context_.draft, from_, to.depth - 1),
                                      edge.number, true}});
      return;
    }
    // A join whose edges all come from here never opens; several edges may lead to it.
    if (!to.before_join || !seen_.insert(edge.to).second) return;
    for (const Graph::Edge& next : to.edges) skip(next);
  }

 private:
  Context& context_;
  const Activity& from_;
  const ledger::Dimensions at_;
  std::unordered_set<std::uint32_t> seen_;
  std::uint64_t number_;
};

enum class Standing : std::uint8_t { waits, satisfied, skipped };

Standing standing_of(const Graph::Node& node, const JoinState& state) {
  if (node.need != 0 && state.arrived.size() >= node.need) return Standing::satisfied;
  if (state.arrived.size() + state.skipped.size() < node.edges_in) return Standing::waits;
  return state.arrived.empty() ? Standing::skipped : Standing::satisfied;
}

// The end of one item: its result is collected, and its map continues.
Status end_item(Context& context, Activity& activity, const JoinState& state) {
  Draft& draft = context.draft;
  auto collected = context.graph.program()->collect(sight_of(context, activity));
  if (!collected) return collected.error();
  auto marked = activity.ledger.with(Mark::leg1_complete);
  if (marked) marked = marked->with(Mark::work_done);
  if (marked) marked = marked->with(Mark::children_spawned);
  if (!marked) return marked.error();
  activity.ledger = *marked;
  activity.output = std::move(*collected);
  activity.status = ActivityStatus::completed;
  activity.code = 200;
  activity.closed_at = context.options.now;
  activity.state = Payload();
  const ActivitySeq map = *activity.parent;
  draft.put(activity);
  if (state.owes) {
    const auto given = give_back(context, activity.seq);
    if (!given) return given;
  }
  context.pass_on(Message{context.guid().derive(Guid::Purpose::item_done, 0), Item{map, 0, true}});
  return {};
}

// None of its edges can fire any more: it never opens, and what follows it is skipped too.
void end_skipped(Context& context, Activity activity) {
  activity.status = ActivityStatus::skipped;
  activity.closed_at = context.options.now;
  activity.state = Payload();
  context.draft.put(activity);
  Skipper skipper(context, activity, 0);
  for (const Graph::Edge& edge : context.node(activity).edges) skipper.skip(edge);
}

}  // namespace

ledger::Dimensions place_of_join(const Graph::Node& join, const ledger::Dimensions& from) {
  return from.prefix(join.depth - 1).child();
}

void skip_edges(Context& context, const Activity& activity, std::uint32_t plane,
                const std::vector<std::uint32_t>& fired, std::uint64_t first_number) {
  const Graph::Node& node = context.node(activity);
  if (!node.before_join) return;
  Skipper skipper(context, activity, plane, first_number);
  for (std::uint32_t i = 0; i < node.edges.size(); ++i)
    if (!contains(fired, i)) skipper.skip(node.edges[i]);
}

// After a map: all items are done, and their results are in order.
Result<Begun> begin_join(Context& context, Activity& activity) {
  const Graph::Node& node = context.node(activity);
  const Activity* map = activity.parent ? context.draft.find(*activity.parent) : nullptr;
  if (map == nullptr || !node.aim || map->node != *node.aim)
    return Error{ErrorCode::corrupt, "a transition leads to a join"};
  std::string items = "{\"items\":[";
  const std::uint32_t planes = activity.at.prefix(context.node(map->node).depth).plane();
  for (std::uint32_t plane = 1; plane < planes; ++plane) {
    const Activity* item = context.draft.find(activity.node, map->at.in_plane(plane).child());
    if (plane > 1) items.push_back(',');
    items.append(item == nullptr || item->output.empty() ? std::string_view("null") : item->output.view());
  }
  return Begun{Begun::Then::answers, Payload(items.append("]}"))};
}

Progress arrive(Context& context, const Arrive& message) {
  Draft& draft = context.draft;
  const Activity* known = draft.find(message.node, message.at);
  const bool goes_on = known != nullptr && draft.find_message(context.guid()) != nullptr;
  if (is_closed(draft.status()) && !goes_on) return acknowledge(context);
  if (context.must_count()) return count_reentry(context);
  static const Payload nothing("{}");
  if (goes_on) return leg2(context, Answer{known->seq, ReplyStatus::success, 200, nothing});
  if (known == nullptr && is_called_off(context, message.node, message.at)) {
    const auto given = message.skipped ? Status{} : pawl::core::give_back(context, message.parent);
    return given ? acknowledge(context) : park(context, given.error());
  }

  auto opened =
      known != nullptr ? Result<Activity>(*known) : open_instance(context, message.node, message.at, message.parent);
  if (!opened) return park(context, opened.error());
  Activity activity = std::move(*opened);
  auto state = decode_state<JoinState>(activity.state.view());
  if (!state) return park(context, state.error());
  if (state->closer == context.guid()) return leg2(context, Answer{activity.seq, ReplyStatus::success, 200, nothing});
  const bool over = activity.ledger.has(Mark::work_done) || activity.status == ActivityStatus::skipped || state->closer;
  const bool owes_before = state->owes;
  if (!over) {
    auto& edges = message.skipped ? state->skipped : state->arrived;
    if (!contains(state->arrived, message.edge) && !contains(state->skipped, message.edge))
      edges.push_back(message.edge);
    if (!message.skipped) state->owes = true;
  }
  const bool gives_back = !message.skipped && (over || owes_before);
  if (over) {
    if (gives_back) {
      const auto given = give_back(context, activity.seq);
      if (!given) return park(context, given.error());
    }
    return acknowledge(context);
  }
  const Graph::Node& node = context.node(message.node);
  const bool ends_item = node.aim.has_value();
  const Standing standing = standing_of(node, *state);
  if (known == nullptr && !ends_item && standing == Standing::waits) {
    const auto timeout = context.graph.program()->timeout(sight_of(context, activity));
    if (!timeout) return park(context, timeout.error());
    if (*timeout) {
      state->request = context.guid();
      state->times_out_at = context.options.now + **timeout;
      draft.put_message(Message{state->timeout_timer(), TimeUp{activity.seq, TimeUp::What::timeout}},
                        state->times_out_at);
    }
  }
  const bool satisfied = standing == Standing::satisfied;
  if (satisfied && !ends_item) state->closer = context.guid();
  activity.state = encode(*state);
  if (!ends_item) {
    // Leg 1 of a join is its first arrival; from then on a timeout may answer it.
    if (!activity.ledger.has(Mark::leg1_complete)) {
      const auto complete = activity.ledger.with(Mark::leg1_complete);
      if (!complete) return park(context, complete.error());
      activity.ledger = *complete;
    }
  }
  const ActivitySeq seq = activity.seq;
  draft.put(activity);
  if (gives_back) {
    const auto given = give_back(context, seq);
    if (!given) return park(context, given.error());
  }
  if (standing != Standing::waits && ends_item) {
    Activity item = *draft.find(seq);
    const auto ended = end_item(context, item, *state);
    if (!ended) return park(context, ended.error());
    return acknowledge(context);
  }
  if (standing == Standing::skipped) {
    end_skipped(context, *draft.find(seq));
    return acknowledge(context);
  }
  if (!satisfied) return acknowledge(context);
  if (context.alone()) return Progress::commit_first;
  return leg2(context, Answer{seq, ReplyStatus::success, 200, nothing});
}

}  // namespace pawl::core::kinds
