#include "store/duplex_operation.h"

#include "base/invariant.h"

namespace pawl::store {

Topic stream_of(const stream::Body& body) {
  const auto* request = std::get_if<stream::Request>(&body);
  return request == nullptr ? Topic("") : request->topic;
}

std::optional<stream::Body> body_of(std::int64_t kind, Place place, Topic topic, core::ReplyStatus status,
                                    std::int32_t code, std::uint32_t number, Payload data) {
  static_assert(std::variant_size_v<stream::Body> == 5, "a new kind is read here");
  switch (kind) {
    case 0:
      return stream::Start{std::move(data)};
    case 1:
      return stream::Transition{std::move(place), std::move(data)};
    case 2:
      return stream::Request{std::move(place), std::move(topic), std::move(data)};
    case 3:
      return stream::Reply{std::move(place), status, code, number, std::move(data)};
    case 4:
      break;
    default:
      return std::nullopt;
  }
  stream::Cleanup cleanup;
  if (status == core::ReplyStatus::error) cleanup.failure = stream::Cleanup::Failure{code, std::move(data)};
  return cleanup;
}

const Payload* payload_of(const stream::Body& body) {
  return std::visit(Overloaded{
                        [](const stream::Start& start) { return &start.input; },
                        [](const stream::Transition& transition) { return &transition.data; },
                        [](const stream::Request& request) { return &request.data; },
                        [](const stream::Reply& reply) { return &reply.data; },
                        [](const stream::Cleanup& cleanup) -> const Payload* {
                          return cleanup.failure ? &cleanup.failure->reason : nullptr;
                        },
                    },
                    body);
}

const Place* place_of(const stream::Body& body) {
  return std::visit(Overloaded{
                        [](const stream::Start&) -> const Place* { return nullptr; },
                        [](const stream::Transition& transition) { return &transition.place; },
                        [](const stream::Request& request) { return &request.place; },
                        [](const stream::Reply& reply) { return &reply.place; },
                        [](const stream::Cleanup&) -> const Place* { return nullptr; },
                    },
                    body);
}

std::set<Place> places_of(const std::vector<ClaimedMessage>& messages) {
  std::set<Place> places;
  for (const ClaimedMessage& one : messages)
    if (const Place* place = place_of(one.message.body)) places.insert(*place);
  return places;
}

StreamMessage duplex_start(RunId run, Payload input) {
  return {run, core::Guid::of_run(run).derive(core::Guid::Purpose::start, 0), stream::Start{std::move(input)}};
}

std::optional<RunId> run_of(const DuplexOperation& operation) {
  return std::visit(Overloaded{
                        [](const Enqueue& put) -> std::optional<RunId> { return put.message.run; },
                        [](const Dequeue&) -> std::optional<RunId> { return std::nullopt; },
                        [](const StartDuplex&) -> std::optional<RunId> { return std::nullopt; },
                        [](const auto& other) -> std::optional<RunId> { return other.run; },
                    },
                    operation);
}

}  // namespace pawl::store
