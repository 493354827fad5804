#include "store/postgres/duplex_columns.h"

#include <optional>
#include <string>
#include <utility>

#include "base/format.h"

namespace pawl::store::postgres {

namespace {

Error malformed(const char* what) { return Error{ErrorCode::corrupt, format("{} of a duplex job is malformed", what)}; }

}  // namespace

Result<ClaimedMessage> claimed_message(Rows& rows) {
  ClaimedMessage out;
  out.message.run = RunId(rows.word(0));
  out.message.guid = rows.guid(1);
  const std::int64_t kind = rows.number(2);
  Place place;
  place.node = rows.small(3);
  auto at = ledger::Dimensions::parse(rows.text(4));
  Topic topic{std::string(rows.text(5))};
  const std::int64_t status = rows.number(6);
  const std::int32_t code = rows.integer(7);
  const std::uint32_t number = rows.small(8);
  Payload data = rows.payload(9);
  out.claim = ClaimId(rows.word(10));
  out.given_back = rows.small(12);
  out.deliveries = rows.small(11) - out.given_back;
  if (rows.malformed() || !at || status < 0 || status > static_cast<std::int64_t>(core::ReplyStatus::error))
    return malformed("a message");
  place.at = std::move(*at);
  auto body = body_of(kind, std::move(place), std::move(topic), static_cast<core::ReplyStatus>(status), code, number,
                      std::move(data));
  if (!body) return malformed("a message");
  out.message.body = std::move(*body);
  return out;
}

Result<DuplexCell> duplex_cell(Rows& rows) {
  DuplexCell cell;
  cell.place.node = rows.small(0);
  auto at = ledger::Dimensions::parse(rows.text(1));
  cell.value = rows.number(2);
  cell.opened_at = rows.instant(3);
  if (!rows.is_null(4)) cell.closer = rows.guid(4);
  const std::int64_t status = rows.number(5);
  cell.code = rows.integer(6);
  cell.closed_at = rows.instant(7);
  cell.output = rows.payload(8);
  if (rows.malformed() || !at || status < 0 || status > static_cast<std::int64_t>(core::ActivityStatus::errored))
    return malformed("a cell");
  cell.status = static_cast<core::ActivityStatus>(status);
  cell.place.at = std::move(*at);
  return cell;
}

}  // namespace pawl::store::postgres
