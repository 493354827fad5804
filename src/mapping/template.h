// Texts with holes: "Order {id} costs {= $job.data.sum * 2 } EUR". Only the default dialect has them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pawl::mapping {

struct Segment {
  enum class Kind : std::uint8_t {
    text,        // literal, doubled braces already single
    name,        // {reference} or {@function}: the text between the braces
    expression,  // {= ... }: the text after the =
  };
  Kind kind;
  std::string text;
  std::size_t at;  // where `text` begins in the source, in bytes
};

// What is wrong with a text, and where in it.
struct TextMistake {
  std::size_t at;
  std::string message;
  std::string suggestion;
};

// At least one segment. A text without { is a literal. A string inside one pair of doubled braces ("{{...}}") is the
// literal with one brace less on each side, whatever else it contains. Elsewhere {{ and }} are single braces, and a {
// that neither begins a name nor an expression is literal: "[0-9]{2}", "[{\"a\": 1}]".
std::variant<std::vector<Segment>, TextMistake> read_template(std::string_view text);

}  // namespace pawl::mapping
