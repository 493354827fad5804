#include "core/decide.h"

#include <algorithm>
#include <unordered_map>

#include "base/format.h"
#include "base/invariant.h"
#include "base/limits.h"
#include "core/draft.h"
#include "core/kinds/kinds.h"

namespace pawl::core {

namespace {

// What a stopped job takes: requests to the job itself. A person's answer to a hook is like a signal: it was accepted,
// and stays until the job continues.
bool is_taken_while_stopped(const Context& context) {
  const Body& body = context.delivery.message.body;
  const auto* given = std::get_if<GiveAnswer>(&body);
  if (given == nullptr) return is_control(body);
  const Activity* activity = context.draft.find(given->activity);
  return activity == nullptr || context.node(*activity).kind != Graph::Kind::hook;
}

Progress take(Context& context) {
  if (is_undone(context, context.delivery.message.body)) return acknowledge(context);
  if (is_stopped(context.draft.status()) && !is_taken_while_stopped(context)) return keep_answer(context);
  return std::visit(Overloaded{
                        [&](const Start& start_message) { return start(context, start_message); },
                        [&](const Transition& transition) { return leg1(context, transition); },
                        [&](const Reply& reply) { return take_reply(context, reply); },
                        [&](const Resume& message) { return kinds::resume(context, message); },
                        [&](const TimeUp& message) { return kinds::time_up(context, message); },
                        [&](const ChildDone& message) { return kinds::child_done(context, message); },
                        [&](const Reenter& message) { return kinds::reenter(context, message); },
                        [&](const Arrive& message) { return kinds::arrive(context, message); },
                        [&](const Item& message) { return kinds::take_item(context, message); },
                        [&](const Expand& message) { return kinds::expand(context, message); },
                        [&](const Unlabel& message) { return kinds::unlabel(context, message); },
                        [&](const EndJob& message) { return end_job(context, message); },
                        [&](const NoReply& message) { return no_reply(context, message); },
                        [&](const Verdict& verdict) { return settle(context, verdict); },
                        [&](const Interrupt& message) { return interrupt(context, message); },
                        [&](const Cancel& message) { return cancel(context, message); },
                        [&](const Pause& message) { return pause(context, message); },
                        [&](const Proceed&) { return proceed(context); },
                        [&](const Redrive&) { return redrive(context); },
                        [&](const GiveAnswer& message) { return give_answer(context, message); },
                        // Messages for a mailbox, messages that created the job, or messages that only people read: not
                        // for a running job.
                        each_of<Register, Signal, Withdraw, Taken, Expire, DropSignal, StartChild, Refused>(
                            [&] { return acknowledge(context); }),
                    },
                    context.delivery.message.body);
}

// The activity that a signal, or a person in its place, concludes.
std::optional<ActivitySeq> signalled_by(const Body& body) {
  if (const auto* resume = std::get_if<Resume>(&body)) return resume->activity;
  if (const auto* given = std::get_if<GiveAnswer>(&body)) return given->activity;
  return std::nullopt;
}

// A hook's timer and a signal for the hook may both be here. The signal was accepted before it was known that the time
// is over, perhaps long before, while no engine served the job. So the signal goes first. All other messages keep their
// order.
void put_signals_before_times(std::span<const Delivery> deliveries, std::vector<std::size_t>& order) {
  std::unordered_map<ActivitySeq, std::size_t> last_signals;  // the index of the last signal
  for (const std::size_t i : order)
    if (const auto activity = signalled_by(deliveries[i].message.body)) last_signals[*activity] = i;
  if (last_signals.empty()) return;
  std::vector<std::size_t> sorted;
  std::unordered_map<std::size_t, std::vector<std::size_t>> behind;  // the messages that come after a signal
  for (const std::size_t i : order) {
    const auto* time = std::get_if<TimeUp>(&deliveries[i].message.body);
    const auto signal = time == nullptr ? last_signals.end() : last_signals.find(time->activity);
    if (signal != last_signals.end() && signal->second > i) {
      behind[signal->second].push_back(i);
      continue;
    }
    sorted.push_back(i);
    const auto times = behind.find(i);
    if (times != behind.end()) sorted.insert(sorted.end(), times->second.begin(), times->second.end());
  }
  order = std::move(sorted);
}

// The order of service: the message between its steps 1 and 2 first, then as delivered.
std::vector<std::size_t> order_of(const JobState& state, std::span<const Delivery> deliveries) {
  std::vector<std::size_t> order(deliveries.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  put_signals_before_times(deliveries, order);
  if (const auto half = state.half_done())
    std::stable_partition(order.begin(), order.end(),
                          [&](std::size_t i) { return deliveries[i].message.guid == *half; });
  return order;
}

// Where and why a job stops. A first pass finds it; the writes of that pass are dropped. Half a step must not be
// committed, because the message is served again when the job continues.
struct Stop {
  Guid at;
  Error why;
};

// The message stays until the job is resumed. A reply takes its work item with it, as it does when it is stored.
Progress stop_job(Context& context, const Error& why) {
  Draft& draft = context.draft;
  const Body& body = context.delivery.message.body;
  const auto* answer = std::get_if<Reply>(&body);
  const bool refused = answer != nullptr && refuse(context, *answer);
  // A person's answer that cannot be taken either is refused for good: they see why, and give another one. Not if some
  // of its steps are committed: then it counts.
  const bool given = std::holds_alternative<GiveAnswer>(body) && draft.find_message(context.guid()) == nullptr;
  if (given && context.stored()) draft.consume(context.guid());
  if (!refused && !given && !context.stored()) {
    const WorkItem* item = nullptr;
    if (const auto* reply = std::get_if<Reply>(&body); reply != nullptr && reply->status == ReplyStatus::success)
      item = draft.find_work(reply->activity);
    else if (const auto* silence = std::get_if<NoReply>(&body))
      item = draft.find_work(silence->activity);
    draft.put_message(context.delivery.message);
    if (item != nullptr) draft.drop_work(WorkItem(*item));
  }
  draft.park(to_string(why));
  return given ? Progress::finished : Progress::parked;
}

// One pass over the deliveries.
class Pass {
 public:
  Pass(const JobState& state, const Graph& graph, const DecideOptions& options, const std::optional<Stop>& stop)
      : graph_(graph), options_(options), stop_(stop), draft_(state) {}

  void run(std::span<const Delivery> deliveries) {
    for (const std::size_t index : order_of(draft_.base(), deliveries)) {
      const Progress progress = serve(deliveries[index], index);
      if (found_) return;
      if (progress == Progress::commit_first || progress == Progress::parked) break;
      // The job continues: what waited for that goes before what came later, so all of it is put in order again.
      if (is_stopped(draft_.base().job.status) && draft_.active()) break;
      const bool full = draft_.write_count() >= limits::messages_per_bundle_max;
      if (!draft_.empty() && (options_.fusion == Fusion::off || full)) break;
    }
    if (!draft_.empty()) decision_.bundle = std::move(draft_).build(options_.epoch, options_.id);
  }

  const std::optional<Stop>& found() const { return found_; }
  Decision decision() && { return std::move(decision_); }

 private:
  Progress serve_one(Context& context) {
    if (stop_ && stop_->at == context.guid()) return stop_job(context, stop_->why);
    const Progress progress = take(context);
    if (context.failure) found_ = Stop{context.guid(), *context.failure};
    return progress;
  }

  Progress serve(const Delivery& delivery, std::size_t index) {
    Context context{draft_, graph_, delivery, options_, passed_on_};
    const Progress progress = serve_one(context);
    if (found_) return progress;
    if (progress == Progress::finished) decision_.done.push_back(index);
    if (context.entered) decision_.entered.push_back(index);
    const bool ends = progress == Progress::finished || progress == Progress::parked;
    if (ends && !context.in_vain && !context.stored() && std::holds_alternative<Reply>(delivery.message.body))
      decision_.counted.push_back(index);
    return serve_passed_on() ? progress : Progress::parked;
  }

  // Serves what the steps of this bundle passed on, as far as there is room; the rest is stored and comes back. False:
  // the job stops. What the delivery itself sent is always served whole, so that a fan-out is one bundle. What follows
  // from that is bounded, so that a job that never pauses commits a little at a time and other jobs get their turn.
  bool serve_passed_on() {
    bool parked = false;
    std::size_t sent_first = passed_on_.size();
    while (!passed_on_.empty() && draft_.active() && draft_.write_count() < limits::messages_per_bundle_max) {
      if (sent_first > 0)
        --sent_first;
      else if (!may_go_on())
        break;
      const Delivery delivery{std::move(passed_on_.front()), Origin::unstored};
      passed_on_.pop_front();
      Context context{draft_, graph_, delivery, options_, passed_on_};
      parked = serve_one(context) == Progress::parked;
      if (found_) return false;
    }
    if (!is_closed(draft_.status()))
      for (Message& message : passed_on_) draft_.put_message(std::move(message));
    passed_on_.clear();
    return !parked;
  }

  bool may_go_on() {
    if (steps_ >= options_.steps_max) {
      decision_.goes_on = true;
      return false;
    }
    ++steps_;
    return true;
  }

  const Graph& graph_;
  const DecideOptions& options_;
  const std::optional<Stop>& stop_;
  Draft draft_;
  std::deque<Message> passed_on_;
  std::size_t steps_ = 0;  // steps caused by passed-on messages
  std::optional<Stop> found_;
  Decision decision_;
};

// Tells the program when a decision begins and ends.
class Sitting {
 public:
  explicit Sitting(const Program* program) : program_(program) {
    if (program_ != nullptr) program_->decision_begins();
  }
  Sitting(const Sitting&) = delete;
  Sitting& operator=(const Sitting&) = delete;
  ~Sitting() {
    if (program_ != nullptr) program_->decision_ends();
  }

 private:
  const Program* program_;
};

}  // namespace

Progress acknowledge(Context& context) {
  if (context.stored()) context.draft.consume(context.delivery.message.guid);
  return Progress::finished;
}

Progress park(Context& context, const Error& error) {
  context.failure = error;
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
  // Capped, however often the job was redriven: the count has eight digits.
  const std::uint64_t allowed = std::min<std::uint64_t>(
      std::uint64_t{context.options.reentries_max} * (std::uint64_t{context.draft.redrives()} + 1),
      limits::redeliveries_ceiling);
  if (before >= allowed && !is_closed(context.draft.status()))
    return park(context, Error{ErrorCode::over_limit, format("message {} was entered {} times and never finished",
                                                             delivery.message.guid.shown(), before)});
  if (std::holds_alternative<Transition>(delivery.message.body))
    return Progress::commit_first;  // leg1 counts on its ledger
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
  const Sitting sitting(graph.program());
  std::optional<Stop> stop;
  Pass pass(state, graph, options, stop);
  pass.run(deliveries);
  if (!pass.found()) return std::move(pass).decision();
  stop = pass.found();
  Pass again(state, graph, options, stop);
  again.run(deliveries);
  return std::move(again).decision();
}

}  // namespace pawl::core
