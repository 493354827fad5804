#include "duplex/later.h"

#include <algorithm>

#include "ledger/duplex_state.h"

namespace pawl::duplex {

namespace {

// Not the number of deliveries: a lease that ran out while its worker was busy must not make the worker's token stale.
core::WorkToken token_after(const Hand& request, std::uint32_t given_back) {
  return core::token_of(request.guid, given_back + 1);
}

const store::DuplexCell* cell_of(const store::DuplexJob& job, const Place& place) {
  const auto cell = std::find_if(job.cells.begin(), job.cells.end(),
                                 [&](const store::DuplexCell& one) { return one.place == place; });
  return cell == job.cells.end() ? nullptr : &*cell;
}

bool is_left(const Hand& request) { return request.claim == store::ClaimId(0) && request.given_back > 0; }

}  // namespace

core::WorkToken token_of(const Hand& request) { return token_after(request, request.given_back); }

bool is_settled(const store::DuplexJob& job, const HeldRequest& request) {
  return is_left(request.hand) &&
         std::none_of(job.stream.begin(), job.stream.end(), [&](const ClaimedMessage& waiting) {
           const auto* reply = std::get_if<stream::Reply>(&waiting.message.body);
           return reply != nullptr && reply->place == request.body.place && reply->status == core::ReplyStatus::pending;
         });
}

std::optional<HeldRequest> find_request(const store::DuplexJob& job, core::WorkToken token) {
  for (const ClaimedMessage& waiting : job.stream) {
    const auto* request = std::get_if<stream::Request>(&waiting.message.body);
    if (request == nullptr) continue;
    const Hand hand = hand_of(waiting);
    if (token_after(hand, is_left(hand) ? hand.given_back - 1 : hand.given_back) != token) continue;
    const store::DuplexCell* cell = cell_of(job, request->place);
    if (cell == nullptr || cell->closer) return std::nullopt;
    return HeldRequest{hand, *request};
  }
  return std::nullopt;
}

std::vector<Operation> completion_of(const store::DuplexJob& job, const HeldRequest& request, core::ReplyStatus status,
                                     std::int32_t code, Payload data) {
  const store::DuplexCell* cell = cell_of(job, request.body.place);
  const auto state = ledger::DuplexState::decode(cell == nullptr ? 0 : cell->value);
  const std::uint32_t pendings = state ? state->exits() : 0;
  return {enqueue(response_to(request, status, code, pendings, std::move(data))), acknowledge(request.hand)};
}

}  // namespace pawl::duplex
