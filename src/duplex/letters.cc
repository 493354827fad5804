#include "duplex/letters.h"

#include <utility>

namespace pawl::duplex {

namespace {

using Purpose = core::Guid::Purpose;

core::Guid mark_of(const Hand& hand, Step step) {
  const core::Guid& guid = hand.guid;
  switch (step) {
    case Step::leg1_entry:
    case Step::leg2_entry:
      return guid.derive(Purpose::duplex_entry, hand.claim.raw());
    case Step::undo_leg2_entry:
      return guid.derive(Purpose::duplex_undo, hand.claim.raw());
    case Step::leg1_exit:
    case Step::leg2_exit:
      return guid.derive(Purpose::duplex_exit, 0);
    case Step::conclude:
    case Step::fail:
      break;
  }
  return guid.derive(Purpose::duplex_closing, 0);
}

}  // namespace

Place trigger_place(const Graph& graph) { return Place{graph.trigger(), ledger::Dimensions::trigger()}; }

Operation add(const Hand& hand, const Place& place, Step step) {
  return store::AddToCell{hand.run, place, ledger::DuplexState::delta(step), mark_of(hand, step)};
}

Operation acknowledge(const Hand& hand) { return store::Ack{hand.run, hand.guid, hand.claim}; }

Operation give_back(const Hand& hand, Duration delay) {
  return store::GiveBack{hand.run, hand.guid, hand.claim, delay};
}

Operation enqueue(const StreamMessage& message) { return store::Enqueue{message, false}; }
Operation renew(const StreamMessage& message) { return store::Enqueue{message, true}; }
Operation park(RunId run, std::string reason) { return store::ParkDuplex{run, std::move(reason)}; }

Operation name_closer(const Hand& hand, const Place& place, const LastWord& said, Instant at) {
  const bool failed = said.status == core::ReplyStatus::error;
  const auto status = failed ? core::ActivityStatus::errored : core::ActivityStatus::completed;
  return store::NameCloser{hand.run, place, hand.guid, status, said.code, at, said.data};
}

Operation close_address(RunId run, const Place& place) { return store::CloseAddress{run, place}; }

std::vector<Operation> spawn(const Hand& cause, const Payload& data, const std::vector<core::Child>& children,
                             Instant at) {
  std::vector<Operation> obligations, presets, messages;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const Place place{children[i].node, children[i].at};
    obligations.emplace_back(store::OpenAddress{cause.run, place});
    presets.emplace_back(store::SetCell{cause.run, place, ledger::DuplexState::preset().encode(), at});
    messages.push_back(
        enqueue({cause.run, cause.guid.derive(Purpose::transition, i), stream::Transition{place, data}}));
  }
  std::vector<Operation> all = std::move(obligations);
  for (auto* part : {&presets, &messages})
    for (Operation& operation : *part) all.push_back(std::move(operation));
  return all;
}

StreamMessage request_of(const Hand& hand, const stream::Transition& transition, const Graph& graph,
                         const core::JobSecret& secret) {
  return {hand.run, core::work_request(secret, hand.guid),
          stream::Request{transition.place, graph.nodes()[transition.place.node].topic, transition.data}};
}

StreamMessage response_to(const HeldRequest& request, core::ReplyStatus status, std::int32_t code, std::uint32_t number,
                          Payload data) {
  const core::Guid& guid = request.hand.guid;
  const bool pending = status == core::ReplyStatus::pending;
  return {request.hand.run,
          pending ? guid.derive(Purpose::response_pending, number) : guid.derive(Purpose::response_final, 0),
          stream::Reply{request.body.place, status, code, number, std::move(data)}};
}

StreamMessage cleanup_of(RunId run, std::optional<stream::Cleanup::Failure> failure) {
  return {run, core::Guid::of_run(run).derive(Purpose::duplex_cleanup, 0), stream::Cleanup{std::move(failure)}};
}

}  // namespace pawl::duplex
