#include "core/mailbox.h"
#include "store/conformance/traffic.h"

namespace pawl::store {

namespace {

constexpr std::uint64_t traffic_group_max = 7;

}  // namespace

core::MailboxKey Traffic::draw_key() {
  return {Namespace(options_.name_space), Topic("bell"), format("key-{}", random_.below(keys_max))};
}

core::LaneId Traffic::lane_of_target(const core::Target& to) const {
  if (const auto* box = std::get_if<core::MailboxKey>(&to)) return lane_of_id(box->key);
  if (const auto* job = std::get_if<core::JobKey>(&to)) return lane_of_id(job->id.raw());
  return core::LaneId(0);
}

// To a mailbox: a signal, a registration, or the result of an offer.
core::Message Traffic::draw_word() {
  const core::Guid registration = draw_registration();
  switch (random_.below(8)) {
    case 0:
      return {core::Guid{300 + registration.high, random_.below(3)}, core::Withdraw{registration}};
    case 1:
    case 2: {
      const core::Guid resume = core::meeting_of(draw_signal(), registration);
      return {core::Guid{600 + registration.high, 1}, core::Taken{registration, resume}};
    }
    case 3:
    case 4:
      return {registration,
              core::Register{runs_[draw_run()], core::ActivitySeq(static_cast<std::uint32_t>(random_.below(3)))}};
    default: {
      const bool pending = random_.one_in(4);
      const Payload data(format("signal {}", std::string(random_.below(30), 's')));
      return {draw_signal(),
              core::Signal{data, pending ? core::ReplyStatus::pending : core::ReplyStatus::success, 200}};
    }
  }
}

core::Envelope Traffic::draw_envelope() {
  if (random_.one_in(2)) return {draw_key(), draw_word()};
  Deliver deliver = draw_delivery();
  return deliver.envelope;
}

Operation Traffic::draw_sending_bundle() {
  core::Bundle bundle = draw_bundle();
  const bool is_new = !recent_.empty() && recent_.back().id == bundle.id && bundle.id.raw() + 1 == next_bundle_;
  if (!is_new) return bundle;  // a repeated bundle stays unchanged
  for (std::uint64_t i = 1 + random_.below(3); i > 0; --i) {
    core::Envelope envelope = draw_envelope();
    const core::LaneId lane = lane_of_target(envelope.to);
    bundle.writes.push_back(core::Send{std::move(envelope), lane});
  }
  recent_.back() = bundle;
  return bundle;
}

// As the lane owner does: a page, a decision.
std::optional<core::Bundle> Traffic::draw_served_mailbox() {
  const core::MailboxKey key = draw_key();
  const auto run = store_.find_mailbox(key);
  if (!run || !*run) return std::nullopt;
  const auto page = store_.read_mailbox_page(**run, {1 + random_.below(3)}, clock_.now());
  if (!page || !*page) return std::nullopt;
  std::vector<core::Delivery> deliveries;
  for (const core::InboxMessage& message : (*page)->inbox) deliveries.push_back({message.message});
  core::DecideOptions options;
  options.now = clock_.now();
  options.epoch = lanes_[core::lane_of(**run) == lanes_[0].id ? 0 : 1].epoch;
  if (random_.one_in(15)) options.epoch = core::next(options.epoch);
  options.id = core::BundleId(next_bundle_++);
  core::Decision decision = core::decide((*page)->state, deliveries, options, (*page)->cut);
  if (!decision.bundle) return std::nullopt;
  if (random_.one_in(20)) decision.bundle->rev_before = core::next(decision.bundle->rev_before);
  return std::move(decision.bundle);
}

Operation Traffic::draw_any() {
  const std::uint64_t what = runs_.empty() ? 9 : random_.below(10);
  if (what < 2) {
    Deliver deliver;
    deliver.envelope = {draw_key(), draw_word()};
    deliver.lane = lane_of_target(deliver.envelope.to);
    deliver.remembered = std::holds_alternative<core::Signal>(deliver.envelope.message.body) && random_.one_in(2);
    return deliver;
  }
  if (what < 4) {
    if (auto bundle = draw_served_mailbox()) return std::move(*bundle);
  }
  if (what < 6) return draw_sending_bundle();
  return draw();
}

std::vector<Operation> Traffic::draw_group() {
  std::vector<Operation> group;
  std::set<RunId> entities;
  const std::uint64_t count = random_.one_in(3) ? 1 : 1 + random_.below(traffic_group_max);
  for (std::uint64_t i = 0; i < count; ++i) {
    Operation drawn = draw_any();
    if (const auto* bundle = std::get_if<core::Bundle>(&drawn);
        bundle != nullptr && !entities.insert(bundle->entity).second)
      continue;
    const bool fits = group.empty() || groups_ == Groups::of_any || domain_of(drawn) == domain_of(group.front());
    if (fits) group.push_back(std::move(drawn));
  }
  return group;
}

}  // namespace pawl::store
