#include "runtime/no_room.h"

#include <string_view>

#include "base/format.h"

namespace pawl::runtime {

namespace {

constexpr std::string_view no_room_begins = "what this process has to commit takes more than ";

}  // namespace

std::string no_room(std::size_t bytes_max) {
  return format("{}{} bytes already (RuntimeOptions::memory.waiting): try again in a moment", no_room_begins,
                bytes_max);
}

bool is_no_room(const Error& error) {
  return error.code == ErrorCode::retry_later && error.detail.starts_with(no_room_begins);
}

}  // namespace pawl::runtime
