#include "duplex/letters.h"

#include <utility>

#include "base/seeded_bug.h"

namespace pawl::duplex {

namespace {

using Purpose = core::Guid::Purpose;

core::Guid mark_of(const ClaimedMessage& claimed, Step step) {
  const core::Guid& guid = claimed.message.guid;
  switch (step) {
    case Step::leg1_entry:
    case Step::leg2_entry: return guid.derive(Purpose::duplex_entry, claimed.claim.raw());
    case Step::undo_leg2_entry: return guid.derive(Purpose::duplex_undo, claimed.claim.raw());
    case Step::leg1_exit:
    case Step::leg2_exit: return guid.derive(Purpose::duplex_exit, 0);
    case Step::conclude:
    case Step::fail: break;
  }
  const bool each = seeded(SeededBug::duplex_every_closer_closes);
  return guid.derive(Purpose::duplex_closing, each ? claimed.claim.raw() : 0);
}

}  // namespace

Place trigger_place(const Graph& graph) { return Place{graph.trigger(), ledger::Dimensions::trigger()}; }

Operation add(const ClaimedMessage& claimed, Step step) {
  return store::AddToCell{claimed.message.run, claimed.message.place, ledger::DuplexState::delta(step),
                          mark_of(claimed, step)};
}

Operation acknowledge(const ClaimedMessage& claimed) {
  return store::Ack{claimed.message.run, claimed.message.guid, claimed.claim};
}

Operation give_back(const ClaimedMessage& claimed, Duration delay) {
  return store::GiveBack{claimed.message.run, claimed.message.guid, claimed.claim, delay};
}

Operation enqueue(const StreamMessage& message) { return store::Enqueue{message, false}; }
Operation renew(const StreamMessage& message) { return store::Enqueue{message, true}; }
Operation park(RunId run, std::string reason) { return store::ParkDuplex{run, std::move(reason)}; }

Operation name_closer(const ClaimedMessage& claimed, const Place& place, Instant at) {
  const StreamMessage& message = claimed.message;
  const bool failed = message.status == core::ReplyStatus::error;
  return store::NameCloser{message.run,
                           place,
                           message.guid,
                           failed ? core::ActivityStatus::errored : core::ActivityStatus::completed,
                           message.code,
                           at,
                           message.data};
}

Operation close_address(const ClaimedMessage& claimed) {
  return store::CloseAddress{claimed.message.run, claimed.message.place};
}

std::vector<Operation> spawn(const ClaimedMessage& claimed, const std::vector<core::Child>& children, Instant at) {
  const StreamMessage& cause = claimed.message;
  std::vector<Operation> obligations, presets, messages;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const Place place{children[i].node, children[i].at};
    obligations.emplace_back(store::OpenAddress{cause.run, place});
    presets.emplace_back(store::SetCell{cause.run, place, ledger::DuplexState::preset().encode(), at});
    StreamMessage transition;
    transition.run = cause.run;
    transition.guid = cause.guid.derive(Purpose::transition, i);
    transition.kind = StreamMessage::Kind::transition;
    transition.place = place;
    transition.data = cause.data;
    messages.push_back(enqueue(transition));
  }
  if (seeded(SeededBug::duplex_preset_after_enqueue)) std::swap(presets, messages);
  std::vector<Operation> all = std::move(obligations);
  for (auto* part : {&presets, &messages})
    for (Operation& operation : *part) all.push_back(std::move(operation));
  return all;
}

StreamMessage request_of(const StreamMessage& transition, const Graph& graph, const core::JobSecret& secret) {
  StreamMessage request = transition;
  request.guid = core::work_request(secret, transition.guid);
  request.kind = StreamMessage::Kind::request;
  request.topic = graph.nodes()[transition.place.node].topic;
  return request;
}

StreamMessage response_to(const StreamMessage& request, core::ReplyStatus status, std::int32_t code,
                          std::uint32_t number, Payload data) {
  const bool pending = status == core::ReplyStatus::pending;
  StreamMessage response;
  response.run = request.run;
  response.guid = pending ? request.guid.derive(Purpose::response_pending, number)
                          : request.guid.derive(Purpose::response_final, 0);
  response.kind = StreamMessage::Kind::response;
  response.place = request.place;
  response.status = status;
  response.code = code;
  response.number = number;
  response.data = std::move(data);
  return response;
}

StreamMessage cleanup_of(const StreamMessage& cause, core::ReplyStatus status, Payload data) {
  StreamMessage cleanup;
  cleanup.run = cause.run;
  cleanup.guid = core::Guid::of_run(cause.run).derive(Purpose::duplex_cleanup, 0);
  cleanup.kind = StreamMessage::Kind::cleanup;
  cleanup.place = cause.place;
  cleanup.status = status;
  cleanup.code = cause.code;
  cleanup.data = std::move(data);
  return cleanup;
}

}  // namespace pawl::duplex
