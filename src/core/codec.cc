#include "core/codec.h"

#include <utility>

#include "core/decoder.h"
#include "core/encoder.h"
#include "core/fields.h"

namespace pawl::core {

namespace {

template <class T>
std::string encode_any(const T& value) {
  Encoder encoder;
  encoder(value);
  return encoder.take();
}

template <class T>
Result<T> decode_any(std::string_view bytes, T blank, const char* what) {
  Decoder decoder(bytes);
  decoder(blank);
  if (decoder.failed() || !decoder.at_end())
    return Error{ErrorCode::corrupt, std::string("stored bytes are not a ") + what};
  return blank;
}

}  // namespace

std::string encode(const Bundle& bundle) { return encode_any(bundle); }
std::string encode(const Body& body) { return encode_any(body); }
std::string encode(const Envelope& envelope) { return encode_any(envelope); }
std::string encode(const WorkLife& life) { return encode_any(StoredLife{life}); }
std::string encode(const StartInput& start) { return encode_any(start); }
Result<StartInput> decode_start(std::string_view bytes) { return decode_any(bytes, StartInput{}, "start"); }

Payload encode(const KindState& state) {
  return std::holds_alternative<std::monostate>(state) ? Payload() : Payload(encode_any(stored(state)));
}
Result<KindState> decode_kind_state(std::string_view bytes) {
  if (bytes.empty()) return KindState{};
  auto row = decode_any(bytes, StoredKindState{}, "activity's state");
  return row ? read(std::move(*row)) : Result<KindState>(row.error());
}

Result<Bundle> decode_bundle(std::string_view bytes) { return decode_any(bytes, Bundle{}, "bundle"); }
Result<Body> decode_body(std::string_view bytes) { return decode_any(bytes, Body{}, "message"); }
Result<WorkLife> decode_life(std::string_view bytes) {
  auto stored = decode_any(bytes, StoredLife{}, "work item's life");
  return stored ? Result<WorkLife>(std::move(stored->life)) : Result<WorkLife>(stored.error());
}
Result<Envelope> decode_envelope(std::string_view bytes) { return decode_any(bytes, Envelope{}, "message on its way"); }

}  // namespace pawl::core
