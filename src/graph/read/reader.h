// The tools of all readers: a cursor that knows its path, typed access to values, expressions and schemas. Every
// function reports what is wrong and then returns nothing; reading continues.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "graph/mistake.h"
#include "graph/model.h"
#include "graph/node.h"
#include "graph/words.h"

namespace pawl::graph {

// A node and the path to it. Refers to its parent: cursors are on the stack of the readers.
class Cursor {
 public:
  explicit Cursor(const Node& root) : node_(&root), mark_(root.mark), key_mark_(root.mark) {}
  Cursor(const Cursor& parent, const Entry& entry);
  Cursor(const Cursor& parent, std::size_t index);

  const Node& node() const { return *node_; }
  std::string_view key() const { return key_; }
  // For a leaf its value, for a map or list its key: where a person would look first.
  Mark mark() const { return mark_; }
  std::string path() const;
  Where where() const { return {mark_, path()}; }
  Where key_where() const { return {key_mark_, path()}; }

 private:
  const Node* node_;
  const Cursor* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
  Mark mark_;
  Mark key_mark_;
};

// The required type of a literal; a computed value is checked at run time.
enum class Expect : std::uint8_t { any, text, boolean, number, seconds, map };

using ReadKey = std::function<void(const Cursor&)>;
struct Key {
  std::string_view name;
  ReadKey read;
  bool refused = false;  // its reader only reports what is wrong with it
};

class Reader {
 public:
  Reader(Mistakes& mistakes, Dialect dialect) : mistakes_(mistakes), dialect_(dialect) {}

  Dialect dialect() const { return dialect_; }
  void report(const Cursor& at, Code code, std::string message, std::string suggestion = {}) const;
  void report(const Where& at, Code code, std::string message, std::string suggestion = {}) const;
  void warn(const Where& at, Code code, std::string message) const;

  bool expect_map(const Cursor& at) const;
  bool expect_list(const Cursor& at) const;
  // Calls the reader of each key that is present; any other key is a mistake. A key with an empty reader is accepted
  // and skipped.
  void keys(const Cursor& at, Level level, std::span<const Key> known) const;
  void missing(const Cursor& at, std::string_view key) const;

  std::optional<std::string> text(const Cursor& at) const;
  // A word without spaces: ids and topics.
  std::optional<std::string> name(const Cursor& at) const;
  std::optional<bool> boolean(const Cursor& at) const;
  std::optional<std::int64_t> whole(const Cursor& at, std::int64_t min, std::int64_t max) const;
  std::optional<int> code(const Cursor& at) const;
  std::optional<double> seconds(const Cursor& at) const;
  std::optional<Duration> duration(const Cursor& at) const;  // up to limits::duration_max
  std::optional<double> number(const Cursor& at, double min, double max) const;
  // The position in `words` of a text that must be one of them.
  std::optional<std::size_t> choice(const Cursor& at, std::span<const std::string_view> words) const;
  OptionalFormula formula(const Cursor& at, Expect expect) const;
  SchemaPointer schema(const Cursor& at) const;

  // The same as key readers, writing into `out`.
  ReadKey into(OptionalFormula& out, Expect expect) const;
  ReadKey into(std::string& out) const;
  // For a required expression that is missing: lets the other checks continue. Never returned to a caller.
  Formula placeholder(const Cursor& at) const;

 private:
  OptionalFormula compile(const Cursor& at, const boost::json::value& source) const;
  // What is still known about an expression with mistakes: the references among its texts.
  Formula references_of(const Cursor& at) const;
  bool takes_units(std::string_view text) const;
  bool literal_fits(const Cursor& at, const boost::json::value& value, Expect expect) const;

  Mistakes& mistakes_;
  Dialect dialect_;
};

bool is_id(std::string_view text);

// "90", "90s", "5m", "2h", "1d", "250ms" in seconds.
std::optional<double> parse_seconds(std::string_view text);

// A three digit code such as 200.
std::optional<int> parse_code(std::string_view text);

}  // namespace pawl::graph
