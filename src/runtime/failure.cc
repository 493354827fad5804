// Failures as JSON: how they are stored and read back.
#include "pawl/failure.h"

#include <boost/json.hpp>

#include "base/format.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "mapping/json_parse.h"
#include "mapping/json_text.h"

namespace pawl {

namespace json = boost::json;

Payload to_payload(const Failure& failure) {
  json::object out{{"code", failure.code}, {"message", kept_text(failure.message, limits::reason_bytes_max)}};
  if (!failure.data.empty()) {
    auto data = mapping::parse_json(failure.data.view());
    // Data that is not JSON is kept as a text, so that nothing of it is lost.
    out["data"] = data ? std::move(*data) : json::value(json::string(valid_utf8(failure.data.view())));
  }
  return Payload(mapping::json_text(out));
}

Failure failure_of(std::int32_t code, const Payload& output) {
  Failure failure{.code = code, .message = {}, .data = output, .retryable = false};
  const auto value = mapping::parse_json(output.view());
  if (!value) {
    failure.message = output.str();
    return failure;
  }
  if (const json::string* text = value->if_string()) {
    failure.message = std::string(text->data(), text->size());
    failure.data = {};
  }
  const json::object* fields = value->if_object();
  const json::value* message = fields == nullptr ? nullptr : fields->if_contains("message");
  if (message == nullptr || !message->is_string()) return failure;
  failure.message = std::string(message->get_string().data(), message->get_string().size());
  const json::value* data = fields->if_contains("data");
  failure.data = data == nullptr ? Payload() : Payload(mapping::json_text(*data));
  return failure;
}

std::string to_string(const Failure& failure) { return format("{}: {}", failure.code, failure.message); }

}  // namespace pawl
