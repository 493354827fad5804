// A map: its list is stored as the message of plane 0. Every item has its own plane; items are entered in order, up to
// the allowed number at the same time. After the last one the closing join continues.
#include "core/kinds/kinds.h"

namespace pawl::core::kinds {

namespace {

using Step = ledger::MessageLedger::Step;

void begin_items(Context& context, const Activity& activity, MapState& state) {
  while (state.begun < state.items && state.begun - state.done < state.parallel) {
    context.pass_on(Message{state.request.derive(Guid::Purpose::item, state.begun), Item{activity.seq, state.begun}});
    ++state.begun;
  }
}

// The list is the first entry: it is written once and does not change with the items.
Status keep_list(Context& context, Activity& activity, Payload list) {
  const auto entered = activity.ledger.with_entry();
  if (!entered) return entered.error();
  auto record = ledger::MessageLedger::opened_by(*entered);
  if (record) record = record->with(Step::work);
  if (record) record = record->with(Step::spawn);
  if (!record) return record.error();
  activity.ledger = *entered;
  context.draft.put(MessageRecord{context.guid().derive(Guid::Purpose::item, ~std::uint64_t{0}), activity.seq, *record,
                                  std::move(list)});
  return {};
}

}  // namespace

Result<Begun> begin_map(Context& context, Activity& activity) {
  auto items = context.graph.program()->items(sight_of(context, activity));
  if (!items) return items.error();
  MapState state;
  state.request = context.guid();
  state.items = items->count;
  state.parallel = std::max<std::uint32_t>(items->parallel, 1);
  const auto kept = keep_list(context, activity, std::move(items->items));
  if (!kept) return kept.error();
  if (state.items == 0) return Begun{Begun::Then::answers, Payload("{}")};
  begin_items(context, activity, state);
  activity.state = encode(state);
  return Begun{};
}

Progress take_item(Context& context, const Item& message) {
  Draft& draft = context.draft;
  const Activity* map = draft.find(message.map);
  const bool goes_on = draft.find_message(context.guid()) != nullptr;
  if (map == nullptr || (is_closed(draft.status()) && !goes_on)) return acknowledge(context);
  if (context.must_count()) return count_reentry(context);
  static const Payload nothing("{}");
  if (!message.done) {
    // Entries are counted, so the plane gives the index of the item: the list is the first one.
    const std::uint32_t index =
        goes_on ? draft.find_message(context.guid())->ledger.plane() - 1 : map->ledger.entries() - 1;
    const MessageRecord* list = draft.find_message(message.map, 0);
    if (list == nullptr) return park(context, Error{ErrorCode::corrupt, "a map without its list"});
    const auto item = context.graph.program()->item(list->output, index);
    if (!item) return park(context, item.error());
    return leg2(context, Answer{message.map, ReplyStatus::success, 200, *item, Answer::Role::item});
  }
  if (!goes_on) {
    auto state = decode_state<MapState>(map->state.view());
    if (!state) return park(context, state.error());
    if (map->state.empty()) return acknowledge(context);  // its timeout has answered it
    Activity activity = *map;
    ++state->done;
    begin_items(context, activity, *state);
    const bool last = state->done == state->items;
    activity.state = encode(*state);
    draft.put(std::move(activity));
    if (!last) return acknowledge(context);
  }
  return leg2(context, Answer{message.map, ReplyStatus::success, 200, nothing});
}

}  // namespace pawl::core::kinds
