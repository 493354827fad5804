#include "store/redis/outcomes.h"

#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "base/limits.h"
#include "store/redis/answers.h"
#include "store/redis/records.h"
#include "store/rules.h"
#include "store/snapshot.h"

namespace pawl::store::redis {

namespace {

std::optional<OutcomeKind> kind_named(std::string_view name) {
  for (const OutcomeKind kind :
       {OutcomeKind::committed, OutcomeKind::already_done, OutcomeKind::exists, OutcomeKind::conflict,
        OutcomeKind::fenced, OutcomeKind::rejected, OutcomeKind::over_limit})
    if (store::name_of(kind) == name) return kind;
  return std::nullopt;
}

RunId run_in(const Reply& reply) { return RunId(number_in<std::uint64_t>(reply.text).value_or(0)); }
std::optional<Instant> lease_in(const Reply& reply) {
  const auto micros = number_in<std::int64_t>(reply.text);
  return micros ? std::optional(Instant::from_micros(*micros)) : std::nullopt;
}

// A field of the job's hash differs from the value that the bundle was computed from.
Outcome wrong_field(const Reply& reply) {
  const std::string& field = reply[2].text;
  const std::string name =
      field.starts_with("a:") ? "activity " + field.substr(2) : "message " + field.substr(field.rfind(':') + 1);
  const std::string& expected = reply[3].text;
  const std::string& stored = reply[4].text;
  if (expected.empty()) return rejected(format("{} has a ledger already", name));
  if (stored.empty()) return rejected(format("{} is missing", name));
  return rejected(format("{}: ledger is {}, expected {}", name, stored, expected));
}

// The step hits although the bundle expects a miss, or the reverse.
Outcome wrong_hit(const Operation& operation) {
  const auto* bundle = std::get_if<core::Bundle>(&operation);
  const auto* head = bundle == nullptr ? nullptr : std::get_if<core::JobHead>(&bundle->head);
  invariant(head != nullptr && head->semaphore, "only a job's step hits");
  return rejected(other_hit(*head->semaphore, !head->semaphore->hit));
}

// A signal for which its mailbox has no room.
Outcome refused_signal(const Deliver& deliver, const Reply& reply, OutcomeKind kind) {
  const auto* key = std::get_if<core::MailboxKey>(&deliver.envelope.to);
  const auto* signal = std::get_if<core::Signal>(&deliver.envelope.message.body);
  const auto signals = number_in<std::size_t>(reply[3].text);
  const auto bytes = number_in<std::size_t>(reply[4].text);
  Outcome outcome = outcome_of(kind);
  if (key != nullptr && signal != nullptr && signals && bytes)
    outcome.reason = mailbox_full(*key, *signals, *bytes, signal->data.size()).value_or("");
  outcome.answer = answer::Run{run_in(reply[2])};
  return outcome;
}

Status put_items(const Reply& reply, Outcome& outcome) {
  answer::Items claimed;
  for (std::size_t i = 2; i < reply.list.size(); ++i) {
    auto item = read_item(reply[i]);
    if (!item) return item.error();
    claimed.items.push_back(std::move(*item));
  }
  outcome.answer = std::move(claimed);
  return {};
}

Status put_engines(const Reply& reply, Outcome& outcome) {
  answer::Engines alive;
  for (std::size_t i = 2; i + 1 < reply.list.size(); i += 2) {
    auto engine = read_engine(reply[i].text, reply[i + 1].text);
    if (!engine) return engine.error();
    alive.engines.push_back(std::move(*engine));
  }
  std::sort(alive.engines.begin(), alive.engines.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  outcome.answer = std::move(alive);
  return {};
}

void put_run(const Reply& reply, Outcome& outcome) {
  if (reply.list.size() < 3) return;
  outcome.answer = answer::Run{run_in(reply[2]), run_in(reply[3])};
}

Status put_answer(const Operation& operation, const Reply& reply, Outcome& outcome) {
  return std::visit(Overloaded{
                        [&](const Submit&) {
                          put_run(reply, outcome);
                          return Status{};
                        },
                        [&](const Deliver&) {
                          if (outcome.kind == OutcomeKind::conflict)
                            outcome.answer = answer::Taken{number_in<std::uint64_t>(reply[3].text).value_or(0)};
                          else
                            put_run(reply, outcome);
                          return Status{};
                        },
                        [&](const AcquireLane&) {
                          if (outcome.done())
                            outcome.answer = answer::Lane{
                                core::Epoch(number_in<std::uint64_t>(reply[2].text).value_or(0)), lease_in(reply[3])};
                          return Status{};
                        },
                        [&](const RenewLane& renew) {
                          if (outcome.done()) outcome.answer = answer::Lane{renew.epoch, lease_in(reply[2])};
                          return Status{};
                        },
                        each_of<ClaimWork, ClaimItem, ExtendWork>(
                            [&] { return outcome.done() ? put_items(reply, outcome) : Status{}; }),
                        [&](const BeatEngine&) { return outcome.done() ? put_engines(reply, outcome) : Status{}; },
                        each_of<core::Bundle, DeliverReply, ReleaseWork, DropOutbox, OpenPool, ReleaseLane, LeaveEngine,
                                RemoveJob, DropKeys, PauseTopic, PutApp, ActivateApp>([] { return Status{}; }),
                    },
                    operation);
}

}  // namespace

Result<Outcome> read_outcome(const Operation& operation, const Reply& reply) {
  if (!reply.is_list() && reply.text == "committed") return committed();
  const std::string& name = reply[0].text;
  if (name == "wrong_field") return wrong_field(reply);
  if (name == "other_hit") return wrong_hit(operation);
  if (name == "not_behind")
    return outcome_of(OutcomeKind::conflict, not_behind(std::get<core::Bundle>(operation).entity));
  if (name == "no_job")
    return rejected(format("there is no job or mailbox {}", std::get<core::Bundle>(operation).entity.raw()));
  const auto* deliver = std::get_if<Deliver>(&operation);
  const bool passed_over = name == "passed_over";  // sent by a job: no caller waits for the outcome
  if (deliver != nullptr && (passed_over || name == "over_limit"))
    return refused_signal(*deliver, reply, passed_over ? OutcomeKind::committed : OutcomeKind::over_limit);
  const auto kind = kind_named(name);
  if (!kind) return malformed("the answer of a script");
  Outcome outcome = outcome_of(*kind, reply[1].text);
  if (const auto put = put_answer(operation, reply, outcome); !put) return put.error();
  return outcome;
}

}  // namespace pawl::store::redis
