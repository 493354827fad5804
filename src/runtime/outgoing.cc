#include "runtime/outgoing.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/invariant.h"
#include "runtime/bytes.h"

namespace pawl::runtime {

namespace {

constexpr Duration retry_backoff_min = std::chrono::milliseconds(5);
constexpr Duration retry_backoff_max = std::chrono::seconds(1);

bool is_asked_for(const store::Operation& operation, Ticket ticket) {
  return ticket != 0 || std::holds_alternative<store::Submit>(operation);
}

bool is_bundle(const store::Operation& operation) { return std::holds_alternative<core::Bundle>(operation); }

// A bundle that concerns only its own job. The first one of a job goes with the submits: its own may be among them.
bool is_step(const store::Operation& operation) {
  const auto* bundle = std::get_if<core::Bundle>(&operation);
  if (bundle == nullptr || !std::holds_alternative<core::JobHead>(bundle->head)) return false;
  if (bundle->rev_before == core::Rev(0)) return false;
  return std::none_of(bundle->writes.begin(), bundle->writes.end(), [](const core::Write& write) {
    return std::holds_alternative<core::Send>(write) || std::holds_alternative<core::Announce>(write);
  });
}
bool is_removal(const store::Operation& operation) {
  return std::holds_alternative<store::RemoveJob>(operation) || std::holds_alternative<store::DropKeys>(operation);
}

// The streams of Groups::steps_apart; everything else has Domain{}.
constexpr store::Domain steps{store::Domain::Kind::all_lanes};
constexpr store::Domain removals{store::Domain::Kind::lane};
// A removed job may have many rows: with few removals a transaction is short, and no caller waits for it.
constexpr std::size_t removals_per_group_max = 64;
// While another one is on its way: a smaller one would cost an additional round trip and sync.
constexpr std::size_t far_group_operations_min = 32;

// The lane that must be owned for the operation to make sense: it is its owner's own work.
std::optional<core::LaneId> owner_lane_of(const store::Operation& operation) {
  using Lane = std::optional<core::LaneId>;
  return std::visit(
      Overloaded{
          [](const core::Bundle& bundle) { return Lane(core::lane_of(bundle.entity)); },
          [](const store::ClaimItem& claim) { return Lane(core::lane_of(claim.run)); },
          [](const store::Deliver& deliver) {  // its next owner delivers it
            return deliver.source ? Lane(deliver.source->lane) : Lane();
          },
          each_of<store::Submit, store::DeliverReply, store::ClaimWork, store::ExtendWork, store::ReleaseWork,
                  store::DropOutbox, store::OpenPool, store::AcquireLane, store::RenewLane, store::ReleaseLane,
                  store::BeatEngine, store::LeaveEngine, store::RemoveJob, store::DropKeys, store::PauseTopic,
                  store::PutApp, store::ActivateApp>([] { return Lane(); }),
      },
      operation);
}

}  // namespace

void Group::add(store::Operation operation, Ticket ticket) {
  bytes += bytes_of(operation);
  operations.push_back(std::move(operation));
  tickets.push_back(ticket);
}

store::Domain Outgoing::domain_of(const store::Operation& operation) const {
  if (groups_ == Groups::by_lane) return store::domain_of(operation);
  if (groups_ == Groups::over_all_lanes) return {};
  return is_step(operation) ? steps : is_removal(operation) ? removals : store::Domain{};
}

void Outgoing::push(store::Operation operation, Ticket ticket) {
  Stream& stream = streams_[domain_of(operation)];
  const std::size_t before = stream.pending.bytes;
  const bool bundle = is_bundle(operation);
  stream.pending.add(std::move(operation), ticket);
  const std::size_t added = stream.pending.bytes - before;
  bytes_ += added;
  ++waiting_;
  if (!bundle) return;
  ++bundles_;
  ++stream.bundles;
  bundle_bytes_ += added;
  stream.bundle_bytes += added;
}

void Outgoing::push(core::Bundle bundle, std::shared_ptr<store::OpenTransaction> transaction) {
  Group& group = alone_.emplace_back();
  group.add(std::move(bundle), 0);
  group.transaction = std::move(transaction);
  bytes_ += group.bytes;
}

std::optional<Group> Outgoing::take_with_transaction() {
  if (alone_.empty()) return std::nullopt;
  Group group = std::move(alone_.front());
  alone_.pop_front();
  ++alone_out_;
  group.domain = domain_of(group.operations.front());
  group.number = ++taken_;
  group.asked_at = clock_.monotonic();
  return group;
}

void Outgoing::finished_with_transaction(const Group& group) {
  --alone_out_;
  bytes_ -= group.bytes;
  newest_finished_ = std::max(newest_finished_, group.number);
}

bool Outgoing::takes_bundles() const {
  const std::size_t streams = std::max<std::size_t>(1, streams_.size());
  return bundles_ < options_.bundles_per_group_max * streams && bundle_bytes_ < options_.bytes_max.group;
}

bool Outgoing::may_send_beside_others(const Stream& stream) const {
  switch (groups_) {
    case Groups::over_all_lanes:
      return true;
    case Groups::steps_apart:
      return stream.pending.operations.size() >= far_group_operations_min &&
             !is_removal(stream.pending.operations.front());
    case Groups::by_lane:
      return false;
  }
  return false;
}

bool Outgoing::is_ready(const Stream& stream) const {
  if (stream.out > 0 && !may_send_beside_others(stream)) return false;
  return stream.retry ? clock_.monotonic() >= stream.retry_at : !stream.pending.operations.empty();
}

// Lanes take turns: a busy one does not block the rest.
std::optional<Group> Outgoing::take() {
  if (auto alone = take_with_transaction()) return alone;
  auto place = streams_.upper_bound(last_taken_);
  for (std::size_t left = streams_.size(); left > 0; --left, ++place) {
    if (place == streams_.end()) place = streams_.begin();
    Stream& stream = place->second;
    if (!is_ready(stream)) continue;
    Group group = stream.retry ? std::move(*stream.retry) : cut(stream);
    stream.retry.reset();
    ++stream.out;
    last_taken_ = place->first;
    group.domain = place->first;
    group.number = ++taken_;
    group.asked_at = clock_.monotonic();
    return group;
  }
  return std::nullopt;
}

Group Outgoing::take_all(Stream& stream) {
  waiting_ -= stream.pending.operations.size();
  bundles_ -= std::exchange(stream.bundles, 0);
  bundle_bytes_ -= std::exchange(stream.bundle_bytes, 0);
  return std::exchange(stream.pending, Group{});
}

void Outgoing::put_back(Group group) {
  bytes_ -= group.bytes;
  for (std::size_t i = 0; i < group.operations.size(); ++i) push(std::move(group.operations[i]), group.tickets[i]);
}

Group Outgoing::cut(Stream& stream) {
  const bool removes = groups_ == Groups::steps_apart && is_removal(stream.pending.operations.front());
  const auto counts = [&](const store::Operation& operation) { return removes || is_bundle(operation); };
  const std::size_t most = removes ? removals_per_group_max : options_.bundles_per_group_max;
  const std::size_t counted = removes ? stream.pending.operations.size() : stream.bundles;
  Group all = take_all(stream);
  if (counted <= most) return all;
  Group first, rest;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < all.operations.size(); ++i) {
    Group& part = taken < most ? first : rest;
    taken += counts(all.operations[i]) ? 1 : 0;
    part.add(std::move(all.operations[i]), all.tickets[i]);
  }
  put_back(std::move(rest));
  return first;
}

std::optional<std::vector<store::Outcome>> Outgoing::finished(Group& group,
                                                              Result<std::vector<store::Outcome>> result) {
  Stream& stream = streams_.at(group.domain);
  --stream.out;
  bytes_ -= group.bytes;
  overtaken_ = group.number < newest_finished_;
  newest_finished_ = std::max(newest_finished_, group.number);
  if (!result && result.error().code != ErrorCode::outcome_unknown) {
    keep(stream, std::move(group), result.error());
    return std::nullopt;
  }
  stream.backoff = Duration{0};
  if (!result)
    return std::vector<store::Outcome>(group.operations.size(),
                                       store::Outcome{store::OutcomeKind::outcome_unknown, result.error().detail});
  invariant(result->size() == group.operations.size(), "one outcome for each operation");
  return std::move(*result);
}

// Nothing was applied and the cause may pass. Callers get the error at once, also those whose request would only wait
// behind what cannot be written; bundles are committed later.
void Outgoing::keep(Stream& stream, Group group, const Error& error) {
  // A server that cannot be reached may come back without its data: that is a different problem from the first one.
  if (stream.backoff.count() == 0 || error.detail != stream.why) events_.problem(to_string(error));
  Group kept = refuse_callers(std::move(group), error);
  if (kept.operations.empty()) return;
  Group pending = take_all(stream);
  bytes_ -= pending.bytes;
  Group left = refuse_callers(std::move(pending), error);
  bytes_ += left.bytes;
  put_back(std::move(left));
  stream.backoff = std::clamp(stream.backoff * 2, retry_backoff_min, retry_backoff_max);
  stream.retry_at = clock_.monotonic() + stream.backoff;
  stream.why = error.detail;
  if (!stream.retry) stream.retry.emplace();
  bytes_ += kept.bytes;
  for (std::size_t i = 0; i < kept.operations.size(); ++i)
    stream.retry->add(std::move(kept.operations[i]), kept.tickets[i]);
}

Group Outgoing::refuse_callers(Group group, const Error& error) {
  Group kept;
  for (std::size_t i = 0; i < group.operations.size(); ++i) {
    if (!is_asked_for(group.operations[i], group.tickets[i]))
      kept.add(std::move(group.operations[i]), group.tickets[i]);
    else if (std::holds_alternative<store::Submit>(group.operations[i]))
      events_.submitted(group.tickets[i], error);
    else
      events_.answered(group.tickets[i], error);
  }
  return kept;
}

void Outgoing::withdraw(core::LaneId lane, const std::function<void(const store::Operation&)>& withdrawn) {
  const auto without = [&](Group group) {
    Group kept;
    kept.asked_at = group.asked_at;
    kept.transaction = std::move(group.transaction);
    for (std::size_t i = 0; i < group.operations.size(); ++i) {
      if (owner_lane_of(group.operations[i]) == lane)
        withdrawn(group.operations[i]);
      else
        kept.add(std::move(group.operations[i]), group.tickets[i]);
    }
    return kept;
  };
  for (Group& group : std::exchange(alone_, {})) {
    bytes_ -= group.bytes;
    group = without(std::move(group));
    if (group.operations.empty()) continue;
    bytes_ += group.bytes;
    alone_.push_back(std::move(group));
  }
  for (auto& [domain, stream] : streams_) {
    Group pending = take_all(stream);
    bytes_ -= pending.bytes;
    Group left = without(std::move(pending));
    bytes_ += left.bytes;
    put_back(std::move(left));
    if (!stream.retry) continue;
    bytes_ -= stream.retry->bytes;
    stream.retry = without(std::move(*stream.retry));
    bytes_ += stream.retry->bytes;
  }
}

bool Outgoing::refuses() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const auto& one) { return one.second.retry.has_value(); });
}

const std::string* Outgoing::refusal_of(const store::Operation& operation) const {
  const auto found = streams_.find(domain_of(operation));
  return found == streams_.end() || !found->second.retry ? nullptr : &found->second.why;
}

std::optional<Duration> Outgoing::next_wake() const {
  std::optional<Duration> wake;
  for (const auto& [domain, stream] : streams_)
    if (stream.retry && (!wake || stream.retry_at < *wake)) wake = stream.retry_at;
  return wake;
}

bool Outgoing::empty() const {
  return alone_.empty() && alone_out_ == 0 && std::all_of(streams_.begin(), streams_.end(), [](const auto& one) {
           return one.second.out == 0 && !one.second.retry && one.second.pending.operations.empty();
         });
}

}  // namespace pawl::runtime
