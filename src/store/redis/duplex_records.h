// Messages and cells of collation duplex as words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pawl/result.h"
#include "store/duplex_operation.h"
#include "store/redis/reply.h"

namespace pawl::store::redis {

// What is known of a message beside its content: a row of its job's `told`.
struct Told {
  enum class Shelf : char {
    free = 'f',     // it may be claimed
    claimed = 'c',  // until its lease is over, or the lane has an owner of a later epoch
    later = 'l',    // given back with a delay
    parked = 'p',   // its job is parked
    done = 'd',     // acknowledged: only its name is kept
  };
  Shelf shelf = Shelf::free;
  std::string topic;           // of its stream; escaped
  std::uint64_t position = 0;  // in its stream: the order of arrival
  ClaimId claim{0};            // kept when the lease is over
  core::Epoch epoch{0};
  Instant free_at;
  std::uint32_t claims = 0;
  std::uint32_t given_back = 0;

  std::string words() const;
  static Result<Told> parse(std::string_view words);
};

// In the sorted sets of a stream: "<position> <run> <guid>".
std::string stream_member(std::uint64_t position, RunId run, const core::Guid& guid);
struct StreamPlace {
  std::uint64_t position = 0;
  RunId run{0};
  core::Guid guid;
};
Result<StreamPlace> parse_member(std::string_view member);

// An entry of a stream: fields and values.
std::vector<std::string> message_fields(const StreamMessage& message);
Result<StreamMessage> read_stream_message(const Reply& entry);
ClaimedMessage claimed_message(StreamMessage message, const Told& told);

std::string place_text(const Place& place);
Result<Place> parse_place(std::string_view text);

}  // namespace pawl::store::redis
