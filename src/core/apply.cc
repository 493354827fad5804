#include "core/apply.h"

#include "base/format.h"
#include "base/invariant.h"

namespace pawl::core {

namespace {

Error corrupt(std::string detail) { return Error{ErrorCode::corrupt, std::move(detail)}; }

// `next` is the number that the bundle's next new instance must take.
Status check_write(const JobState& state, const PutActivity& write, std::size_t& next) {
  const Activity* stored = state.find(write.after.seq);
  if (!write.before) {
    if (stored != nullptr) return corrupt(format("activity {} exists already", write.after.seq.raw()));
    if (write.after.seq.raw() != next)
      return corrupt(format("activity {} is opened out of turn, next is {}", write.after.seq.raw(), next));
    ++next;
    return {};
  }
  if (stored == nullptr) return corrupt(format("activity {} is missing", write.after.seq.raw()));
  if (stored->ledger != *write.before)
    return corrupt(format("activity {}: ledger is {}, expected {}", write.after.seq.raw(), stored->ledger.digits(),
                          write.before->digits()));
  return {};
}

Status check_write(const JobState& state, const PutRecord& write) {
  const MessageRecord* stored = state.find_message(write.after.guid);
  if (!write.before) {
    if (stored != nullptr) return corrupt(format("message {} has a ledger already", write.after.guid.text()));
    return {};
  }
  if (stored == nullptr) return corrupt(format("message {} has no ledger", write.after.guid.text()));
  if (stored->ledger != *write.before)
    return corrupt(format("message {}: ledger is {}, expected {}", write.after.guid.text(), stored->ledger.digits(),
                          write.before->digits()));
  return {};
}

// The compound step: `hit` is computed again from the stored semaphore. The threshold may be any integer.
Status check_semaphore(const JobRow& job, const SemaphoreStep& step) {
  if (job.semaphore != step.before) return corrupt(format("semaphore is {}, expected {}", job.semaphore, step.before));
  const auto stored = ledger::Semaphore::decode(job.semaphore);
  if (!stored) return stored.error();
  const auto stepped = stored->step(step.delta, step.threshold);
  if (!stepped) return stepped.error();
  if (stepped->threshold_hit != step.hit)
    return corrupt(format("semaphore {} + {} {} the threshold {}, the bundle says otherwise", job.semaphore, step.delta,
                          stepped->threshold_hit ? "hits" : "misses", step.threshold));
  return {};
}

}  // namespace

Status check(const JobState& state, const Bundle& bundle) {
  const auto* head = std::get_if<JobHead>(&bundle.head);
  if (head == nullptr) return corrupt("a mailbox bundle for a job");
  if (is_closed(state.job.status) && head->status != state.job.status)
    return corrupt(format("a {} job would become {}", name_of(state.job.status), name_of(head->status)));
  if (head->semaphore) {
    const auto checked = check_semaphore(state.job, *head->semaphore);
    if (!checked) return checked;
  }
  if (state.job.completions != head->completions_before)
    return corrupt("completion tasks ran without this bundle's knowledge");
  std::size_t next_activity = state.activities().size();
  for (const Write& write : bundle.writes) {
    const auto checked = std::visit(
        Overloaded{
            [&](const PutActivity& w) { return check_write(state, w, next_activity); },
            [&](const PutRecord& w) { return check_write(state, w); },
            [&](const PutWork& w) {
              if (w.item.run != state.job.run)
                return Status{corrupt(format("a work item of run {} in another job's bundle", w.item.run.raw()))};
              if (w.item.activity.raw() >= head->next_activity)
                return Status{corrupt(format("work for activity {}, which does not exist", w.item.activity.raw()))};
              return Status{};
            },
            [&](const ChangeWork& w) {
              if (w.activity.raw() >= head->next_activity)
                return Status{corrupt(format("work for activity {}, which does not exist", w.activity.raw()))};
              return Status{};
            },
            each_of<PutEntry, DropEntry, OfferEntry>(
                [] { return Status{corrupt("a mailbox write in a job's bundle")}; }),
            each_of<PutMessage, CountRedelivery, Consume, DropWork, Sweep, Send, HoldWork, PutLabel, DropLabel,
                    AddMeasure, Announce>([] { return Status{}; }),
        },
        write);
    if (!checked) return checked;
  }
  if (head->next_activity != next_activity)
    return corrupt(format("the next activity is {}, the bundle says {}", next_activity, head->next_activity));
  return {};
}

namespace {

Status missing_entry(std::uint64_t seq) { return corrupt(format("entry {} is missing", seq)); }

}  // namespace

Status check(const MailboxState& state, const Bundle& bundle) {
  const auto* head = std::get_if<MailboxHead>(&bundle.head);
  if (head == nullptr) return corrupt("a job's bundle for a mailbox");
  if (head->next_entry < state.next_entry) return corrupt("the numbers of entries only grow");
  std::uint64_t next_entry = state.next_entry;
  for (const Write& write : bundle.writes) {
    const auto checked = std::visit(
        Overloaded{
            [&](const PutEntry& w) {
              if (w.entry.seq < next_entry || w.entry.seq >= head->next_entry)
                return Status{corrupt(format("entry {} is out of turn", w.entry.seq))};
              next_entry = w.entry.seq + 1;
              return Status{};
            },
            [&](const DropEntry& w) {
              return find_entry(state.entries, w.seq) != state.entries.end() ? Status{} : missing_entry(w.seq);
            },
            [&](const OfferEntry& w) {
              const auto entry = find_entry(state.entries, w.seq);
              if (entry == state.entries.end()) return missing_entry(w.seq);
              if (!std::holds_alternative<Signal>(entry->what) || entry->guid != w.signal)
                return Status{corrupt(format("entry {} is not the signal that is offered", w.seq))};
              return Status{};
            },
            each_of<PutMessage, CountRedelivery, Consume, Send>([] { return Status{}; }),
            each_of<PutActivity, PutRecord, PutWork, DropWork, Sweep, ChangeWork, HoldWork, PutLabel, DropLabel,
                    AddMeasure, Announce>([] { return Status{corrupt("a job's write in a mailbox bundle")}; }),
        },
        write);
    if (!checked) return checked;
  }
  return {};
}

void apply_change(WorkItem& item, const ChangeWork& change) {
  Payload progress = std::move(item.life.progress);  // written by workers: it may be newer than in the job's view
  item.visible_at = change.visible_at;
  item.life = change.life;
  item.life.progress = std::move(progress);
  if (!change.release) return;
  item.token = WorkToken(0);
  item.worker.clear();
  item.epoch = Epoch(0);
  item.lease_until = Instant();
}

void apply(JobState& state, const Bundle& bundle) {
  const auto& head = std::get<JobHead>(bundle.head);
  JobRow& job = state.job;
  job.rev = next(bundle.rev_before);
  job.bundle = bundle.id;
  job.status = head.status;
  if (head.semaphore) job.semaphore = head.semaphore->before + head.semaphore->delta;
  if (is_closed(head.status)) job.semaphore = 0;
  job.completions = head.completions;
  job.next_activity = head.next_activity;
  job.closed_at = head.closed_at;
  if (head.result) job.result = *head.result;
  if (head.reason) job.reason = *head.reason;
  job.remove_at = head.remove_at;
  job.redrives = head.redrives;
  if (head.data) job.data = *head.data;
  job.code = head.code;
  for (const Write& write : bundle.writes) {
    std::visit(
        Overloaded{
            [&](const PutActivity& w) {
              // The store removed the work item when it stored a remote worker's reply, without a bundle of the job.
              if (w.after.ledger.has(ledger::ActivityLedger::Mark::work_done)) state.drop_work(w.after.seq);
              state.put(w.after);
            },
            [&](const PutRecord& w) { state.put(w.after); },
            [&](const PutWork& w) { state.put(w.item); },
            [&](const DropWork& w) { state.drop_work(w.activity); },
            [&](const Sweep&) { state.drop_all_work(); },
            [&](const ChangeWork& w) {
              if (const WorkItem* known = state.find_work(w.activity)) {
                WorkItem item = *known;
                apply_change(item, w);
                state.put(std::move(item));
              }
            },
            [&](const HoldWork& w) { state.hold_work(w.held); },
            each_of<PutMessage, CountRedelivery, Consume, Send, PutLabel, DropLabel, AddMeasure, Announce>([] {}),
            each_of<PutEntry, DropEntry, OfferEntry>([] { invariant(false, "a mailbox write in a job's bundle"); }),
        },
        write);
  }
}

void apply(MailboxState& state, const Bundle& bundle) {
  state.rev = next(bundle.rev_before);
  state.bundle = bundle.id;
  state.next_entry = std::get<MailboxHead>(bundle.head).next_entry;
  for (const Write& write : bundle.writes) {
    std::visit(Overloaded{
                   [&](const PutEntry& w) { state.entries.push_back(w.entry); },
                   [&](const DropEntry& w) { state.entries.erase(find_entry(state.entries, w.seq)); },
                   [&](const OfferEntry& w) { find_entry(state.entries, w.seq)->offered_to = w.to; },
                   each_of<PutMessage, CountRedelivery, Consume, Send>([] {}),
                   each_of<PutActivity, PutRecord, PutWork, DropWork, Sweep, ChangeWork, HoldWork, PutLabel, DropLabel,
                           AddMeasure, Announce>([] { invariant(false, "a job's write in a mailbox bundle"); }),
               },
               write);
  }
}

}  // namespace pawl::core
