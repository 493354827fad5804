#include "duplex/later.h"

#include <algorithm>

#include "ledger/duplex_state.h"

namespace pawl::duplex {

namespace {

// Not the number of deliveries: a lease that ran out while its worker was busy must not make the worker's token stale.
core::WorkToken token_after(const ClaimedMessage& request, std::uint32_t given_back) {
  return core::token_of(request.message.guid, given_back + 1);
}

const store::DuplexCell* cell_of(const store::DuplexJob& job, const Place& place) {
  const auto cell = std::find_if(job.cells.begin(), job.cells.end(),
                                 [&](const store::DuplexCell& one) { return one.place == place; });
  return cell == job.cells.end() ? nullptr : &*cell;
}

bool is_left(const ClaimedMessage& request) { return request.claim == store::ClaimId(0) && request.given_back > 0; }

}  // namespace

core::WorkToken token_of(const ClaimedMessage& request) { return token_after(request, request.given_back); }

bool is_settled(const store::DuplexJob& job, const ClaimedMessage& request) {
  return is_left(request) && std::none_of(job.stream.begin(), job.stream.end(), [&](const ClaimedMessage& waiting) {
           return waiting.message.kind == StreamMessage::Kind::response &&
                  waiting.message.place == request.message.place &&
                  waiting.message.status == core::ReplyStatus::pending;
         });
}

const ClaimedMessage* find_request(const store::DuplexJob& job, core::WorkToken token) {
  for (const ClaimedMessage& waiting : job.stream) {
    if (waiting.message.kind != StreamMessage::Kind::request) continue;
    if (token_after(waiting, is_left(waiting) ? waiting.given_back - 1 : waiting.given_back) != token) continue;
    const store::DuplexCell* cell = cell_of(job, waiting.message.place);
    return cell != nullptr && !cell->closer ? &waiting : nullptr;
  }
  return nullptr;
}

std::vector<Operation> completion_of(const store::DuplexJob& job, const ClaimedMessage& request,
                                     core::ReplyStatus status, std::int32_t code, Payload data) {
  const store::DuplexCell* cell = cell_of(job, request.message.place);
  const auto state = ledger::DuplexState::decode(cell == nullptr ? 0 : cell->value);
  const std::uint32_t pendings = state ? state->exits() : 0;
  return {enqueue(response_to(request.message, status, code, pendings, std::move(data))), acknowledge(request)};
}

}  // namespace pawl::duplex
