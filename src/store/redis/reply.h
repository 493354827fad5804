// Reply: what Redis answered to one command.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::redis {

struct Reply {
  enum class Kind : std::uint8_t { nil, status, error, integer, bytes, list };
  Kind kind = Kind::nil;
  std::int64_t integer = 0;
  std::string text;  // of a status, an error or bytes
  std::vector<Reply> list;

  bool is_nil() const { return kind == Kind::nil; }
  bool is_error() const { return kind == Kind::error; }
  bool is_error(std::string_view code) const {
    return is_error() && std::string_view(text).substr(0, code.size()) == code;
  }
  bool is_list() const { return kind == Kind::list; }
  // An element of a list; beyond its end: nil.
  const Reply& operator[](std::size_t i) const {
    static const Reply none;
    return i < list.size() ? list[i] : none;
  }
};

}  // namespace pawl::store::redis
