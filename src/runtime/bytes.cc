#include "runtime/bytes.h"

#include <optional>
#include <type_traits>
#include <variant>

namespace pawl::runtime {

namespace {

std::size_t size_of(const Payload& payload) { return payload.size(); }
std::size_t size_of(const std::optional<Payload>& payload) { return payload ? payload->size() : 0; }

// All payloads of a value, found by the names of their fields.
template <class T>
std::size_t payloads_of(const T& value) {
  std::size_t bytes = 0;
  if constexpr (requires { size_of(value.data); }) bytes += size_of(value.data);
  if constexpr (requires { size_of(value.input); }) bytes += size_of(value.input);
  if constexpr (requires { size_of(value.output); }) bytes += size_of(value.output);
  if constexpr (requires { size_of(value.state); }) bytes += size_of(value.state);
  if constexpr (requires { size_of(value.result); }) bytes += size_of(value.result);
  if constexpr (requires { size_of(value.progress); }) bytes += size_of(value.progress);
  if constexpr (requires { bytes_of(value.message); }) bytes += bytes_of(value.message);
  if constexpr (requires { bytes_of(value.envelope.message); }) bytes += bytes_of(value.envelope.message);
  if constexpr (requires { bytes_of(value.item); }) bytes += bytes_of(value.item);
  if constexpr (requires { value.after; }) bytes += payloads_of(value.after);
  if constexpr (requires { value.entry; }) bytes += payloads_of(value.entry);
  if constexpr (requires { value.what.index(); })
    bytes += std::visit([](const auto& what) { return payloads_of(what); }, value.what);
  if constexpr (requires { value.body.size(); }) bytes += value.body.size();
  return bytes;
}

std::size_t bytes_of_bundle(const core::Bundle& bundle) {
  std::size_t bytes = bundle.writes.size() * sizeof(core::Write);
  std::visit([&](const auto& head) { bytes += payloads_of(head); }, bundle.head);
  for (const core::Write& write : bundle.writes)
    std::visit([&](const auto& value) { bytes += payloads_of(value); }, write);
  return bytes;
}

}  // namespace

std::size_t bytes_of(const core::Message& message) {
  return std::visit([](const auto& body) { return payloads_of(body); }, message.body);
}

std::size_t bytes_of(const core::Delivery& delivery) { return sizeof(core::Delivery) + bytes_of(delivery.message); }

std::size_t bytes_of(const core::WorkItem& item) {
  return sizeof(core::WorkItem) + item.input.size() + item.life.progress.size();
}

std::size_t bytes_of(const store::Operation& operation) {
  return sizeof(store::Operation) + std::visit(
                                        [](const auto& value) {
                                          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, core::Bundle>)
                                            return bytes_of_bundle(value);
                                          else
                                            return payloads_of(value);
                                        },
                                        operation);
}

std::size_t bytes_of(const store::DuplexOperation& operation) {
  std::size_t bytes = sizeof(store::DuplexOperation);
  if (const auto* put = std::get_if<store::Enqueue>(&operation)) {
    const Payload* payload = store::payload_of(put->message.body);
    return bytes + (payload == nullptr ? 0 : payload->size());
  }
  return bytes + std::visit([](const auto& value) { return payloads_of(value); }, operation);
}

}  // namespace pawl::runtime
