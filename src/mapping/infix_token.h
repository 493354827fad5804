// The tokens of an infix expression.
#pragma once

#include "mapping/template.h"

#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace pawl::mapping {

struct Token {
  enum class Kind : std::uint8_t {
    end,
    sign,      // operators, parentheses, commas: `text`
    literal,   // `value`
    name,      // a.b.c: `text`
    braced,    // {a.b.c}: `text` is what is between the braces
    function,  // @a.b: `text` without the @
  };
  Kind kind = Kind::end;
  std::size_t at = 0;
  std::string text{};
  boost::json::value value{};
};

// The token that begins at `from` or after the spaces there, and where the next one may begin.
struct ReadToken {
  Token token;
  std::size_t next;
};
std::variant<ReadToken, TextMistake> read_token(std::string_view text, std::size_t from);

}  // namespace pawl::mapping
