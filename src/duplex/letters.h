// The operation behind each letter of the sequences. Every name in them is derived from the message that causes it,
// so whoever comes to the same letter again, asks for the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/children.h"
#include "ledger/duplex_state.h"
#include "pawl/graph.h"
#include "store/operation.h"

namespace pawl::duplex {

using store::ClaimedMessage;
using store::Operation;
using store::Place;
using store::StreamMessage;
using Step = ledger::DuplexState::Operation;

// Where the trigger of a graph stands.
Place trigger_place(const Graph& graph);

// Adds to the state of the message's activity. Entries and their undo are named after this delivery, since each
// delivery is one; everything else is named after the message, since it happens once.
Operation add(const ClaimedMessage& claimed, Step step);

Operation acknowledge(const ClaimedMessage& claimed);                // f, k, s
Operation give_back(const ClaimedMessage& claimed, Duration delay);  // too early
Operation enqueue(const StreamMessage& message);                     // C, d, j, n, r
Operation renew(const StreamMessage& message);                       // d after a crash
Operation park(RunId run, std::string reason);

// o and p: the message closes its activity, or somebody else has.
Operation name_closer(const ClaimedMessage& claimed, const Place& place, Instant at);
Operation close_address(const ClaimedMessage& claimed);

// n and q, E and C: first all obligations, then all presets, then the messages.
std::vector<Operation> spawn(const ClaimedMessage& claimed, const std::vector<core::Child>& children, Instant at);

StreamMessage request_of(const StreamMessage& transition, const Graph& graph, const core::JobSecret& secret);
StreamMessage response_to(const StreamMessage& request, core::ReplyStatus status, std::int32_t code,
                          std::uint32_t number, Payload data);
// Its status says how the job ends; `data` is the reason of a failure.
StreamMessage cleanup_of(const StreamMessage& cause, core::ReplyStatus status, Payload data);

}  // namespace pawl::duplex
