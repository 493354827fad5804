#include "store/redis/duplex_records.h"

#include "base/format.h"
#include "base/invariant.h"
#include "store/redis/records.h"

namespace pawl::store::redis {

std::string Told::words() const {
  return format("{} {} {} {} {} {} {} {}", static_cast<char>(shelf), topic, position, claim.raw(), epoch.raw(),
                free_at.micros(), claims, given_back);
}

Result<Told> Told::parse(std::string_view words) {
  WordReader reader(words);
  Told told;
  const std::string_view shelf = reader.word();
  told.topic = std::string(reader.word());
  told.position = reader.number<std::uint64_t>();
  told.claim = ClaimId(reader.number<std::uint64_t>());
  told.epoch = core::Epoch(reader.number<std::uint64_t>());
  told.free_at = reader.instant();
  told.claims = reader.number<std::uint32_t>();
  told.given_back = reader.number<std::uint32_t>();
  if (reader.malformed() || shelf.size() != 1 || std::string_view("fclpd").find(shelf[0]) == std::string_view::npos)
    return malformed("what is known of a message of a duplex job");
  told.shelf = static_cast<Shelf>(shelf[0]);
  return told;
}

std::string stream_member(std::uint64_t position, RunId run, const core::Guid& guid) {
  return format("{} {} {}", wide(position), run.raw(), guid.text());
}

Result<StreamPlace> parse_member(std::string_view member) {
  WordReader reader(member);
  StreamPlace place;
  place.position = reader.number<std::uint64_t>();
  place.run = RunId(reader.number<std::uint64_t>());
  place.guid = reader.guid();
  if (reader.malformed()) return malformed("a place in a stream");
  return place;
}

std::string place_text(const Place& place) { return format("{}@{}", place.node, place.at.text()); }

Result<Place> parse_place(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return malformed("a place of a duplex job");
  const auto node = number_in<std::uint32_t>(text.substr(0, at));
  auto dimensions = ledger::Dimensions::parse(text.substr(at + 1));
  if (!node || !dimensions) return malformed("a place of a duplex job");
  return Place{*node, std::move(*dimensions)};
}

namespace {

constexpr std::string_view kinds[] = {"start", "transition", "request", "response", "cleanup"};
static_assert(std::size(kinds) == std::variant_size_v<stream::Body>, "a new kind is named here");

}  // namespace

std::vector<std::string> message_fields(const StreamMessage& message) {
  std::vector<std::string> fields = {"run",  format("{}", message.run.raw()),         "guid", message.guid.text(),
                                     "kind", std::string(kinds[message.body.index()])};
  const auto put = [&](const char* name, std::string value) {
    fields.emplace_back(name);
    fields.push_back(std::move(value));
  };
  if (const Place* place = store::place_of(message.body)) put("place", place_text(*place));
  std::visit(Overloaded{
                 [](const stream::Start&) {},
                 [](const stream::Transition&) {},
                 [&](const stream::Request& request) { put("topic", request.topic.raw()); },
                 [&](const stream::Reply& reply) {
                   put("status", format("{}", static_cast<int>(reply.status)));
                   put("code", format("{}", reply.code));
                   put("number", format("{}", reply.number));
                 },
                 [&](const stream::Cleanup& cleanup) {
                   if (cleanup.failure) put("code", format("{}", cleanup.failure->code));
                 },
             },
             message.body);
  if (const Payload* data = payload_of(message.body)) put("data", std::string(data->view()));
  return fields;
}

Result<StreamMessage> read_stream_message(const Reply& entry) {
  const Fields fields = fields_of(entry[1]);
  const auto text = [&](std::string_view name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : *found->second;
  };
  const auto run = number_in<std::uint64_t>(text("run"));
  const auto guid = core::Guid::parse(text("guid"));
  if (!run || !guid) return malformed("a message of a stream");
  Place place;
  if (fields.contains("place")) {
    auto parsed = parse_place(text("place"));
    if (!parsed) return parsed.error();
    place = std::move(*parsed);
  }
  const std::string kind = text("kind");
  const auto code = number_in<std::int32_t>(text("code"));
  Payload data(text("data"));
  StreamMessage message{RunId(*run), *guid, stream::Start{}};
  if (kind == "start") {
    message.body = stream::Start{std::move(data)};
  } else if (kind == "transition") {
    message.body = stream::Transition{std::move(place), std::move(data)};
  } else if (kind == "request") {
    message.body = stream::Request{std::move(place), Topic(text("topic")), std::move(data)};
  } else if (kind == "response") {
    const auto status = number_in<unsigned>(text("status"));
    const auto number = number_in<std::uint32_t>(text("number"));
    if (!status || *status > static_cast<unsigned>(core::ReplyStatus::fatal) || !number || !code)
      return malformed("a message of a stream");
    message.body =
        stream::Reply{std::move(place), static_cast<core::ReplyStatus>(*status), *code, *number, std::move(data)};
  } else if (kind == "cleanup") {
    stream::Cleanup cleanup;
    if (code) cleanup.failure = stream::Cleanup::Failure{*code, std::move(data)};
    message.body = std::move(cleanup);
  } else {
    return malformed("the kind of a message of a stream");
  }
  return message;
}

ClaimedMessage claimed_message(StreamMessage message, const Told& told) {
  return {std::move(message), told.claim, told.claims - told.given_back, told.given_back};
}

}  // namespace pawl::store::redis
