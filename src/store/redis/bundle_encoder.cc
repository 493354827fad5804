// Bundles as arguments: what the script compares, what it adds, sets and drops in the job's hash, and the writes whose order
// counts.
#include "base/invariant.h"
#include "base/limits.h"
#include "core/codec.h"
#include "ledger/semaphore.h"
#include "store/redis/encoder.h"
#include "store/redis/limits.h"
#include "store/rules.h"
#include "store/snapshot.h"

namespace pawl::store::redis {

namespace {

std::string decimal(std::int64_t number) { return format("{}", number); }
std::string decimal_of(std::uint64_t number) { return format("{}", number); }

void put_list(Words& words, const Words& list) {
  words.push_back(decimal_of(list.size()));
  words.insert(words.end(), list.begin(), list.end());
}

// What a bundle does to the fields of its job's hash.
struct FieldWrites {
  Words compared, expected, added, set, dropped;

  void add(std::string field, const std::optional<std::uint64_t>& before, std::int64_t delta) {
    compared.push_back(field);
    expected.push_back(before ? decimal_of(*before) : "");
    added.push_back(std::move(field));
    added.push_back(decimal(delta));
  }
  void put(std::string field, std::string value) {
    set.push_back(std::move(field));
    set.push_back(std::move(value));
  }
  // Nothing is stored for an empty one; what was there before goes.
  void put(std::string field, const Payload& payload, bool may_exist) {
    if (!payload.empty()) put(std::move(field), std::string(payload.view()));
    else if (may_exist) dropped.push_back(std::move(field));
  }
};

void put_activity(FieldWrites& fields, const core::PutActivity& write) {
  const std::string field = format("a:{}", write.after.seq.raw());
  const std::uint64_t before = write.before ? write.before->encode() : 0;
  const auto delta = static_cast<std::int64_t>(write.after.ledger.encode()) - static_cast<std::int64_t>(before);
  fields.add(field, write.before ? std::optional(before) : std::nullopt, delta);
  fields.put(field + ":is", activity_words(write.after));
  fields.put(field + ":out", write.after.output, write.before.has_value());
  fields.put(field + ":state", write.after.state, write.before.has_value());
}

void put_record(FieldWrites& fields, const core::PutRecord& write, bool is_snapshot) {
  const std::string field = "m:" + write.after.guid.text();
  const std::uint64_t before = write.before ? write.before->encode() : 0;
  const std::int64_t after =
      is_snapshot ? without_snapshot(write) : static_cast<std::int64_t>(write.after.ledger.encode());
  fields.add(field, write.before ? std::optional(before) : std::nullopt, after - static_cast<std::int64_t>(before));
  fields.put(field + ":of", decimal_of(write.after.activity.raw()));
  fields.put(field + ":out", write.after.output, write.before.has_value());
}

FieldWrites fields_of_bundle(const core::Bundle& bundle, const core::JobHead& head, const core::PutRecord* snapshot) {
  FieldWrites fields;
  fields.set = {"rev",    decimal_of(core::next(bundle.rev_before).raw()), "bundle", decimal_of(bundle.id.raw()),
                "status", std::string(core::name_of(head.status)),         "head",   head_words(head)};
  for (const core::Write& write : bundle.writes) {
    if (const auto* put = std::get_if<core::PutActivity>(&write)) put_activity(fields, *put);
    else if (const auto* record = std::get_if<core::PutRecord>(&write)) put_record(fields, *record, record == snapshot);
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
      const char* what = put->after.status != core::ActivityStatus::open ? "closed" : put->before ? "entered" : "opened";
      text += format("{}{} {}", text.empty() ? "" : " ", what, put->after.seq.raw());
    } else if (const auto* consumed = std::get_if<core::Consume>(&write)) {
      text += format("{}took {}", text.empty() ? "" : " ", consumed->guid.shown());
    }
  }
  return text;
}

// New activities come in their turn; work is of activities that there are.
std::string wrong_in_job(const core::Bundle& bundle, const core::JobHead& head) {
  const std::uint32_t opened = opened_by(bundle);
  if (opened > head.next_activity) return format("{} activities are opened, the bundle says {}", opened, head.next_activity);
  std::uint32_t next = head.next_activity - opened;
  const auto no_activity = [&](core::ActivitySeq activity) {
    if (activity.raw() < head.next_activity) return std::string();
    return format("work for activity {}, which does not exist", activity.raw());
  };
  for (const core::Write& write : bundle.writes) {
    std::string wrong = std::visit(
        Overloaded{
            [&](const core::PutActivity& w) {
              if (w.before || w.after.seq.raw() == next++) return std::string();
              return format("activity {} is opened out of turn", w.after.seq.raw());
            },
            [&](const core::PutWork& w) {
              if (w.item.run != bundle.entity) return format("a work item of run {} in another job's bundle", w.item.run.raw());
              return no_activity(w.item.activity);
            },
            [&](const core::ChangeWork& w) { return no_activity(w.activity); },
            each_of<core::PutEntry, core::DropEntry, core::OfferEntry>([] { return std::string("a mailbox write in a job's bundle"); }),
            each_of<core::PutRecord, core::PutMessage, core::CountRedelivery, core::Consume, core::DropWork, core::Sweep,
                    core::Send, core::HoldWork, core::PutLabel, core::DropLabel, core::AddMeasure, core::Announce>(
                [] { return std::string(); }),
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
              if (w.entry.seq < next || w.entry.seq >= head.next_entry) return format("entry {} is out of turn", w.entry.seq);
              next = w.entry.seq + 1;
              return std::string();
            },
            each_of<core::DropEntry, core::OfferEntry, core::PutMessage, core::CountRedelivery, core::Consume, core::Send>(
                [] { return std::string(); }),
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

Words words_of_label(const core::Label& label) { return {joined(label.name) + joined(label.value) + joined(label.key)}; }

std::string words_of_measure(const core::Measure& measure) {
  return joined(measure.key) + joined(measure.slice) + joined(measure.target) + joined(measure.value ? "=" + *measure.value : "");
}

Words words_of_announcement(const core::Announce& said) {
  return {"topic", said.topic.raw(), "what", said.what == core::Announce::What::end ? "end" : "progress",
          "status", decimal(static_cast<int>(said.status)), "code", decimal(said.code), "when", decimal(said.at.micros()),
          "data", std::string(said.data.view())};
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

void OperationEncoder::put_head(Words& words, const core::Bundle& bundle, const core::JobHead& head) {
  const auto snapshot = snapshot_of(bundle);
  const core::PutRecord* message = snapshot ? *snapshot : nullptr;
  const core::SemaphoreStep step = head.semaphore.value_or(core::SemaphoreStep{});
  const bool over = core::is_closed(head.status) && head.completions > 0;
  words.insert(words.end(),
               {std::string(core::name_of(head.status)), head.semaphore ? decimal(step.before) : "", decimal(step.delta),
                decimal(step.threshold), step.hit ? "1" : "0", head.semaphore ? other_hit(step, !step.hit) : "",
                message == nullptr ? "" : "m:" + message->after.guid.text(), decimal(snapshot_weight),
                decimal_of(head.completions_before),
                decimal_of(head.next_activity - std::min(head.next_activity, opened_by(bundle))),
                over ? decimal(head.remove_at.micros()) : "0", deeds_of(bundle), decimal_of(limits::history_entries_max)});
  const FieldWrites fields = fields_of_bundle(bundle, head, message);
  put_list(words, fields.compared);
  words.insert(words.end(), fields.expected.begin(), fields.expected.end());
  put_list(words, fields.added);
  put_list(words, fields.set);
  put_list(words, fields.dropped);
}

void OperationEncoder::put_writes(Words& words, const core::Bundle& bundle) {
  const std::size_t count_at = words.size();
  words.emplace_back();
  std::size_t count = 0;
  const auto put = [&](const char* what, Words rest) {
    words.emplace_back(what);
    for (std::string& word : rest) words.push_back(std::move(word));
    ++count;
  };
  const auto place = [&](core::ActivitySeq activity) { return place_of(bundle.entity, activity); };
  for (const core::Write& write : bundle.writes)
    std::visit(
        Overloaded{
            [&](const core::PutActivity& w) {
              // As core::apply does: what is answered is no longer work.
              if (w.after.ledger.has(ledger::ActivityLedger::Mark::work_done)) put("answered_work", {place(w.after.seq)});
            },
            [&](const core::PutRecord&) {},
            [&](const core::PutMessage& w) {
              put("put_message", {w.message.guid.text(), std::string(kind_of(w.message.body)), core::encode(w.message.body),
                                  decimal(w.due.micros())});
            },
            [&](const core::CountRedelivery& w) { put("count_redelivery", {w.guid.text(), decimal_of(w.before)}); },
            [&](const core::Consume& w) { put("consume", {w.guid.text()}); },
            [&](const core::PutWork& w) {
              const ItemWords item = item_words(w.item);
              put("put_work", {place(w.item.activity), item.order, item.unlocks, item.wake, item.topic, item.rest,
                               std::string(w.item.input.view()), std::string(w.item.life.progress.view()),
                               w.item.token != core::WorkToken(0) ? "1" : "0"});
            },
            [&](const core::DropWork& w) { put("drop_work", {place(w.activity), decimal_of(w.token.raw())}); },
            [&](const core::Sweep& w) { put("sweep", {w.keep ? w.keep->text() : ""}); },
            [&](const core::Send& w) {
              const core::LaneId target = core::lane_of(w.envelope.to, w.lane);
              if (!has_lane_(target)) return;  // nobody has such a run
              put("send", {outbox_index(target), decimal_of(target.raw()), w.envelope.message.guid.text(),
                           std::string(kind_of(w.envelope.message.body)), core::encode(w.envelope)});
            },
            [&](const core::PutEntry& w) {
              const auto* signal = std::get_if<core::Signal>(&w.entry.what);
              put("put_entry", {decimal_of(w.entry.seq), entry_words(w.entry),
                                signal == nullptr ? "" : std::string(signal->data.view())});
            },
            [&](const core::DropEntry& w) { put("drop_entry", {decimal_of(w.seq)}); },
            [&](const core::ChangeWork& w) {
              put("change_work", {place(w.activity), decimal_of(w.token.raw()), w.release ? "1" : "0",
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
              put("offer_entry", {decimal_of(w.seq), w.signal.text(), w.to ? w.to->text() : "-"});
            },
        },
        write);
  words[count_at] = decimal_of(count);
}

OperationEncoder::Answer OperationEncoder::run(const core::Bundle& bundle) {
  const auto* head = std::get_if<core::JobHead>(&bundle.head);
  const RunId run = bundle.entity;
  Encoded out;
  out.runs = {run};
  out.arguments = {"bundle",
                   decimal_of(run.raw()),
                   decimal_of(bundle.epoch.raw()),
                   decimal_of(bundle.rev_before.raw()),
                   decimal_of(core::next(bundle.rev_before).raw()),
                   decimal_of(bundle.id.raw()),
                   head != nullptr ? "job" : "mailbox",
                   wrong_with(bundle),
                   head != nullptr ? wrong_step(*head) : "",
                   head != nullptr ? format("there is no job or mailbox {}", run.raw()) : no_mailbox(run)};
  if (head != nullptr) put_head(out.arguments, bundle, *head);
  else out.arguments.push_back(decimal_of(std::get<core::MailboxHead>(bundle.head).next_entry));
  put_writes(out.arguments, bundle);
  return out;
}

}  // namespace pawl::store::redis
