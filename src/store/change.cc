#include "store/change.h"

#include <algorithm>
#include <cstring>

#include "base/invariant.h"
#include "base/limits.h"

namespace pawl::store {

namespace {

constexpr bool Change::*flags[] = {&Change::inboxes, &Change::work,   &Change::times,    &Change::topics,
                                   &Change::graphs,  &Change::duplex, &Change::outboxes, &Change::lanes};

constexpr std::size_t flag_bytes = 2;

// The run whose inbox a message was for; 0: none.
RunId run_of(const Deliver& deliver, const Outcome& outcome) {
  if (const auto* run = std::get_if<RunId>(&deliver.envelope.to)) return *run;
  return outcome.run();
}

void add(Change& change, const Operation& operation, const Outcome& outcome) {
  // A key without a run has no receiver.
  const auto name = [&](RunId run) {
    if (run != RunId(0)) change.add(run);
  };
  std::visit(Overloaded{
                 [&](const core::Bundle& bundle) {
                   name(bundle.entity);
                   for (const RunId reached : outcome.reached()) name(reached);
                   for (const core::Write& write : bundle.writes)
                     if (const auto* send = std::get_if<core::Send>(&write))
                       if (const auto* run = std::get_if<RunId>(&send->envelope.to)) name(*run);
                 },
                 [&](const Submit&) {
                   name(outcome.run());
                   name(outcome.replaced());
                 },
                 [&](const Deliver& deliver) {
                   name(run_of(deliver, outcome));
                   // The parent of a refused child has the answer in its inbox, or will get it through the outbox.
                   const auto* start = std::get_if<core::StartChild>(&deliver.envelope.message.body);
                   if (start == nullptr) return;
                   name(start->parent.run);
                   change.outboxes = change.outboxes || outcome.run() == start->parent.run;
                 },
                 [&](const DeliverReply& delivery) { name(delivery.run); },
                 [&](const ClaimWork&) {
                   for (const core::WorkItem& item : outcome.items()) name(item.run);
                 },
                 [&](const ClaimItem& claim) { name(claim.run); },
                 [&](const ExtendWork& extend) { name(extend.run); },
                 [&](const ReleaseWork& release) {
                   name(release.run);
                   change.work = true;
                 },
                 [&](const RemoveJob&) { change.times = true; },  // the start key that stays has its own expiry
                 [&](const PauseTopic&) { change.topics = true; },
                 [&](const PutApp&) { change.graphs = true; },
                 [](const DropOutbox&) {},
                 [](const OpenPool&) {},
                 [](const AcquireLane&) {},
                 [](const RenewLane&) {},
                 [&](const ReleaseLane&) { change.lanes = true; },
                 // An engine that comes or goes changes the shares of the others. A renewal notifies no one: the others
                 // would answer with renewals, without end.
                 [&](const BeatEngine& beat) { change.lanes = change.lanes || !beat.holds; },
                 [&](const LeaveEngine&) { change.lanes = true; },
                 [](const DropKeys&) {},
                 [](const ActivateApp&) {},
             },
             operation);
}

void put_word(std::string& bytes, std::uint64_t word) {
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(word >> (8 * i) & 0xff));
}

}  // namespace

Change Change::everything() {
  Change all;
  for (bool Change::*flag : flags) all.*flag = true;
  return all;
}

bool Change::empty() const {
  return runs.empty() &&
         std::none_of(std::begin(flags), std::end(flags), [this](bool Change::*flag) { return this->*flag; });
}

void Change::add(RunId run) {
  if (std::find(runs.begin(), runs.end(), run) != runs.end()) return;
  runs.push_back(run);
  if (runs.size() <= limits::changed_runs_max) return;
  runs.clear();
  inboxes = true;
  times = true;  // of their work
}

void Change::add(const Change& other) {
  for (bool Change::*flag : flags) this->*flag = this->*flag || other.*flag;
  for (const RunId run : other.runs) add(run);
}

Change changed_by(std::span<const Operation> group, std::span<const Outcome> outcomes) {
  invariant(group.size() == outcomes.size(), "one outcome for each operation");
  Change change;
  for (std::size_t i = 0; i < group.size(); ++i)
    if (outcomes[i].done()) add(change, group[i], outcomes[i]);
  return change;
}

Change changed_by(std::span<const DuplexOutcome> outcomes) {
  Change change;
  // A dequeue concerns no other node: two nodes that look for work would notify each other forever.
  change.duplex = std::any_of(outcomes.begin(), outcomes.end(), [](const DuplexOutcome& one) {
    return one.done() && !std::holds_alternative<Handed>(one.answer);
  });
  return change;
}

std::string encode(const Change& change) {
  std::string bytes(flag_bytes, '\0');
  for (std::size_t i = 0; i < std::size(flags); ++i)
    if (change.*flags[i]) bytes[i / 8] = static_cast<char>(bytes[i / 8] | 1 << i % 8);
  for (const RunId run : change.runs) put_word(bytes, run.raw());
  return bytes;
}

std::optional<Change> decode_change(std::string_view bytes) {
  if (bytes.size() < flag_bytes || (bytes.size() - flag_bytes) % 8 != 0) return std::nullopt;
  const unsigned set =
      static_cast<unsigned char>(bytes[0]) | static_cast<unsigned>(static_cast<unsigned char>(bytes[1])) << 8;
  if (set >> std::size(flags) != 0) return std::nullopt;
  Change change;
  for (std::size_t i = 0; i < std::size(flags); ++i) change.*flags[i] = (set >> i & 1) != 0;
  for (std::size_t at = flag_bytes; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) word |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
    change.add(RunId(word));
  }
  return change;
}

}  // namespace pawl::store
