// Bundles as script arguments: what the script compares, what it adds, sets and drops in the job's hash, and the writes
// whose order matters.
#include <algorithm>
#include <set>

#include "base/invariant.h"
#include "base/limits.h"
#include "core/codec.h"
#include "ledger/semaphore.h"
#include "store/redis/answers.h"
#include "store/redis/encoder.h"
#include "store/redis/limits.h"
#include "store/rules.h"
#include "store/snapshot.h"

namespace pawl::store::redis {

namespace {

// The changes of a bundle to the fields of its job's hash.
struct FieldWrites {
  Words dropped;
  Words moved;             // ledgers that exist
  std::string of_moved;    // " <what it must hold> <what is added>" for each
  Words made;              // new ledgers: none of them may exist
  std::string of_made;     // " <value>" for each
  Words set;

  // A ledger: a new one is set where no value may exist, an existing one is changed by adding a difference.
  void move(std::string field, const std::optional<std::uint64_t>& before, std::int64_t after) {
    if (before) {
      moved.push_back(std::move(field));
      of_moved += ' ' + decimal(*before);
      of_moved += ' ' + decimal(after - static_cast<std::int64_t>(*before));
    } else {
      made.push_back(std::move(field));
      of_made += ' ' + decimal(after);
    }
  }
  void put(std::string field, std::string value) {
    set.push_back(std::move(field));
    set.push_back(std::move(value));
  }
  // An empty payload is not stored; an old value is removed.
  void put(std::string field, const Payload& payload, bool may_exist) {
    if (!payload.empty())
      put(std::move(field), std::string(payload.view()));
    else if (may_exist)
      dropped.push_back(std::move(field));
  }
};

template <class Ledger>
std::optional<std::uint64_t> digits_of(const std::optional<Ledger>& ledger) {
  return ledger ? std::optional<std::uint64_t>(ledger->encode()) : std::nullopt;
}

void put_activity(FieldWrites& fields, const core::PutActivity& write) {
  const std::string field = "a:" + decimal(write.after.seq.raw());
  fields.move(field, digits_of(write.before), static_cast<std::int64_t>(write.after.ledger.encode()));
  fields.put(field + ":is", activity_words(write.after));
  fields.put(field + ":out", write.after.output, write.before.has_value());
  fields.put(field + ":state", write.after.state, write.before.has_value());
}

void put_record(FieldWrites& fields, const core::PutRecord& write, bool is_snapshot) {
  const std::string field = record_field(write.after);
  fields.move(field, digits_of(write.before),
              is_snapshot ? without_snapshot(write) : static_cast<std::int64_t>(write.after.ledger.encode()));
  fields.put(field + ":out", write.after.output, write.before.has_value());
}

FieldWrites fields_of_bundle(const core::Bundle& bundle, const core::JobHead& head, const core::PutRecord* snapshot) {
  FieldWrites fields;
  for (const core::Write& write : bundle.writes) {
    if (const auto* put = std::get_if<core::PutActivity>(&write))
      put_activity(fields, *put);
    else if (const auto* record = std::get_if<core::PutRecord>(&write))
      put_record(fields, *record, record == snapshot);
  }
  if (head.result) fields.put("result", *head.result, true);
  if (head.reason) fields.put("reason", Payload(*head.reason), true);
  if (head.data) fields.put("data", *head.data, true);
  return fields;
}

std::uint32_t opened_by(const core::Bundle& bundle) {
  std::uint32_t count = 0;
  for (const core::Write& write : bundle.writes) {
    const auto* put = std::get_if<core::PutActivity>(&write);
    if (put != nullptr && !put->before) ++count;
  }
  return count;
}

// For people: "opened 3 closed 2".
std::string deeds_of(const core::Bundle& bundle) {
  std::string text;
  for (const core::Write& write : bundle.writes) {
    if (const auto* put = std::get_if<core::PutActivity>(&write)) {
      const char* what = put->after.status != core::ActivityStatus::open ? "closed"
                         : put->before                                   ? "entered"
                                                                         : "opened";
      if (!text.empty()) text += ' ';
      text += what;
      text += ' ' + decimal(put->after.seq.raw());
    } else if (const auto* consumed = std::get_if<core::Consume>(&write)) {
      text += format("{}took {}", text.empty() ? "" : " ", consumed->guid.shown());
    }
  }
  return text;
}

// New activities must come in order; work must belong to an activity that exists.
std::string wrong_in_job(const core::Bundle& bundle, const core::JobHead& head) {
  const std::uint32_t opened = opened_by(bundle);
  if (opened > head.next_activity)
    return format("{} activities are opened, the bundle says {}", opened, head.next_activity);
  std::uint32_t next = head.next_activity - opened;
  const auto no_activity = [&](core::ActivitySeq activity) {
    if (activity.raw() < head.next_activity) return std::string();
    return format("work for activity {}, which does not exist", activity.raw());
  };
  for (const core::Write& write : bundle.writes) {
    std::string wrong =
        std::visit(Overloaded{
                       [&](const core::PutActivity& w) {
                         if (w.before || w.after.seq.raw() == next++) return std::string();
                         return format("activity {} is opened out of turn", w.after.seq.raw());
                       },
                       [&](const core::PutWork& w) {
                         if (w.item.run != bundle.entity)
                           return format("a work item of run {} in another job's bundle", w.item.run.raw());
                         return no_activity(w.item.activity);
                       },
                       [&](const core::ChangeWork& w) { return no_activity(w.activity); },
                       each_of<core::PutEntry, core::DropEntry, core::OfferEntry>(
                           [] { return std::string("a mailbox write in a job's bundle"); }),
                       each_of<core::PutRecord, core::PutMessage, core::CountRedelivery, core::Consume, core::DropWork,
                               core::Sweep, core::Send, core::HoldWork, core::PutLabel, core::DropLabel,
                               core::AddMeasure, core::Announce>([] { return std::string(); }),
                   },
                   write);
    if (!wrong.empty()) return wrong;
  }
  const auto snapshot = snapshot_of(bundle);
  return snapshot ? std::string() : snapshot.error().detail;
}

std::string wrong_in_mailbox(const core::Bundle& bundle, const core::MailboxHead& head) {
  std::uint64_t next = 0;
  for (const core::Write& write : bundle.writes) {
    std::string wrong = std::visit(
        Overloaded{
            [&](const core::PutEntry& w) {
              if (w.entry.seq < next || w.entry.seq >= head.next_entry)
                return format("entry {} is out of turn", w.entry.seq);
              next = w.entry.seq + 1;
              return std::string();
            },
            each_of<core::DropEntry, core::OfferEntry, core::PutMessage, core::CountRedelivery, core::Consume,
                    core::Send>([] { return std::string(); }),
            each_of<core::PutActivity, core::PutRecord, core::PutWork, core::DropWork, core::Sweep, core::ChangeWork,
                    core::HoldWork, core::PutLabel, core::DropLabel, core::AddMeasure, core::Announce>(
                [] { return std::string("a job's write in a mailbox bundle"); }),
        },
        write);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string wrong_step(const core::JobHead& head) {
  if (!head.semaphore) return {};
  const auto stored = ledger::Semaphore::decode(head.semaphore->before);
  if (!stored) return stored.error().detail;
  const auto stepped = stored->step(head.semaphore->delta, head.semaphore->threshold);
  return stepped ? std::string() : stepped.error().detail;
}

Words words_of_label(const core::Label& label) {
  return {joined(label.name) + joined(label.value) + joined(label.key)};
}

std::string words_of_measure(const core::Measure& measure) {
  return joined(measure.key) + joined(measure.slice) + joined(measure.target) +
         joined(measure.value ? "=" + *measure.value : "");
}

Words words_of_announcement(const core::Announce& said) {
  return {"topic",  said.topic.raw(),
          "what",   said.what == core::Announce::What::end ? "end" : "progress",
          "status", decimal(static_cast<int>(said.status)),
          "code",   decimal(said.code),
          "when",   decimal(said.at.micros()),
          "data",   std::string(said.data.view())};
}

}  // namespace

std::string OperationEncoder::wrong_with(const core::Bundle& bundle) const {
  for (const core::Write& write : bundle.writes) {
    const auto* send = std::get_if<core::Send>(&write);
    if (send != nullptr && is_by_key(send->envelope) && !has_lane_(send->lane))
      return format("there is no lane {}", send->lane.raw());
  }
  if (const auto* head = std::get_if<core::JobHead>(&bundle.head)) return wrong_in_job(bundle, *head);
  return wrong_in_mailbox(bundle, std::get<core::MailboxHead>(bundle.head));
}

// The changes to a job's work. Items that the owner holds, and items that end, are in no queue; the rest is written
// like all other writes.
struct WorkWrites {
  Words ended;             // "<activity> <token> " that must hold it, or "<activity> ": any
  Words topics;            // of the items that it claims
  std::vector<InHand> hands;
  std::vector<bool> done;  // which writes of the bundle need no more than these
};

namespace {

bool is_in_hand(const core::WorkItem& item, const ItemWords& words) {
  return words.unlocks == "-" && words.wake == "0" && item.life.progress.empty();
}

WorkWrites work_of(const core::Bundle& bundle) {
  WorkWrites work;
  work.done.resize(bundle.writes.size());
  std::set<core::ActivitySeq> opened, put, dropped;
  bool in_order = false;  // later writes depend on earlier ones
  const auto is_answered = [](const core::Activity& activity) {
    return activity.ledger.has(ledger::ActivityLedger::Mark::work_done);
  };
  for (const core::Write& write : bundle.writes) {
    if (const auto* drop = std::get_if<core::DropWork>(&write)) dropped.insert(drop->activity);
    if (const auto* activity = std::get_if<core::PutActivity>(&write);
        activity != nullptr && !activity->before && !is_answered(activity->after))
      opened.insert(activity->after.seq);
    in_order = in_order || std::holds_alternative<core::Sweep>(write) || std::holds_alternative<core::HoldWork>(write);
  }
  for (std::size_t i = 0; i < bundle.writes.size(); ++i) {
    const core::Write& write = bundle.writes[i];
    if (const auto* activity = std::get_if<core::PutActivity>(&write)) {
      // As core::apply does: an answered activity has no work any more. A new activity had none.
      const bool answered = is_answered(activity->after);
      const bool late = answered && put.contains(activity->after.seq);
      work.done[i] = !late;
      if (activity->before && answered && !late && !dropped.contains(activity->after.seq))
        work.ended.push_back(decimal(activity->after.seq.raw()) + " ");
    } else if (const auto* drop = std::get_if<core::DropWork>(&write)) {
      work.ended.push_back(decimal(drop->activity.raw()) + " " + decimal(drop->token.raw()) + " ");
      work.done[i] = true;
    } else if (const auto* one = std::get_if<core::PutWork>(&write)) {
      put.insert(one->item.activity);
      const ItemWords words = item_words(one->item);
      if (one->item.token != core::WorkToken(0) &&
          std::find(work.topics.begin(), work.topics.end(), words.topic) == work.topics.end())
        work.topics.push_back(words.topic);
      if (in_order || !opened.contains(one->item.activity) || !is_in_hand(one->item, words)) continue;
      work.hands.push_back(item_in_hand(one->item, words));
      work.done[i] = true;
    }
  }
  return work;
}

bool is_start(const core::Bundle& bundle, const core::Write& write) {
  const auto* consumed = std::get_if<core::Consume>(&write);
  return consumed != nullptr && consumed->guid == core::start_message(bundle.entity, {}).guid;
}

// Whether it needs more keys of the run than its hash and its history.
bool touches_messages(const core::Bundle& bundle, const WorkWrites& work) {
  std::size_t i = 0;
  return std::any_of(bundle.writes.begin(), bundle.writes.end(), [&](const core::Write& write) {
    if (work.done[i++]) return false;
    return std::holds_alternative<core::PutMessage>(write) || std::holds_alternative<core::CountRedelivery>(write) ||
           std::holds_alternative<core::Consume>(write) || std::holds_alternative<core::Sweep>(write);
  });
}

}  // namespace

bool takes_start(const core::Bundle& bundle) {
  if (!bundle.with_submit) return false;
  bool takes = false;
  for (const core::Write& write : bundle.writes) {
    if (std::holds_alternative<core::CountRedelivery>(write) || std::holds_alternative<core::Sweep>(write))
      return false;  // they may mean this message too
    takes = takes || is_start(bundle, write);
  }
  return takes;
}

std::size_t OperationEncoder::put_writes(Words& words, const core::Bundle& bundle, const WorkWrites& work) {
  std::size_t count = 0;
  const auto put = [&](const char* what, Words rest) {
    words.emplace_back(what);
    for (std::string& word : rest) words.push_back(std::move(word));
    ++count;
  };
  const auto place = [&](core::ActivitySeq activity) { return place_of(bundle.entity, activity); };
  for (std::size_t i = 0; i < bundle.writes.size(); ++i) {
    if (work.done[i]) continue;
    std::visit(Overloaded{
                   [&](const core::PutActivity& w) { put("drop_work", {place(w.after.seq)}); },
                   each_of<core::PutRecord, core::DropWork>([] {}),
                   [&](const core::PutMessage& w) {
                     put("put_message", {w.message.guid.text(), std::string(kind_of(w.message.body)),
                                         core::encode(w.message.body), decimal(w.due.micros())});
                   },
                   [&](const core::CountRedelivery& w) {
                     put("count_redelivery", {w.guid.text(), decimal(w.before)});
                   },
                   [&](const core::Consume& w) { put("consume", {w.guid.text()}); },
                   [&](const core::PutWork& w) {
                     const ItemWords item = item_words(w.item);
                     put("put_work",
                         {place(w.item.activity), item.order, item.unlocks, item.wake, item.topic, item.rest,
                          std::string(w.item.input.view()), std::string(w.item.life.progress.view())});
                   },
                   [&](const core::Sweep& w) { put("sweep", {w.keep ? w.keep->text() : ""}); },
                   [&](const core::Send& w) {
                     const core::LaneId target = core::lane_of(w.envelope.to, w.lane);
                     if (!has_lane_(target)) return;  // no such run exists
                     put("send", {outbox_index(target), decimal(target.raw()), w.envelope.message.guid.text(),
                                  std::string(kind_of(w.envelope.message.body)), core::encode(w.envelope)});
                   },
                   [&](const core::PutEntry& w) {
                     const auto* signal = std::get_if<core::Signal>(&w.entry.what);
                     put("put_entry", {decimal(w.entry.seq), entry_words(w.entry),
                                       signal == nullptr ? "" : std::string(signal->data.view())});
                   },
                   [&](const core::DropEntry& w) { put("drop_entry", {decimal(w.seq)}); },
                   [&](const core::ChangeWork& w) {
                     put("change_work", {place(w.activity), decimal(w.token.raw()), w.release ? "1" : "0",
                                         decimal(w.visible_at.micros()), life_words(w.life)});
                   },
                   [&](const core::HoldWork& w) { put("hold_work", {w.held ? "1" : "0"}); },
                   [&](const core::PutLabel& w) { put("put_label", words_of_label(w.label)); },
                   [&](const core::DropLabel& w) { put("drop_label", words_of_label(w.label)); },
                   [&](const core::AddMeasure& w) {
                     put("add_measure", {words_of_measure(w.measure), format("{:.17g}", w.measure.number)});
                   },
                   [&](const core::Announce& w) { put("announce", words_of_announcement(w)); },
                   [&](const core::OfferEntry& w) {
                     put("offer_entry", {decimal(w.seq), w.signal.text(), w.to ? w.to->text() : "-"});
                   },
               },
               bundle.writes[i]);
  }
  return count;
}

// In the order in which scripts/steps.lua reads them. What many bundles have in common is the first word.
Encoded OperationEncoder::job_bundle(const core::Bundle& bundle, const core::JobHead& head) {
  const auto snapshot = snapshot_of(bundle);
  const core::PutRecord* message = snapshot ? *snapshot : nullptr;
  const core::SemaphoreStep step = head.semaphore.value_or(core::SemaphoreStep{});
  const bool steps = head.semaphore && (step.delta != 0 || step.hit || step.before == step.threshold);
  FieldWrites fields = fields_of_bundle(bundle, head, message);
  const bool closes = core::is_closed(head.status);
  if (closes) fields.put("status", std::string(core::name_of(head.status)));
  WorkWrites work = work_of(bundle);
  const int first = takes_start(bundle) ? 2 : bundle.with_submit ? 1 : 0;
  if (first == 2)
    for (std::size_t i = 0; i < bundle.writes.size(); ++i)
      if (is_start(bundle, bundle.writes[i])) work.done[i] = true;
  std::string wrong = wrong_with(bundle);
  std::string step_is_wrong = wrong_step(head);
  const bool flaws = !wrong.empty() || !step_is_wrong.empty();
  Words writes = {decimal(bundle.entity.raw())};
  const std::size_t odd = put_writes(writes, bundle, work);
  Encoded out;
  if (touches_messages(bundle, work)) out.runs.push_back(bundle.entity);
  const std::uint32_t next_before = head.next_activity - std::min(head.next_activity, opened_by(bundle));
  const bool inputs =
      std::any_of(work.hands.begin(), work.hands.end(), [](const InHand& hand) { return !hand.input.empty(); });
  std::string shape =
      format("job {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", bundle.epoch.raw(), core::name_of(head.status),
             head.semaphore ? decimal(step.before) : "-", fields.dropped.size(), fields.moved.size(),
             fields.made.size(), fields.set.size(), work.ended.size(), work.hands.size(), inputs ? 1 : 0, odd,
             steps ? 1 : 0, closes ? 1 : 0, flaws ? 1 : 0, first);
  shape += fields.of_moved + fields.of_made;
  for (const std::string& topic : work.topics) shape += " " + topic;
  out.step = bundle.entity;
  Words& words = out.arguments;
  const std::size_t frame_words = 16;  // around the lists
  words.reserve(frame_words + fields.dropped.size() + fields.moved.size() + fields.made.size() + fields.set.size() +
                work.ended.size() + 2 * work.hands.size() + (odd > 0 ? writes.size() : 0));
  const auto put = [&](Words& list) {
    words.insert(words.end(), std::make_move_iterator(list.begin()), std::make_move_iterator(list.end()));
  };
  words.push_back(std::move(shape));
  words.push_back(decimal(bundle.rev_before.raw()));
  words.push_back(decimal(head.completions_before) + " " + decimal(next_before));
  words.push_back(deeds_of(bundle));
  put(fields.dropped);
  put(fields.moved);
  put(fields.made);
  words.push_back(decimal(core::next(bundle.rev_before).raw()));
  words.push_back(decimal(bundle.id.raw()));
  words.push_back(head_words(head));
  put(fields.set);
  put(work.ended);
  for (InHand& hand : work.hands) {
    words.push_back(std::move(hand.words));
    if (inputs) words.push_back(std::move(hand.input));
  }
  if (steps)
    words.insert(words.end(), {decimal(step.delta), decimal(step.threshold), step.hit ? "1" : "0",
                               message == nullptr ? "" : record_field(message->after), decimal(snapshot_weight)});
  if (closes) words.push_back(head.completions > 0 ? decimal(head.remove_at.micros()) : "0");
  if (odd > 0) put(writes);
  if (flaws) {
    words.push_back(std::move(wrong));
    words.push_back(std::move(step_is_wrong));
  }
  return out;
}

Encoded OperationEncoder::mailbox_bundle(const core::Bundle& bundle, const core::MailboxHead& head) {
  const std::string wrong = wrong_with(bundle);
  Encoded out;
  out.runs = {bundle.entity};
  out.arguments = {"mailbox",
                   decimal(bundle.entity.raw()),
                   decimal(bundle.epoch.raw()),
                   decimal(bundle.rev_before.raw()),
                   decimal(core::next(bundle.rev_before).raw()),
                   decimal(bundle.id.raw()),
                   wrong,
                   no_mailbox(bundle.entity),
                   decimal(head.next_entry)};
  Words writes;
  WorkWrites nothing;
  nothing.done.resize(bundle.writes.size());
  const std::size_t count = wrong.empty() ? put_writes(writes, bundle, nothing) : 0;
  out.arguments.push_back(decimal(count));
  out.arguments.insert(out.arguments.end(), writes.begin(), writes.end());
  return out;
}

OperationEncoder::Answer OperationEncoder::run(const core::Bundle& bundle) {
  if (const auto* head = std::get_if<core::JobHead>(&bundle.head)) return job_bundle(bundle, *head);
  return mailbox_bundle(bundle, std::get<core::MailboxHead>(bundle.head));
}

}  // namespace pawl::store::redis
