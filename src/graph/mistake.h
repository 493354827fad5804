// A mistake in a graph: what is wrong, exactly where, and what was probably meant. The check collects all of them
// before it stops, so one call shows everything there is to correct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/source.h"

namespace pawl::graph {

// The number is the id people search for (G101): never renumber, never reuse.
enum class Code : std::uint16_t {
  cannot_read = 1,
  too_large = 2,
  not_utf8 = 3,
  bad_yaml = 4,
  duplicate_key = 5,
  too_deep = 6,
  bad_alias = 7,
  bad_scalar = 8,
  many_documents = 9,
  bad_ref = 10,
  ref_escapes = 11,
  ref_not_found = 12,
  ref_circular = 13,

  unknown_key = 101,
  missing_key = 102,
  wrong_type = 103,
  bad_value = 104,
  bad_name = 105,
  unknown_kind = 106,
  no_effect = 107,
  duplicate_activity = 108,
  duplicate_topic = 109,
  over_limit = 110,

  no_trigger = 201,
  two_triggers = 202,
  unknown_activity = 203,
  unknown_topic = 204,
  unreachable = 205,
  two_parents = 206,
  transition_loop = 207,
  into_trigger = 208,
  cycle_not_ancestor = 209,
  cycle_bad_pivot = 210,
  never_leaves = 211,
  bad_join = 212,
  bad_map = 213,
  crosses_map = 214,
  duplicate_transition = 215,
  bad_hook = 216,
  not_under_duplex = 217,
  bad_compensation = 218,

  bad_expression = 301,
  reference_unknown = 302,
  reference_not_ancestor = 303,
  reference_inside_map = 304,
  bad_reference = 305,
  reference_not_in_schema = 306,
  meant_as_expression = 307,

  bad_schema = 401,
  unknown_keyword = 402,
  any_type = 403,
};

struct CodeInfo {
  Code code;
  std::string_view title;  // a short phrase, the row of docs/MISTAKES.md
};
std::span<const CodeInfo> all_codes();
std::string id_of(Code code);  // "G101"

enum class Severity : std::uint8_t { error, warning };

struct Mistake {
  Code code;
  Severity severity = Severity::error;
  Mark mark;
  std::string path;  // app.graphs[0].activities.pay.topic
  std::string message;
  std::string suggestion;  // what was probably meant; empty when nothing is near
};

// Collects mistakes up to mistakes_max; the rest is counted.
class Mistakes {
 public:
  void add(Mistake mistake);
  // Only if there is none with this code yet.
  void add_first(Mistake mistake);
  // From here on, what HotMesh accepts is a warning (compat: hotmesh).
  void be_lenient() { lenient_ = true; }
  bool has_errors() const { return error_count_ > 0; }
  std::size_t left_out() const { return left_out_; }
  // In order of file, line and column, so that a report reads like the file.
  std::vector<Mistake> take_sorted();

 private:
  std::vector<Mistake> list_;
  std::size_t error_count_ = 0;
  std::size_t left_out_ = 0;
  bool lenient_ = false;
};

// The candidate nearest to `word`, or empty when none is near enough to be useful.
std::string nearest(std::string_view word, std::span<const std::string_view> candidates);

// "a, b or c"
std::string any_of(std::span<const std::string_view> words);

}  // namespace pawl::graph
