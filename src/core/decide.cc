#include "core/decide.h"

#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "base/limits.h"
#include "base/seeded_bug.h"
#include "core/draft.h"
#include "core/kinds/kinds.h"

namespace pawl::core {

namespace {

Progress take(Context& context) {
  if (is_stopped(context.draft.status()) && !is_control(context.delivery.message.body)) return keep_answer(context);
  return std::visit(Overloaded{
                        [&](const Start& start_message) { return start(context, start_message); },
                        [&](const Transition& transition) { return leg1(context, transition); },
                        [&](const Response& response) { return respond(context, response); },
                        [&](const Resume& message) { return kinds::resume(context, message); },
                        [&](const TimeUp& message) { return kinds::time_up(context, message); },
                        [&](const ChildDone& message) { return kinds::child_done(context, message); },
                        [&](const Reenter& message) { return kinds::reenter(context, message); },
                        [&](const Arrive& message) { return kinds::arrive(context, message); },
                        [&](const Item& message) { return kinds::take_item(context, message); },
                        [&](const EndJob& message) { return end_job(context, message); },
                        [&](const auto&) { return acknowledge(context); },  // a mailbox's, or no job's any more
                        [&](const NoAnswer& message) { return no_answer(context, message); },
                        [&](const Verdict& verdict) { return settle(context, verdict); },
                        [&](const Interrupt& message) { return interrupt(context, message); },
                        [&](const Pause& message) { return pause(context, message); },
                        [&](const Proceed&) { return proceed(context); },
                        [&](const Redrive&) { return redrive(context); },
                    },
                    context.delivery.message.body);
}

// The order of service: the message between its steps 1 and 2 first (DESIGN 3.1 g), then as delivered.
std::vector<std::size_t> order_of(const JobState& state, std::span<const Delivery> deliveries) {
  std::vector<std::size_t> order(deliveries.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (const auto half = state.half_done())
    std::stable_partition(order.begin(), order.end(),
                          [&](std::size_t i) { return deliveries[i].message.guid == *half; });
  return order;
}

// What the bundle's own steps sent on, as far as it has room; the rest is stored and comes back. False: the job is
// parked.
bool serve_passed_on(Draft& draft, const Graph& graph, const DecideOptions& options, std::deque<Message>& passed_on) {
  bool parked = false;
  while (!passed_on.empty() && draft.active() && draft.write_count() < limits::messages_per_bundle_max) {
    const Delivery delivery{std::move(passed_on.front()), Origin::unstored};
    passed_on.pop_front();
    Context context{draft, graph, delivery, options, passed_on};
    parked = take(context) == Progress::parked;
  }
  if (!is_closed(draft.status()))
    for (Message& message : passed_on) draft.put_message(std::move(message));
  passed_on.clear();
  return !parked;
}

}  // namespace

Progress acknowledge(Context& context) {
  if (context.stored() && !seeded(SeededBug::consume_forgotten)) context.draft.consume(context.delivery.message.guid);
  return Progress::finished;
}

Progress park(Context& context, const Error& error) {
  // An answer that has no row yet must outlive the stop: its work item may be gone from this very draft.
  if (!context.stored()) context.draft.put_message(context.delivery.message);
  context.draft.park(to_string(error));
  return Progress::parked;
}

std::uint32_t entries_before(const JobState& state, const Delivery& delivery) {
  if (const auto* transition = std::get_if<Transition>(&delivery.message.body)) {
    const Activity* activity = Draft(state).find(transition->node, transition->at, transition->parent);
    return activity == nullptr ? 0 : activity->ledger.leg1_attempts();
  }
  return delivery.redeliveries;
}

Progress count_reentry(Context& context) {
  const Delivery& delivery = context.delivery;
  const std::uint32_t before = entries_before(context.draft.base(), delivery);
  const std::uint32_t allowed = context.options.reentries_max * (context.draft.redrives() + 1);
  if (before >= allowed && !is_closed(context.draft.status()))
    return park(context, Error{ErrorCode::over_limit,
                               format("message {} was entered {} times and never finished", delivery.message.guid.text(),
                                      before)});
  if (std::holds_alternative<Transition>(delivery.message.body)) return Progress::commit_first;  // leg1 counts on its ledger
  context.draft.count_redelivery(delivery.message.guid, delivery.redeliveries);
  context.entered = true;
  return Progress::commit_first;
}

Bundle park(const JobState& state, std::string reason, const DecideOptions& options) {
  Draft draft(state);
  draft.park(std::move(reason));
  return std::move(draft).build(options.epoch, options.id);
}

Decision decide(const JobState& state, const Graph& graph, std::span<const Delivery> deliveries,
                const DecideOptions& options) {
  Decision decision;
  Draft draft(state);
  std::deque<Message> passed_on;
  for (const std::size_t index : order_of(state, deliveries)) {
    Context context{draft, graph, deliveries[index], options, passed_on};
    const Progress progress = take(context);
    if (progress == Progress::finished) decision.done.push_back(index);
    if (context.entered) decision.entered.push_back(index);
    const bool parked = !serve_passed_on(draft, graph, options, passed_on);
    if (progress == Progress::commit_first || progress == Progress::parked || parked) break;
    const bool full = draft.write_count() >= limits::messages_per_bundle_max;
    if (!draft.empty() && (options.fusion == Fusion::off || full)) break;
  }
  if (!draft.empty()) decision.bundle = std::move(draft).build(options.epoch, options.id);
  return decision;
}

}  // namespace pawl::core
