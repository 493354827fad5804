// The operation behind each letter of the sequences. Every name in them is derived from the message that causes it, so
// reaching the same letter again requests the same operation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/children.h"
#include "core/graph.h"
#include "core/secret.h"
#include "ledger/duplex_state.h"
#include "store/duplex_operation.h"

namespace pawl::duplex {

using core::Graph;

namespace stream = store::stream;
using Operation = store::DuplexOperation;
using Outcome = store::DuplexOutcome;
using store::ClaimedMessage;
using store::Place;
using store::StreamMessage;
using Step = ledger::DuplexState::Operation;

// A message that was dequeued, of any kind: enough to acknowledge it or give it back.
struct Hand {
  RunId run{0};
  core::Guid guid;
  store::ClaimId claim{0};
  std::uint32_t deliveries = 0;
  std::uint32_t given_back = 0;
};
inline Hand hand_of(const ClaimedMessage& claimed) {
  return {claimed.message.run, claimed.message.guid, claimed.claim, claimed.deliveries, claimed.given_back};
}
// A request that a worker has.
struct HeldRequest {
  Hand hand;
  stream::Request body;
};

// The place of the trigger of a graph.
Place trigger_place(const Graph& graph);

// Adds to the state of the message's activity. Entries and their undo are named after this delivery, because each
// delivery is one entry; everything else is named after the message, because it happens once.
Operation add(const Hand& hand, const Place& place, Step step);

Operation acknowledge(const Hand& hand);                // f, k, s
Operation give_back(const Hand& hand, Duration delay);  // too early
Operation enqueue(const StreamMessage& message);        // C, d, j, n, r
Operation renew(const StreamMessage& message);          // d after a crash
Operation park(RunId run, std::string reason);

// o and p: the message closes its activity, unless another one already has.
struct LastWord {
  core::ReplyStatus status = core::ReplyStatus::success;
  std::int32_t code = 200;
  Payload data;
};
Operation name_closer(const Hand& hand, const Place& place, const LastWord& said, Instant at);
Operation close_address(RunId run, const Place& place);

// n and q, E and C: first all obligations, then all presets, then the messages. `data` comes from the parent.
std::vector<Operation> spawn(const Hand& cause, const Payload& data, const std::vector<core::Child>& children,
                             Instant at);

StreamMessage request_of(const Hand& hand, const stream::Transition& transition, const Graph& graph,
                         const core::JobSecret& secret);
StreamMessage response_to(const HeldRequest& request, core::ReplyStatus status, std::int32_t code, std::uint32_t number,
                          Payload data);
StreamMessage cleanup_of(RunId run, std::optional<stream::Cleanup::Failure> failure);

}  // namespace pawl::duplex
