#include "store/redis/committer.h"

#include <algorithm>

#include "base/invariant.h"
#include "base/limits.h"
#include "store/check_limits.h"
#include "store/domain.h"
#include "store/redis/answers.h"
#include "store/redis/lane_call.h"
#include "store/redis/layout.h"
#include "store/redis/limits.h"
#include "store/redis/outcomes.h"
#include "store/redis/records.h"
#include "store/rules.h"

namespace pawl::store::redis {

namespace {

// A script failed: before its first operation (no memory, the server is not a master), or in the middle of them.
Error error_of(const Reply& reply) {
  for (const char* code : {"OOM", "MISCONF", "NOREPLICAS"})
    if (reply.is_error(code)) return Error{ErrorCode::retry_later, reply.text};
  for (const char* code : {"NOPERM", "NOAUTH", "WRONGPASS"})
    if (reply.is_error(code)) return Error{ErrorCode::unsupported, reply.text};
  return Error{ErrorCode::outcome_unknown, format("the script failed: {}", reply.text)};
}

// The bundle right behind a submit that is decided for it, if there is one.
const core::Bundle* first_step_of(std::span<const Operation> group, std::size_t at) {
  if (!std::holds_alternative<Submit>(group[at]) || at + 1 == group.size()) return nullptr;
  const auto* bundle = std::get_if<core::Bundle>(&group[at + 1]);
  const bool is_its = bundle != nullptr && bundle->with_submit && domain_of(group[at]) == domain_of(group[at + 1]);
  return is_its ? bundle : nullptr;
}

}  // namespace

std::optional<Error> Committer::refusal_of(const Reply& reply, core::LaneId lane) {
  const std::string& what = reply[0].text;
  if (what == "another_store") return watch_.another_store(lane, reply[1].text);
  if (what == "older_state") return watch_.older_state(lane, reply[1].text);
  if (what == "newer_layout") return learn_layout(check_layout(servers_, reply[1])).error();
  if (what != "ok") return malformed("the answer of a script");
  return std::nullopt;
}

Result<std::uint32_t> Committer::lanes() {
  Commands commands;
  commands.add({"HGET", keys_.of_catalogue("store"), "lanes"});
  const auto replies = servers_.ask(catalogue_tag, commands);
  if (!replies) return replies.error();
  const Reply& reply = replies->front();
  if (reply.is_error()) return error_of(reply);
  const std::uint32_t lanes = reply.is_nil() ? 0 : number_in<std::uint32_t>(reply.text).value_or(0);
  const std::lock_guard lock(mutex_);
  lanes_ = std::max(lanes_, lanes);
  return lanes_;
}

Result<bool> Committer::has_lane(core::LaneId lane) {
  if (lane == core::LaneId(0)) return false;
  {
    const std::lock_guard lock(mutex_);
    if (lane.raw() <= lanes_) return true;
  }
  const auto known = lanes();
  if (!known) return known.error();
  return lane.raw() <= *known;
}

RunId Committer::last_run(core::LaneId lane) {
  const std::lock_guard lock(mutex_);
  return memory_[lane].last_run;
}
void Committer::saw_run(RunId run) {
  const std::lock_guard lock(mutex_);
  RunId& last = memory_[core::lane_of(run)].last_run;
  last = std::max(last, run);
}
bool Committer::holds(core::LaneId lane) {
  const std::lock_guard lock(mutex_);
  const auto known = memory_.find(lane);
  return known != memory_.end() && known->second.held;
}

void Committer::note(const Operation& operation, const std::string& name, const Outcome& outcome) {
  const core::LaneId at = domain_of(operation).lane;
  const RunId run = outcome.run();
  if (run != RunId(0) && core::lane_of(run) == at) {
    saw_run(run);
    const std::lock_guard lock(mutex_);
    auto& runs = memory_[at].runs;
    if (runs.size() >= limits::names_remembered_max) runs.clear();
    if (!name.empty()) runs.insert_or_assign(name, run);
  }
  const bool done = outcome.kind == OutcomeKind::committed;
  const auto set = [&](core::LaneId lane, bool held) {
    const std::lock_guard lock(mutex_);
    memory_[lane].held = held;
  };
  if (const auto* acquire = std::get_if<AcquireLane>(&operation); acquire != nullptr && done) set(acquire->lane, true);
  if (const auto* release = std::get_if<ReleaseLane>(&operation); release != nullptr) set(release->lane, false);
}

// Each operation is separate: no caller relies on more.
Result<std::vector<Outcome>> Committer::commit_plainly(std::span<const Operation> group) {
  std::vector<Outcome> outcomes;
  for (const Operation& operation : group) {
    const Domain domain = domain_of(operation);
    const auto known = domain.kind == Domain::Kind::catalogue ? Result<bool>(true) : has_lane(domain.lane);
    auto outcome = !known   ? Result<Outcome>(Error{ErrorCode::retry_later, known.error().detail})
                   : *known ? plain_->commit(operation)
                            : Result<Outcome>(rejected(format("there is no lane {}", domain.lane.raw())));
    if (!outcome) {
      if (group.size() == 1) return outcome.error();
      outcome = outcome_of(OutcomeKind::outcome_unknown, outcome.error().detail);  // the caller asks for it again
    }
    note(operation, {}, *outcome);
    outcomes.push_back(std::move(*outcome));
  }
  return outcomes;
}

Status Committer::check_known_layout() {
  const std::lock_guard lock(mutex_);
  return newer_layout_ ? Status{*newer_layout_} : Status{};
}

Status Committer::learn_layout(Status status) {
  const std::lock_guard lock(mutex_);
  newer_layout_ = status ? std::nullopt : std::optional(status.error());
  return status;
}

// The layout is in the catalogue, which may be on another server than the lane. So it is read before a lane is taken,
// and with each operation of the catalogue; an engine makes one of those in each third of its lease. Once it is too
// new, nothing more is written, and it is read again each time.
Status Committer::look_at_layout(std::span<const Operation> group) {
  const bool matters = !check_known_layout() || std::any_of(group.begin(), group.end(), [&](const Operation& one) {
    return std::holds_alternative<AcquireLane>(one) || (plain_ && domain_of(one).kind == Domain::Kind::catalogue);
  });
  if (!matters) return {};
  auto status = check_layout(servers_, keys_);
  const bool is_known = status || status.error().code != ErrorCode::retry_later;
  return is_known ? learn_layout(std::move(status)) : status;
}

Result<std::vector<Outcome>> Committer::commit(std::span<const Operation> group) {
  if (const auto fits = look_at_layout(group); !fits) return fits.error();
  return plain_ ? commit_plainly(group) : commit_by_scripts(group);
}

Result<std::vector<Outcome>> Committer::commit_by_scripts(std::span<const Operation> group) {
  std::map<Domain, Indices> domains;
  for (std::size_t i = 0; i < group.size(); ++i) domains[domain_of(group[i])].push_back(i);
  std::vector<Outcome> outcomes(group.size());
  for (const auto& [domain, indices] : domains) {
    const Status done = domain.kind == Domain::Kind::catalogue ? commit_catalogue(group, indices, outcomes)
                                                               : commit_lane(domain.lane, group, indices, outcomes);
    if (done) continue;
    if (domains.size() == 1) return done.error();
    // The outcomes of the other lanes are known, and stay.
    const bool nothing = done.error().code == ErrorCode::retry_later;
    for (const std::size_t i : indices)
      outcomes[i] = outcome_of(nothing ? OutcomeKind::conflict : OutcomeKind::outcome_unknown, done.error().detail);
  }
  return outcomes;
}

Status Committer::commit_lane(core::LaneId lane, std::span<const Operation> group, const Indices& indices,
                              std::vector<Outcome>& outcomes) {
  std::optional<Error> unknown_lanes;
  OperationEncoder encoder(keys_, lane, [&](core::LaneId asked) {
    const auto known = has_lane(asked);
    if (!known && !unknown_lanes) unknown_lanes = known.error();
    return known && *known;
  });
  std::vector<Encoded> operations;
  Indices sent;
  Words names;
  for (const std::size_t i : indices) {
    const auto* bundle = std::get_if<core::Bundle>(&group[i]);
    const bool behind = !sent.empty() && sent.back() + 1 == i && first_step_of(group, i - 1) != nullptr;
    if (bundle != nullptr && bundle->with_submit && !behind) {
      outcomes[i] = outcome_of(OutcomeKind::conflict, not_behind(bundle->entity));
      continue;
    }
    auto encoded = encoder.encode(group[i], first_step_of(group, i));
    if (auto* outcome = std::get_if<Outcome>(&encoded)) {
      outcomes[i] = std::move(*outcome);
      continue;
    }
    operations.push_back(std::move(std::get<Encoded>(encoded)));
    sent.push_back(i);
    names.push_back(operations.back().name);
    const std::lock_guard lock(mutex_);
    const auto& runs = memory_[lane].runs;
    if (const auto known = runs.find(names.back()); known != runs.end())
      operations.back().runs.push_back(known->second);
  }
  if (unknown_lanes) return Error{ErrorCode::retry_later, unknown_lanes->detail};
  if (operations.empty()) return {};
  ++groups_;
  operations_ += operations.size();

  LaneCallHeader header{now_text(), store_.text(), watch_.highest(lane), sender_, keys_.bell()};
  const std::string tag = tag_of(lane);
  LaneCall call(keys_, lane, std::move(operations), encoder.outboxes(), last_run(lane));
  for (int guess = 0; !call.is_done(); ++guess) {
    const bool began = call.next() > 0;
    if (guess == limits::guesses_max)
      return Error{began ? ErrorCode::outcome_unknown : ErrorCode::retry_later,
                   "too many others make jobs in this lane at once"};
    const LaneCall::Sent sent_call = call.sent(header);
    const auto reply = servers_.run(tag, lane_script(), sent_call.keys, sent_call.arguments);
    std::optional<Error> error;
    if (!reply)
      error = reply.error();
    else if (reply->is_error())
      error = error_of(*reply);
    else
      error = refusal_of(*reply, lane);
    if (error) {
      if (began && error->code == ErrorCode::retry_later) error->code = ErrorCode::outcome_unknown;
      return *error;
    }
    if (const auto time = number_in<std::int64_t>((*reply)[4].text); time && server_clock_ != nullptr)
      server_clock_->observe(*time);
    const Reply& answers = (*reply)[2];
    for (std::size_t i = 0; i < answers.list.size() && call.next() + i < sent.size(); ++i) {
      const std::size_t at = sent[call.next() + i];
      auto outcome = read_outcome(group[at], answers[i]);
      if (!outcome) return Error{ErrorCode::outcome_unknown, outcome.error().detail};
      note(group[at], names[call.next() + i], *outcome);
      outcomes[at] = std::move(*outcome);
    }
    watch_.saw(lane, number_in<std::uint64_t>((*reply)[1].text).value_or(0));
    header.seen_commits = watch_.highest(lane);
    if (!call.advance(answers.list.size(), (*reply)[3]))
      return Error{ErrorCode::outcome_unknown, "the script stopped and did not say why"};
  }
  return {};
}

namespace {

class CatalogueCall {
 public:
  explicit CatalogueCall(const Keys& keys)
      : names_(keys), keys_{keys.of_catalogue("store"), keys.of_catalogue("pools")} {}

  void put(const Operation& operation) {
    std::visit(Overloaded{
                   [&](const OpenPool& open) {
                     add({"open_pool", open.pool.raw(), format("{}", open.lanes),
                          format("{}", pawl::limits::lanes_per_pool_max), format("{}", pawl::limits::lanes_max)});
                   },
                   [&](const BeatEngine& beat) {
                     const std::string words = engine_words(beat);
                     const auto parts = words_of(words);
                     add({"beat_engine", index_of(names_.engines(beat.pool)), beat.pool.raw(), missing_pool(beat.pool),
                          beat.name, format("{}", beat.lease.count()), beat.holds ? "1" : "0", std::string(parts[0]),
                          std::string(parts[1]), beat.leaving ? "1" : "0"});
                   },
                   [&](const LeaveEngine& leave) {
                     add({"leave_engine", index_of(names_.engines(leave.pool)), leave.name});
                   },
                   [&](const PutApp& put) {
                     add({"put_app", index_of(names_.apps(put.name_space)), name_of_version(put.app, put.version),
                          put.body, other_app(put)});
                   },
                   [&](const ActivateApp& activate) {
                     add({"activate_app", index_of(names_.apps(activate.name_space)), activate.app, activate.version,
                          name_of_version(activate.app, activate.version), missing_app(activate)});
                   },
                   each_of<core::Bundle, Submit, Deliver, DeliverReply, ClaimWork, ClaimItem, ExtendWork, ReleaseWork,
                           DropOutbox, AcquireLane, RenewLane, ReleaseLane, RemoveJob, DropKeys, PauseTopic>(
                       [] { invariant(false, "an operation of a lane goes to no catalogue"); }),
               },
               operation);
    ++count_;
  }
  std::size_t count() const { return count_; }
  const Words& keys() const { return keys_; }
  Words arguments(Words header) const {
    header.push_back(format("{}", count_));
    header.insert(header.end(), words_.begin(), words_.end());
    return header;
  }

 private:
  std::string index_of(std::string key) {
    keys_.push_back(std::move(key));
    return format("{}", keys_.size());
  }
  void add(Words words) { words_.insert(words_.end(), words.begin(), words.end()); }

  const Keys& names_;
  Words keys_;
  Words words_;
  std::size_t count_ = 0;
};

}  // namespace

Status Committer::commit_catalogue(std::span<const Operation> group, const Indices& indices,
                                   std::vector<Outcome>& outcomes) {
  CatalogueCall call(keys_);
  Indices sent;
  for (const std::size_t i : indices) {
    if (const auto fits = check_limits(group[i]); !fits) {
      outcomes[i] = rejected(fits.error().detail);
      continue;
    }
    call.put(group[i]);
    sent.push_back(i);
  }
  if (sent.empty()) return {};
  const auto reply = servers_.run(catalogue_tag, catalogue_script(), call.keys(),
                                  call.arguments({now_text(), store_.text(), keys_.bell(), sender_,
                                                  decimal(layout_number)}));
  if (!reply) return reply.error();
  if (reply->is_error()) return error_of(*reply);
  if (const auto refused = refusal_of(*reply, core::LaneId(0))) return *refused;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    auto outcome = read_outcome(group[sent[i]], (*reply)[2][i]);
    if (!outcome) return Error{ErrorCode::outcome_unknown, outcome.error().detail};
    outcomes[sent[i]] = std::move(*outcome);
  }
  return {};
}

}  // namespace pawl::store::redis
