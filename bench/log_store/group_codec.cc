#include "log_store/group_codec.h"

#include <utility>

#include "core/decoder.h"
#include "core/encoder.h"
#include "log_store/operation_fields.h"

namespace pawl::log_store {

namespace {

using store::Operation;

template <std::size_t Index>
void decode_as(core::Decoder& decoder, std::size_t index, std::vector<Operation>& group) {
  if constexpr (Index < std::variant_size_v<Operation>) {
    if (index != Index) return decode_as<Index + 1>(decoder, index, group);
    if constexpr (Index == 0) {
      store::LoggedBundle logged;
      fields_of(decoder, logged);
      group.emplace_back(std::move(logged.bundle));
    } else {
      std::variant_alternative_t<Index, Operation> operation;
      fields_of(decoder, operation);
      group.emplace_back(std::move(operation));
    }
  }
}

}  // namespace

std::string encode_group(std::span<const Operation> group) {
  core::Encoder encoder;
  encoder(group.size());
  for (const Operation& operation : group) {
    encoder(operation.index());
    // The lists of fields take T&; encoding only reads.
    if (const auto* bundle = std::get_if<core::Bundle>(&operation)) {
      encoder(*bundle, bundle->with_submit);
    } else {
      std::visit([&](const auto& one) { encoder(one); }, operation);
    }
  }
  return encoder.take();
}

Result<std::vector<Operation>> decode_group(std::string_view bytes) {
  core::Decoder decoder(bytes);
  std::size_t count = 0;
  decoder(count);
  std::vector<Operation> group;
  for (std::size_t i = 0; i < count && !decoder.failed(); ++i) {
    std::size_t index = 0;
    decoder(index);
    if (index >= std::variant_size_v<Operation>) break;
    decode_as<0>(decoder, index, group);
  }
  if (decoder.failed() || !decoder.at_end() || group.size() != count)
    return Error{ErrorCode::corrupt, "a row of the log is not a group of operations"};
  return group;
}

}  // namespace pawl::log_store
