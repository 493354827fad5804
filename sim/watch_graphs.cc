// Jobs of the graph language: which obligations are open, what carries them, and when a message is served.
#include <algorithm>

#include "base/format.h"
#include "core/carried.h"
#include "core/kind_state.h"
#include "core/program.h"
#include "sim/watch_digits.h"
#include "sim/watch_store.h"

namespace pawl::sim {

using Kind = Graph::Kind;

// The values of its row beside the ledger; only their meaning is checked, not their encoding.
void WatchStore::read_state(ShadowJob& job, ShadowActivity& activity, const core::Activity& after) {
  const bool skipped = after.status == core::ActivityStatus::skipped;
  if (skipped && !activity.skipped && leg1_complete(activity.ledger) && !may_be_called_off(job, activity))
    fail(job, "marks", format("activity {} was called off, and no race is won", after.seq.raw()));
  activity.skipped = skipped;
  if (after.seq == core::ActivitySeq(0)) return;  // the trigger's says what the run took over (note_carried)
  const auto state = core::decode_kind_state(after.state.view());
  if (!state) return fail(job, "marks", format("the state of activity {} cannot be read", after.seq.raw()));
  if (kind_of(job, activity) != Kind::join) return;
  activity.opened_by_arrival = activity.opened_by_arrival || !after.state.empty();
  const auto* join = std::get_if<core::JoinState>(&*state);
  if (join == nullptr) return;
  activity.owes = activity.owes || join->owes;
  if (join->closer) activity.closer = join->closer;
}

// What runs is ended only by a race that is decided, or before a job undoes what it did.
bool WatchStore::may_be_called_off(const ShadowJob& job, const ShadowActivity& activity) const {
  if (job.shape == nullptr) return false;
  if (job.begins_undo) return true;
  const auto& races = job.shape->nodes()[activity.node].called_off_by;
  return std::any_of(job.activities.begin(), job.activities.end(), [&](const auto& row) {
    return work_done(row.second.ledger) && std::find(races.begin(), races.end(), row.second.node) != races.end();
  });
}

// An activity that waits for an event from outside is concluded by one.
void WatchStore::check_conclusion(const ShadowJob& job, std::uint32_t seq, const ShadowActivity& activity) {
  if (kind_of(job, activity) != Kind::worker) return;  // the record names the signal, child or timer
  if (job.carried.contains({activity.node, activity.at})) {
    if (activity.request != core::Guid{})
      fail(job, "carried", format("activity {} has the answer of an earlier run and was asked for again", seq));
    return;
  }
  const Journal::Request* request = journal_.find(activity.request);
  if (activity.findings.empty() && (request == nullptr || request->ends == 0))
    fail(job, "invented", format("activity {} ended and no run of it did", seq));
}

// A run takes over only answers that the run before it had.
void WatchStore::note_carried(ShadowJob& job, const store::Submit& submit) {
  const auto start = core::unpack_start(submit.input);
  if (!start) return fail(job, "carried", "what it took over cannot be read");
  const ShadowJob* before = find(submit.follows);
  for (const core::Carried& one : start->carried) {
    if (!one.answered) {  // asked for again under its old request: its attempts are counted anew
      if (const Journal::Request* known = journal_.find(one.request)) given_back_[one.request] = known->begins;
      continue;
    }
    job.carried.emplace(one.node, one.at.text());
    const bool known =
        before != nullptr && std::any_of(before->activities.begin(), before->activities.end(), [&](const auto& row) {
          return row.second.node == one.node && row.second.at == one.at.text() && work_done(row.second.ledger);
        });
    if (!known) fail(job, "carried", format("node {} at {} was never answered before", one.node, one.at.text()));
  }
}

// What a job had on its way when it began to undo is turned away.
bool WatchStore::is_undone(const ShadowJob& job, const core::Body& body) const {
  if (!job.undoes) return false;
  const auto* transition = std::get_if<core::Transition>(&body);
  return transition != nullptr
             ? !job.shape->nodes()[transition->node].is_undo
             : std::holds_alternative<core::Reenter>(body) || std::holds_alternative<core::Arrive>(body) ||
                   std::holds_alternative<core::Item>(body);
}

bool WatchStore::served_in_graph(const ShadowJob& job, const core::Message& message) const {
  if (is_undone(job, message.body)) return true;
  const auto record = job.records.find(message.guid);
  if (record != job.records.end()) return spawned(record->second.ledger);
  const auto find_at = [&](std::uint32_t node, std::string_view at) {
    return std::find_if(job.activities.begin(), job.activities.end(),
                        [&](const auto& row) { return row.second.node == node && row.second.at == at; });
  };
  const auto done = [&](core::ActivitySeq seq) {  // then it came late
    const auto activity = job.activities.find(seq.raw());
    return activity != job.activities.end() && (work_done(activity->second.ledger) || activity->second.skipped);
  };
  if (const auto* transition = std::get_if<core::Transition>(&message.body)) {
    const auto activity = find_at(transition->node, transition->at.text());
    return activity != job.activities.end() && (leg1_complete(activity->second.ledger) || activity->second.skipped);
  }
  if (const auto* arrive = std::get_if<core::Arrive>(&message.body))
    return find_at(arrive->node, arrive->at.text()) != job.activities.end();
  if (const auto* item = std::get_if<core::Item>(&message.body))
    return item->done ? job.activities.contains(item->map.raw()) : done(item->map);
  if (const auto* unlabel = std::get_if<core::Unlabel>(&message.body)) return !job.labels.contains(unlabel->label);
  if (const auto* resume = std::get_if<core::Resume>(&message.body)) return done(resume->activity);
  if (const auto* expand = std::get_if<core::Expand>(&message.body)) {
    const auto goes_on = [&](const auto& row) {
      const auto* next = std::get_if<core::Expand>(&row.second.message.body);
      return next != nullptr && next->activity == expand->activity && next->page == expand->page + 1;
    };
    return done(expand->activity) || std::any_of(job.inbox.begin(), job.inbox.end(), goes_on);
  }
  if (const auto* word = std::get_if<core::ChildDone>(&message.body)) return done(word->activity);
  if (const auto* timer = std::get_if<core::TimeUp>(&message.body)) return done(timer->activity);
  if (std::holds_alternative<core::Refused>(message.body)) return job.status == core::JobStatus::running;  // it goes on
  return false;  // a start and a round are never refused
}

// Counted from the rows, not from the steps: each open activity, each message that will open or enter one.
std::int64_t WatchStore::open_in_graph(const ShadowJob& job) const {
  std::int64_t open = job.activities.empty() ? 1 : 0;  // the trigger to come
  for (const auto& [seq, activity] : job.activities) {
    if (spawned(activity.ledger) || activity.skipped) continue;
    const Kind kind = kind_of(job, activity);
    if (kind == Kind::cycle && leg1_complete(activity.ledger)) continue;  // its round has the obligation
    if (kind == Kind::join && activity.opened_by_arrival && !activity.owes) continue;
    ++open;
  }
  for (const auto& [guid, shadow] : job.inbox) {
    const core::Body& body = shadow.message.body;
    if (is_undone(job, body)) continue;
    const auto record = job.records.find(guid);
    if (const auto* transition = std::get_if<core::Transition>(&body)) {
      const bool entered = std::any_of(job.activities.begin(), job.activities.end(), [&](const auto& row) {
        return row.second.node == transition->node && row.second.at == transition->at.text() &&
               row.second.parent == transition->parent;
      });
      if (!entered) ++open;
    } else if (std::holds_alternative<core::Reenter>(body)) {
      if (record == job.records.end() || !spawned(record->second.ledger)) ++open;
    } else if (const auto* arrive = std::get_if<core::Arrive>(&body)) {
      const bool taken =
          record != job.records.end() ||
          std::any_of(job.activities.begin(), job.activities.end(), [&, &guid = guid](const auto& row) {
            return row.second.node == arrive->node && row.second.at == arrive->at.text() && row.second.closer == guid;
          });
      if (!arrive->skipped && !taken) ++open;
    }
  }
  return open;
}

bool WatchStore::is_carried(const ShadowJob& job, std::uint32_t seq, const ShadowActivity& activity) const {
  const Kind kind = kind_of(job, activity);
  // By the activities that lead to it or are in it.
  if (activity.skipped || kind == Kind::join || kind == Kind::map) return true;
  if (kind == Kind::cycle && leg1_complete(activity.ledger)) return true;
  if (leg1_complete(activity.ledger) && job.work.contains(seq)) return true;
  for (const auto& [guid, shadow] : job.inbox) {
    const bool carries = std::visit(
        [&](const auto& body) {
          using Body = std::decay_t<decltype(body)>;
          if constexpr (std::is_same_v<Body, core::Transition>)
            return body.node == activity.node && body.at.text() == activity.at;
          else if constexpr (std::is_same_v<Body, core::Reply> || std::is_same_v<Body, core::ChildDone> ||
                             std::is_same_v<Body, core::Resume>)
            return body.activity.raw() == seq && body.status != core::ReplyStatus::pending;
          else if constexpr (std::is_same_v<Body, core::Expand> || std::is_same_v<Body, core::NoReply> ||
                             std::is_same_v<Body, core::TimeUp> || std::is_same_v<Body, core::Verdict> ||
                             std::is_same_v<Body, core::GiveAnswer>)
            return body.activity.raw() == seq;
          else
            return std::is_same_v<Body, core::Start> && seq == 0;
        },
        shadow.message.body);
    if (carries) return true;
  }
  for (const auto& [guid, registration] : job.registrations) {
    if (registration.activity != seq || registration.ended) continue;
    const auto concluded = concluded_.find(guid);
    if (concluded == concluded_.end() || !job.received.contains(concluded->second)) return true;
  }
  const ShadowChild* child = child_of(job.run, seq);
  return child != nullptr && child->start.parent.awaits && child->ends_received == 0;
}

// Both in the bundle that makes them true, and once.
void WatchStore::write(ShadowJob& job, const core::Bundle&, const core::AddMeasure& add) {
  if (!job.measured.emplace(add.measure.target, add.measure.value).second)
    fail(job, "measured", format("{} is counted twice", add.measure.target));
}

void WatchStore::write(ShadowJob& job, const core::Bundle&, const core::Announce& said) {
  if (said.what != core::Announce::What::end) return;
  if (++job.ends_announced > 1) fail(job, "announced", "its end is announced twice");
}

}  // namespace pawl::sim
