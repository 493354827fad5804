// Bugs of the core, seeded around decide(): each changes its input or its output. Only the copy of the sources for the
// bug hunt has this file. There core/decide.cc and core/mailbox.cc define decide_rightly(), and decide() is here
// (sim/CMakeLists.txt).
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/seeded_bug.h"
#include "core/decide.h"
#include "core/draft.h"
#include "core/kind_state.h"
#include "core/mailbox.h"
#include "store/snapshot.h"

namespace pawl::core {

Decision decide_rightly(const JobState& state, const Graph& graph, std::span<const Delivery> deliveries,
                        const DecideOptions& options);
Decision decide_rightly(const MailboxState& state, std::span<const Delivery> deliveries, const DecideOptions& options,
                        const MailboxCut& cut);

namespace {

using Deliveries = std::vector<Delivery>;

// All writes of one kind, unchanged.
template <class Kind, class Change>
void change(Bundle& bundle, Change change_one) {
  for (Write& write : bundle.writes)
    if (auto* one = std::get_if<Kind>(&write)) change_one(*one);
}
template <class Kind, class Condition>
void drop(Bundle& bundle, Condition is_lost) {
  std::erase_if(bundle.writes, [&](const Write& write) {
    const auto* one = std::get_if<Kind>(&write);
    return one != nullptr && is_lost(*one);
  });
}
template <class Body>
void drop_sends_of(Bundle& bundle) {
  drop<Send>(bundle, [](const Send& send) { return std::holds_alternative<Body>(send.envelope.message.body); });
}
template <class Kind, class Change>
void change_messages(Deliveries& deliveries, Change change_one) {
  for (Delivery& delivery : deliveries)
    if (auto* body = std::get_if<Kind>(&delivery.message.body)) change_one(delivery.message, *body);
}

std::set<Guid> names_of(const Deliveries& deliveries) {
  std::set<Guid> names;
  for (const Delivery& delivery : deliveries) names.insert(delivery.message.guid);
  return names;
}

// Serves these deliveries without doing anything for them.
Decision only_acknowledge(const JobState& state, const Deliveries& deliveries, const std::vector<std::size_t>& some,
                          const DecideOptions& options) {
  Draft draft(state);
  for (const std::size_t i : some)
    if (deliveries[i].origin != Origin::unstored) draft.consume(deliveries[i].message.guid);
  Decision decision;
  decision.done = some;
  if (!draft.empty()) decision.bundle = std::move(draft).build(options.epoch, options.id);
  return decision;
}

std::set<Guid> timers_of(const JobState& state) {
  std::set<Guid> timers;
  for (const Activity& activity : state.activities()) {
    const auto kind = decode_kind_state(activity.state.view());
    if (!kind) continue;
    if (const WaitState* wait = wait_of(*kind)) timers.insert(wait->timeout_timer());
    if (const auto* hook = std::get_if<HookState>(&*kind)) timers.insert(hook->sleep_timer());
    if (const auto* await = std::get_if<AwaitState>(&*kind)) timers.insert(await->retry_timer());
  }
  return timers;
}

// The work of a swept job is put again, after the sweep.
void put_swept_work_again(const JobState& state, Bundle& bundle) {
  const bool sweeps = std::any_of(bundle.writes.begin(), bundle.writes.end(),
                                  [](const Write& write) { return std::holds_alternative<Sweep>(write); });
  if (!sweeps) return;
  std::map<ActivitySeq, WorkItem> work(state.work().begin(), state.work().end());
  for (const Write& write : bundle.writes) {
    if (const auto* put = std::get_if<PutWork>(&write)) work.insert_or_assign(put->item.activity, put->item);
    if (const auto* dropped = std::get_if<DropWork>(&write)) work.erase(dropped->activity);
    const auto* put = std::get_if<PutActivity>(&write);
    if (put != nullptr && put->after.ledger.has(ledger::ActivityLedger::Mark::work_done)) work.erase(put->after.seq);
  }
  for (auto& [seq, item] : work) bundle.writes.emplace_back(PutWork{std::move(item)});
}

void lose_last_child(Bundle& bundle) {
  std::vector<std::size_t> children;
  for (std::size_t i = 0; i < bundle.writes.size(); ++i)
    if (const auto* put = std::get_if<PutMessage>(&bundle.writes[i]);
        put != nullptr && std::holds_alternative<Transition>(put->message.body))
      children.push_back(i);
  if (children.size() > 1) bundle.writes.erase(bundle.writes.begin() + static_cast<std::ptrdiff_t>(children.back()));
}

void forget_who_closed(Bundle& bundle) {
  change<PutRecord>(bundle, [](PutRecord& put) {
    const bool closed = put.after.ledger.job_closed() && !(put.before && put.before->job_closed());
    if (!closed || put.after.ledger.done(ledger::MessageLedger::Step::finish)) return;
    put.after.ledger = *ledger::MessageLedger::decode(static_cast<std::uint64_t>(store::without_snapshot(put)));
  });
}

std::optional<ActivitySeq> activity_of(const Body& body) {
  if (std::holds_alternative<Start>(body)) return ActivitySeq(0);
  if (const auto* reply = std::get_if<Reply>(&body)) return reply->activity;
  if (const auto* resume = std::get_if<Resume>(&body)) return resume->activity;
  if (const auto* timer = std::get_if<TimeUp>(&body)) return timer->activity;
  if (const auto* child = std::get_if<ChildDone>(&body)) return child->activity;
  return std::nullopt;
}

void shift_planes(const Deliveries& deliveries, Bundle& bundle) {
  std::map<ActivitySeq, std::uint32_t> shifts;
  for (const Delivery& delivery : deliveries)
    if (const auto activity = activity_of(delivery.message.body); activity && delivery.redeliveries > 0)
      shifts[*activity] = delivery.redeliveries;
  const auto shifted = [&](ActivitySeq parent, const ledger::Dimensions& at) {
    const auto shift = shifts.find(parent);
    if (shift == shifts.end() || at.depth() < 2) return at;
    const ledger::Dimensions above = at.prefix(at.depth() - 1);
    return above.in_plane(above.plane() + shift->second).child();
  };
  change<PutMessage>(bundle, [&](PutMessage& put) {
    if (auto* transition = std::get_if<Transition>(&put.message.body))
      transition->at = shifted(transition->parent, transition->at);
  });
  change<PutActivity>(bundle, [&](PutActivity& put) {
    if (!put.before && put.after.parent) put.after.at = shifted(*put.after.parent, put.after.at);
  });
}

void wrap_attempts(Bundle& bundle) {
  constexpr std::uint64_t ten_attempts = 10 * 1'000'000'000'000;
  change<PutActivity>(bundle, [](PutActivity& put) {
    if (put.before && put.before->leg1_attempts() == 9 && put.after.ledger.leg1_attempts() == 10)
      put.after.ledger = *ledger::ActivityLedger::decode(put.after.ledger.encode() - ten_attempts);
  });
}

void count_tries(const JobState& state, Bundle& bundle, std::uint32_t as) {
  change<ChangeWork>(bundle, [&](ChangeWork& work) {
    const WorkItem* item = state.find_work(work.activity);
    if (item != nullptr && work.life.failures == item->life.failures + 1) work.life.failures = item->life.failures + as;
  });
}

// The input: the messages and how much may be done with them.
void seed(const JobState& state, Deliveries& deliveries, DecideOptions& options) {
  if (seeded(SeededBug::never_pauses)) options.steps_max = std::numeric_limits<std::size_t>::max();
  if (seeded(SeededBug::replaced_runs_on))
    change_messages<Interrupt>(deliveries, [](Message& message, const Interrupt& interrupt) {
      if (interrupt.reason.starts_with("replaced")) message.body = Expire{};  // which no job has
    });
  if (seeded(SeededBug::end_does_not_descend))
    change_messages<EndJob>(deliveries, [](Message&, EndJob& end) { end.descend = false; });
  if (seeded(SeededBug::cancel_undoes_nothing))
    change_messages<Cancel>(deliveries, [](Message& message, const Cancel& cancel) {
      const Cancel copy = cancel;
      message.body = Interrupt{copy.code, copy.reason};
    });
  if (seeded(SeededBug::answers_not_carried))
    change_messages<Start>(deliveries, [](Message&, Start& start) {
      if (auto given = unpack_start(start.input)) start.input = given->input;
    });
  if (seeded(SeededBug::stale_try_counted))
    change_messages<Reply>(deliveries, [&](Message&, Reply& reply) {
      if (const WorkItem* item = state.find_work(reply.activity)) reply.token = item->token;
    });
}

// Hides a person's answer to a hook as long as the hook's timer is here too.
Decision decide_times_first(const JobState& state, const Graph& graph, const Deliveries& deliveries,
                            const DecideOptions& options) {
  std::set<ActivitySeq> timed;
  for (const Delivery& delivery : deliveries)
    if (const auto* time = std::get_if<TimeUp>(&delivery.message.body)) timed.insert(time->activity);
  Deliveries shown;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    const auto* given = std::get_if<GiveAnswer>(&deliveries[i].message.body);
    if (given != nullptr && timed.contains(given->activity)) continue;
    shown.push_back(deliveries[i]);
    places.push_back(i);
  }
  Decision decision = decide_rightly(state, graph, shown, options);
  for (std::size_t& index : decision.done) index = places[index];
  for (std::size_t& index : decision.entered) index = places[index];
  return decision;
}

// The input: the job itself. None: unchanged.
std::optional<JobState> seed(const JobState& state) {
  if (!seeded(SeededBug::redrive_keeps_limits) && !seeded(SeededBug::key_from_run_number)) return std::nullopt;
  JobState other = state;
  if (seeded(SeededBug::redrive_keeps_limits))
    other.job.redrives = 0;
  else
    other.job.secret = JobSecret(Guid{});
  return other;
}

// Another decision instead of the right one.
std::optional<Decision> other_decision(const JobState& state, const Deliveries& deliveries,
                                       const DecideOptions& options, const std::optional<Bundle>& right) {
  if (seeded(SeededBug::given_answer_dropped) && is_stopped(state.job.status)) {
    std::vector<std::size_t> answers;
    for (std::size_t i = 0; i < deliveries.size(); ++i)
      if (std::holds_alternative<GiveAnswer>(deliveries[i].message.body)) answers.push_back(i);
    if (!answers.empty()) return only_acknowledge(state, deliveries, answers, options);
  }
  if (!is_closed(state.job.status)) return std::nullopt;
  const auto* head = right ? std::get_if<JobHead>(&right->head) : nullptr;
  const bool finishes = head != nullptr && head->completions > head->completions_before;
  const bool refused = seeded(SeededBug::completion_refused);
  const bool skipped = seeded(SeededBug::step3_skipped) && finishes && options.fusion == Fusion::off;
  if (!refused && !skipped) return std::nullopt;
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < deliveries.size(); ++i)
    if (state.find_message(deliveries[i].message.guid) != nullptr) known.push_back(i);
  if (known.empty()) return std::nullopt;
  return only_acknowledge(state, deliveries, known, options);
}

// The output.
void seed(const JobState& state, const Deliveries& deliveries, Bundle& bundle) {
  auto& head = std::get<JobHead>(bundle.head);
  const auto is_delivered = [&](const Guid& guid) { return names_of(deliveries).contains(guid); };
  switch (active_seeded_bug) {
    case SeededBug::redrive_keeps_limits:
      head.redrives += state.job.redrives;
      return;
    case SeededBug::key_from_run_number:
      return change<PutWork>(bundle, [](PutWork& put) { put.item.plain_key = false; });
    case SeededBug::taken_not_told:
      return drop_sends_of<Taken>(bundle);
    case SeededBug::withdraw_not_sent:
      return drop_sends_of<Withdraw>(bundle);
    case SeededBug::child_end_not_told:
      return drop<Send>(bundle, [&](const Send& send) {
        const auto& parent = state.job.parent;
        return parent && send.envelope.message.guid == last_word_of(parent->request);
      });
    case SeededBug::end_not_announced:
      return drop<Announce>(bundle, [](const Announce& said) { return said.what == Announce::What::end; });
    case SeededBug::timer_outlives_signal: {
      const std::set<Guid> timers = timers_of(state);
      return drop<Consume>(bundle,
                           [&](const Consume& one) { return timers.contains(one.guid) && !is_delivered(one.guid); });
    }
    case SeededBug::deadline_left_behind:
      return drop<Consume>(bundle, [&](const Consume& one) {
        return one.guid == deadline_guid(state.job.run) && !is_delivered(one.guid);
      });
    case SeededBug::consume_forgotten:
      return drop<Consume>(bundle, [&](const Consume& one) { return is_delivered(one.guid); });
    case SeededBug::page_told_again:
      return change<PutMessage>(bundle, [](PutMessage& put) {
        if (auto* expand = std::get_if<Expand>(&put.message.body); expand != nullptr && expand->page == 1)
          expand->after = RunId(0);
      });
    case SeededBug::paused_answer_dropped:
      if (is_stopped(state.job.status))
        drop<PutMessage>(bundle, [&](const PutMessage& put) { return is_delivered(put.message.guid); });
      return;
    case SeededBug::held_work_handed_out:
      return change<HoldWork>(bundle, [](HoldWork& hold) { hold.held = false; });
    case SeededBug::sweep_forgets_work:
      return put_swept_work_again(state, bundle);
    case SeededBug::try_not_counted:
      return count_tries(state, bundle, 0);
    case SeededBug::try_counted_twice:
      return count_tries(state, bundle, 2);
    case SeededBug::measured_twice: {
      std::vector<Write> again;
      change<AddMeasure>(bundle, [&](const AddMeasure& add) { again.emplace_back(add); });
      bundle.writes.insert(bundle.writes.end(), again.begin(), again.end());
      return;
    }
    case SeededBug::snapshot_missing:
      return forget_who_closed(bundle);
    case SeededBug::plane_from_redeliveries:
      return shift_planes(deliveries, bundle);
    case SeededBug::attempts_wrap:
      return wrap_attempts(bundle);
    case SeededBug::lost_child:
      return lose_last_child(bundle);
    case SeededBug::semaphore_off_by_one:
      if (head.semaphore && !head.semaphore->hit && head.semaphore->delta > 0) ++head.semaphore->delta;
      return;
    default:
      return;  // seeded elsewhere
  }
}

void seed(const MailboxState&, Deliveries& deliveries) {
  if (seeded(SeededBug::withdraw_ignored))
    change_messages<Withdraw>(deliveries, [](Message& message, const Withdraw&) { message.body = Expire{}; });
  if (seeded(SeededBug::taken_signal_given_back))
    change_messages<Taken>(deliveries,
                           [](Message& message, const Taken& taken) { message.body = Withdraw{taken.registration}; });
}

bool is_signal(const MailboxEntry& entry) { return std::holds_alternative<Signal>(entry.what); }

void lose_early_signals(Bundle& bundle) {
  std::set<Guid> lost;
  drop<PutEntry>(bundle, [&](const PutEntry& put) {
    const bool early = is_signal(put.entry) && !put.entry.offered_to;
    if (early) lost.insert(expiry_of(put.entry.guid));
    return early;
  });
  drop<PutMessage>(bundle, [&](const PutMessage& put) { return lost.contains(put.message.guid); });
}

// Signals that were offered and came back are dropped.
void lose_what_came_back(const MailboxState& state, Bundle& bundle) {
  std::set<Guid> lost;
  for (Write& write : bundle.writes) {
    const auto* offer = std::get_if<OfferEntry>(&write);
    const auto entry = offer == nullptr ? state.entries.end() : find_entry(state.entries, offer->seq);
    if (entry == state.entries.end() || !entry->offered_to) continue;
    lost.insert(expiry_of(entry->guid));
    if (offer->to) lost.insert(meeting_of(entry->guid, *offer->to));
    write = DropEntry{entry->seq};
  }
  drop<PutMessage>(bundle, [&](const PutMessage& put) { return lost.contains(put.message.guid); });
  drop<Send>(bundle, [&](const Send& send) { return lost.contains(send.envelope.message.guid); });
}

void keep_takers(const MailboxState& state, const Deliveries& deliveries, Bundle& bundle) {
  std::set<Guid> withdrawn;
  for (const Delivery& delivery : deliveries)
    if (const auto* withdraw = std::get_if<Withdraw>(&delivery.message.body)) withdrawn.insert(withdraw->registration);
  drop<DropEntry>(bundle, [&](const DropEntry& one) {
    const auto entry = find_entry(state.entries, one.seq);
    return entry != state.entries.end() && !is_signal(*entry) && !withdrawn.contains(entry->guid);
  });
}

void forget_offers(Bundle& bundle) {
  drop<PutEntry>(bundle, [](const PutEntry& put) { return put.entry.offered_to.has_value(); });
  for (Write& write : bundle.writes)
    if (const auto* offer = std::get_if<OfferEntry>(&write); offer != nullptr && offer->to)
      write = DropEntry{offer->seq};
}

void seed(const MailboxState& state, const Deliveries& deliveries, Bundle& bundle) {
  if (seeded(SeededBug::early_signal_lost)) lose_early_signals(bundle);
  if (seeded(SeededBug::registration_lost))
    drop<PutEntry>(bundle, [](const PutEntry& put) { return !is_signal(put.entry); });
  if (seeded(SeededBug::signal_not_given_back)) lose_what_came_back(state, bundle);
  if (seeded(SeededBug::mailbox_resumes_twice)) keep_takers(state, deliveries, bundle);
  if (seeded(SeededBug::offer_forgotten)) forget_offers(bundle);
}

}  // namespace

Decision decide(const JobState& state, const Graph& graph, std::span<const Delivery> given,
                const DecideOptions& options) {
  if (seeded(SeededBug::none)) return decide_rightly(state, graph, given, options);
  Deliveries deliveries(given.begin(), given.end());
  if (seeded(SeededBug::given_answer_comes_late)) return decide_times_first(state, graph, deliveries, options);
  DecideOptions other_options = options;
  seed(state, deliveries, other_options);
  const auto other_state = seed(state);
  Decision decision = decide_rightly(other_state ? *other_state : state, graph, deliveries, other_options);
  if (auto other = other_decision(state, deliveries, options, decision.bundle)) return std::move(*other);
  if (decision.bundle) seed(state, deliveries, *decision.bundle);
  return decision;
}

Decision decide(const MailboxState& state, std::span<const Delivery> given, const DecideOptions& options,
                const MailboxCut& cut) {
  Deliveries deliveries(given.begin(), given.end());
  seed(state, deliveries);
  Decision decision = decide_rightly(state, deliveries, options, cut);
  if (decision.bundle) seed(state, deliveries, *decision.bundle);
  return decision;
}

}  // namespace pawl::core
