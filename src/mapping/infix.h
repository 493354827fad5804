// The expressions between "{=" and "}": text to a tree of terms. docs/MAPPING.md, "Infix expressions", has the grammar.
// A Pratt parser: each binary operator has a strength, and a term includes what binds stronger.
#pragma once

#include "mapping/template.h"

#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pawl::mapping {

struct Term {
  enum class Kind : std::uint8_t {
    literal,    // `value`
    reference,  // `text`: "$job.data.sum", as between braces
    call,       // `text` is the function, `parts` its operands
    prefix,     // `text` is ! or -, one part
    chain,      // parts joined from left to right by `operators`, all of one strength: a - b + c
    choice,     // condition ? yes : no
  };
  Kind kind = Kind::literal;
  std::size_t at = 0;  // in the source, in bytes
  boost::json::value value{};
  std::string text{};
  std::vector<std::string_view> operators{};
  std::vector<Term> parts{};
  std::size_t height = 1;  // of the tree below: the recursion depth of evaluation
};

// `at`, where `text` begins in its source, is added to all positions. Limits: expression_bytes_max,
// expression_depth_max.
std::variant<Term, TextMistake> parse_infix(std::string_view text, std::size_t at = 0);

}  // namespace pawl::mapping
