#include "runtime/outgoing.h"

#include <algorithm>
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

// The lane without which the operation means nothing: its owner's own work.
std::optional<core::LaneId> owner_lane_of(const store::Operation& operation) {
  using Lane = std::optional<core::LaneId>;
  return std::visit(Overloaded{
                        [](const core::Bundle& bundle) { return Lane(core::lane_of(bundle.entity)); },
                        [](const store::ClaimItem& claim) { return Lane(core::lane_of(claim.run)); },
                        [](const store::Deliver& deliver) {  // its next owner delivers it
                          return deliver.source ? Lane(deliver.source->lane) : Lane();
                        },
                        each_of<store::Submit, store::Respond, store::ClaimWork, store::ExtendWork, store::ReleaseWork,
                                store::DropOutbox, store::OpenPool, store::AcquireLane, store::RenewLane,
                                store::ReleaseLane, store::RemoveJob, store::DropKeys, store::PauseTopic, store::PutApp,
                                store::ActivateApp>([] { return Lane(); }),
                    },
                    operation);
}

}  // namespace

void Group::add(store::Operation operation, Ticket ticket) {
  bytes += bytes_of(operation);
  operations.push_back(std::move(operation));
  tickets.push_back(ticket);
}

void Outgoing::push_decided(core::Bundle bundle) {
  const std::size_t before = pending_.bytes;
  push(std::move(bundle));
  ++bundles_;
  bundle_bytes_ += pending_.bytes - before;
}

bool Outgoing::takes_bundles() const {
  return bundles_ < options_.bundles_per_group_max && bundle_bytes_ < options_.bytes_max.group;
}

std::optional<Group> Outgoing::take() {
  Group group;
  if (retry_) {
    if (clock_.monotonic() < retry_at_) return std::nullopt;
    group = std::move(*retry_);
    retry_.reset();
  } else {
    if (pending_.operations.empty()) return std::nullopt;
    group = std::exchange(pending_, Group{});
    bundles_ = 0;
    bundle_bytes_ = 0;
  }
  ++out_;
  group.number = ++taken_;
  bytes_out_ += group.bytes;
  group.asked_at = clock_.monotonic();
  return group;
}

std::optional<std::vector<store::Outcome>> Outgoing::finished(Group& group, Result<std::vector<store::Outcome>> result) {
  --out_;
  bytes_out_ -= group.bytes;
  overtaken_ = group.number < newest_finished_;
  newest_finished_ = std::max(newest_finished_, group.number);
  if (!result && result.error().code != ErrorCode::outcome_unknown) {
    keep(std::move(group), result.error());
    return std::nullopt;
  }
  backoff_ = Duration{0};
  if (!result)
    return std::vector<store::Outcome>(group.operations.size(),
                                       store::Outcome{store::OutcomeKind::outcome_unknown, result.error().detail});
  invariant(result->size() == group.operations.size(), "one outcome for each operation");
  return std::move(*result);
}

// Nothing was applied and the cause may pass. Callers hear it at once, also those whose request would only wait behind
// what cannot be written; bundles are committed later.
void Outgoing::keep(Group group, const Error& error) {
  if (backoff_.count() == 0) events_.problem(to_string(error));
  Group kept = refuse_callers(std::move(group), error);
  if (kept.operations.empty()) return;
  pending_ = refuse_callers(std::move(pending_), error);
  backoff_ = std::clamp(backoff_ * 2, retry_backoff_min, retry_backoff_max);
  retry_at_ = clock_.monotonic() + backoff_;
  retry_reason_ = error.detail;
  if (!retry_) retry_.emplace();
  for (std::size_t i = 0; i < kept.operations.size(); ++i) retry_->add(std::move(kept.operations[i]), kept.tickets[i]);
}

Group Outgoing::refuse_callers(Group group, const Error& error) {
  Group kept;
  for (std::size_t i = 0; i < group.operations.size(); ++i) {
    if (!is_asked_for(group.operations[i], group.tickets[i])) kept.add(std::move(group.operations[i]), group.tickets[i]);
    else if (std::holds_alternative<store::Submit>(group.operations[i])) events_.submitted(group.tickets[i], error);
    else events_.answered(group.tickets[i], error);
  }
  return kept;
}

void Outgoing::withdraw(core::LaneId lane, const std::function<void(const store::Operation&)>& withdrawn) {
  const auto without = [&](Group group) {
    Group kept;
    kept.asked_at = group.asked_at;
    for (std::size_t i = 0; i < group.operations.size(); ++i) {
      if (owner_lane_of(group.operations[i]) == lane) withdrawn(group.operations[i]);
      else kept.add(std::move(group.operations[i]), group.tickets[i]);
    }
    return kept;
  };
  pending_ = without(std::exchange(pending_, Group{}));
  if (retry_) retry_ = without(std::move(*retry_));
}

std::optional<Duration> Outgoing::next_wake() const {
  if (!retry_) return std::nullopt;
  return retry_at_;
}

}  // namespace pawl::runtime
