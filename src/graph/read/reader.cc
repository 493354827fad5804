#include "graph/read/reader.h"

#include <boost/json.hpp>
#include <charconv>
#include <utility>

#include "base/format.h"
#include "base/invariant.h"
#include "base/limits.h"
#include "graph/limits.h"
#include "graph/pointer.h"

namespace pawl::graph {
namespace {

namespace json = boost::json;

constexpr int code_min = 100;
constexpr int code_max = 999;

bool is_leaf(const Node& node) { return node.items.empty() && node.entries.empty() && node.kind != Node::Kind::null; }

}  // namespace

Cursor::Cursor(const Cursor& parent, const Entry& entry)
    : node_(&entry.value),
      parent_(&parent),
      key_(entry.key),
      mark_(is_leaf(entry.value) ? entry.value.mark : entry.mark),
      key_mark_(entry.mark) {}

Cursor::Cursor(const Cursor& parent, std::size_t index)
    : node_(&parent.node().items[index]),
      parent_(&parent),
      index_(index),
      mark_(parent.node().items[index].mark),
      key_mark_(mark_) {}

std::string Cursor::path() const {
  if (parent_ == nullptr) return {};
  if (parent_->node().is_list()) return parent_->path() + format("[{}]", index_);
  return append_key(parent_->path(), key_);
}

void Reader::report(const Cursor& at, Code code, std::string message, std::string suggestion) const {
  report(at.where(), code, std::move(message), std::move(suggestion));
}

void Reader::report(const Where& at, Code code, std::string message, std::string suggestion) const {
  mistakes_.add({.code = code,
                 .mark = at.mark,
                 .path = at.path,
                 .message = std::move(message),
                 .suggestion = std::move(suggestion)});
}

void Reader::warn(const Where& at, Code code, std::string message) const {
  mistakes_.add({.code = code,
                 .severity = Severity::warning,
                 .mark = at.mark,
                 .path = at.path,
                 .message = std::move(message),
                 .suggestion = {}});
}

bool Reader::expect_map(const Cursor& at) const {
  if (at.node().is_map()) return true;
  report(at, Code::wrong_type, format("this must be a map, not {}", describe(at.node())));
  return false;
}

bool Reader::expect_list(const Cursor& at) const {
  if (at.node().is_list()) return true;
  report(at, Code::wrong_type, format("this must be a list, not {}", describe(at.node())));
  return false;
}

void Reader::keys(const Cursor& at, Level level, std::span<const Key> known) const {
  for (const Key& key : known)
    invariant(key.refused || is_word(level, key.name) || parse_code(key.name),
              "the reader knows words of the language");
  if (!expect_map(at)) return;
  for (const Entry& entry : at.node().entries) {
    const Cursor here(at, entry);
    const Key* found = nullptr;
    for (const Key& key : known)
      if (key.name == entry.key) found = &key;
    if (found != nullptr) {
      if (found->read) found->read(here);
      continue;
    }
    std::vector<std::string_view> names;
    for (const Key& key : known)
      if (!key.refused || !key.read) names.push_back(key.name);
    report(Where{entry.mark, here.path()}, Code::unknown_key, format("there is no key '{}' here", entry.key),
           nearest(entry.key, names));
  }
}

void Reader::missing(const Cursor& at, std::string_view key) const {
  report(at, Code::missing_key, format("the key '{}' is missing", key));
}

std::optional<std::string> Reader::text(const Cursor& at) const {
  if (at.node().is_text()) return at.node().text;
  report(at, Code::wrong_type, format("this must be a text, not {}", describe(at.node())));
  return std::nullopt;
}

std::optional<std::string> Reader::name(const Cursor& at) const {
  auto found = text(at);
  if (!found) return std::nullopt;
  const bool fine =
      !found->empty() && found->size() <= id_bytes_max && found->find_first_of(" \t\r\n{}\"'") == std::string::npos;
  if (!fine) {
    report(at, Code::bad_name, format("a name is 1 to {} characters without spaces, quotes or braces", id_bytes_max));
    return std::nullopt;
  }
  return found;
}

std::optional<bool> Reader::boolean(const Cursor& at) const {
  if (at.node().kind == Node::Kind::boolean) return at.node().truth;
  report(at, Code::wrong_type, format("this must be true or false, not {}", describe(at.node())));
  return std::nullopt;
}

std::optional<std::int64_t> Reader::whole(const Cursor& at, std::int64_t min, std::int64_t max) const {
  if (at.node().kind == Node::Kind::integer && at.node().integer >= min && at.node().integer <= max)
    return at.node().integer;
  report(at, Code::bad_value,
         format("this must be a whole number from {} to {}, not {}", min, max, describe(at.node())));
  return std::nullopt;
}

std::optional<int> parse_code(std::string_view text) {
  int value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) return std::nullopt;
  if (value < code_min || value > code_max) return std::nullopt;
  return value;
}

std::optional<int> Reader::code(const Cursor& at) const {
  if (at.node().is_text())
    if (const auto found = parse_code(at.node().text)) return found;
  if (at.node().kind == Node::Kind::integer && at.node().integer >= code_min && at.node().integer <= code_max)
    return static_cast<int>(at.node().integer);
  report(at, Code::bad_value,
         format("a code is a number from {} to {}, not {}", code_min, code_max, describe(at.node())));
  return std::nullopt;
}

std::optional<double> parse_seconds(std::string_view text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || !(value >= 0)) return std::nullopt;
  const std::string_view unit(result.ptr, static_cast<std::size_t>(text.data() + text.size() - result.ptr));
  if (unit == "ms") return value / 1000;
  if (unit.empty() || unit == "s") return value;
  if (unit == "m") return value * 60;
  if (unit == "h") return value * 3600;
  if (unit == "d") return value * 86400;
  return std::nullopt;
}

std::optional<double> Reader::seconds(const Cursor& at) const {
  if (at.node().kind == Node::Kind::integer && at.node().integer >= 0) return static_cast<double>(at.node().integer);
  if (at.node().kind == Node::Kind::real && at.node().real >= 0) return at.node().real;
  if (at.node().is_text())
    if (const auto found = parse_seconds(at.node().text)) return found;
  report(at, Code::bad_value,
         format("this must be seconds or a text such as 90s, 5m or 2h, not {}", describe(at.node())));
  return std::nullopt;
}

std::optional<std::size_t> Reader::choice(const Cursor& at, std::span<const std::string_view> words) const {
  if (at.node().is_text()) {
    for (std::size_t i = 0; i < words.size(); ++i)
      if (at.node().text == words[i]) return i;
  }
  report(at, Code::bad_value, format("this must be {}, not {}", any_of(words), describe(at.node())),
         at.node().is_text() ? nearest(at.node().text, words) : std::string());
  return std::nullopt;
}

bool Reader::literal_fits(const Cursor& at, const json::value& value, Expect expect) const {
  const auto wrong = [&](std::string_view what) {
    report(at, Code::wrong_type, format("this must be {} or an expression, not {}", what, describe(at.node())));
    return false;
  };
  switch (expect) {
    case Expect::any:
      return true;
    case Expect::text:
      return value.is_string() || wrong("a text");
    case Expect::boolean:
      return value.is_bool() || wrong("true, false");
    case Expect::number:
      return value.is_number() || wrong("a number");
    case Expect::seconds:
      return value.is_number() || wrong(dialect_ == Dialect::pawl ? "seconds, a text such as 90s, 5m or 2h,"
                                                                  : "seconds as a bare number (HotMesh has no units)");
    case Expect::map:
      return value.is_object() || wrong("a map");
  }
  return true;
}

namespace {

struct Spot {
  Where where;
  std::string note;  // when the column is unknown
};

// Byte `inside` of the text at `pointer` below the cursor.
Spot find_place(const Cursor& at, std::string_view pointer, std::size_t inside) {
  const Walk walk = walk_pointer(at.node(), pointer);
  Spot place{{pointer.empty() ? at.mark() : walk.mark, append_pointer(at.path(), at.node(), pointer)}, {}};
  if (inside == 0 || !walk.node->is_text()) return place;
  if (walk.node->text_shift) {
    place.where.mark = mark_inside(*walk.node, inside);
  } else {
    place.note = format(" (at character {})", inside + 1);
  }
  return place;
}

}  // namespace

OptionalFormula Reader::compile(const Cursor& at, const json::value& source) const {
  auto compiled = mapping::compile(source, {.compat_hotmesh = dialect_ == Dialect::hotmesh});
  for (const mapping::Mistake& mistake : compiled.mistakes) {
    const Spot place = find_place(at, mistake.path, mistake.at);
    report(place.where, Code::bad_expression, mistake.message + place.note, mistake.suggestion);
  }
  for (const mapping::Mistake& doubt : compiled.doubts) {
    const Spot place = find_place(at, doubt.path, doubt.at);
    mistakes_.add({.code = Code::meant_as_expression,
                   .severity = Severity::warning,
                   .mark = place.where.mark,
                   .path = place.where.path,
                   .message = doubt.message + place.note,
                   .suggestion = doubt.suggestion});
  }
  if (!compiled.expression) return std::nullopt;
  Formula formula{std::move(*compiled.expression), at.where(), {}};
  for (const mapping::Reference& reference : formula.expression.references())
    formula.references.push_back(find_place(at, reference.path, reference.at).where);
  return formula;
}

namespace {

void collect_references(const Node& node, std::string path, json::array& texts, std::vector<Where>& wheres) {
  if (node.is_text() && node.text.starts_with('{') && !node.text.starts_with("{@")) {
    const json::value source(json::string_view(node.text.data(), node.text.size()));
    const auto alone = mapping::compile(source);
    if (!alone.expression || alone.expression->references().size() != 1) return;
    texts.push_back(source);
    wheres.push_back({node.mark, std::move(path)});
    return;
  }
  for (const Entry& entry : node.entries) collect_references(entry.value, append_key(path, entry.key), texts, wheres);
  for (std::size_t i = 0; i < node.items.size(); ++i)
    collect_references(node.items[i], path + format("[{}]", i), texts, wheres);
}

}  // namespace

Formula Reader::references_of(const Cursor& at) const {
  json::array texts;
  std::vector<Where> wheres;
  collect_references(at.node(), at.path(), texts, wheres);
  auto compiled = mapping::compile(std::move(texts));
  if (!compiled.expression || compiled.expression->references().size() != wheres.size()) return placeholder(at);
  return {std::move(*compiled.expression), at.where(), std::move(wheres)};
}

std::optional<Duration> Reader::duration(const Cursor& at) const {
  const auto found = seconds(at);
  if (!found) return std::nullopt;
  if (*found <= std::chrono::duration<double>(limits::duration_max).count())
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*found));
  report(at, Code::bad_value, format("a time is at most {} days", limits::duration_max / std::chrono::hours(24)));
  return std::nullopt;
}

std::optional<double> Reader::number(const Cursor& at, double min, double max) const {
  const Node& node = at.node();
  const bool is_number = node.kind == Node::Kind::real || node.kind == Node::Kind::integer;
  const double value = node.kind == Node::Kind::real ? node.real : static_cast<double>(node.integer);
  if (is_number && value >= min && value <= max) return value;
  report(at, Code::bad_value, format("this must be a number from {} to {}", min, max));
  return std::nullopt;
}

// HotMesh accepts bare numbers only: "5m" is no time there.
bool Reader::takes_units(std::string_view text) const {
  return dialect_ == Dialect::pawl || text.find_first_not_of("0123456789.") == std::string_view::npos;
}

OptionalFormula Reader::formula(const Cursor& at, Expect expect) const {
  json::value source = to_json(at.node());
  if (expect == Expect::seconds && at.node().is_text())
    if (const auto seconds = parse_seconds(at.node().text); seconds && takes_units(at.node().text)) source = *seconds;
  auto out = compile(at, source);
  if (!out) return references_of(at);
  if (out->expression.literal() != nullptr && !literal_fits(at, *out->expression.literal(), expect))
    return std::nullopt;
  return out;
}

SchemaPointer Reader::schema(const Cursor& at) const {
  auto result = compile_schema(to_json(at.node()));
  for (const SchemaMistake& mistake : result.mistakes) {
    const Walk walk = walk_pointer(at.node(), mistake.path);
    const bool unknown = mistake.kind == SchemaMistake::Kind::unknown_keyword;
    const Mark mark = unknown ? walk.key_mark : walk.mark;
    report(Where{mistake.path.empty() ? at.mark() : mark, append_pointer(at.path(), at.node(), mistake.path)},
           unknown ? Code::unknown_keyword : Code::bad_schema, mistake.message, mistake.suggestion);
  }
  for (const std::string& path : result.any_types)
    mistakes_.add_first({.code = Code::any_type,
                         .severity = Severity::warning,
                         .mark = walk_pointer(at.node(), path).mark,
                         .path = append_pointer(at.path(), at.node(), path),
                         .message = "JSON Schema has no type 'any'; every type is taken, as without 'type'",
                         .suggestion = {}});
  return result.schema;
}

ReadKey Reader::into(OptionalFormula& out, Expect expect) const {
  return [this, &out, expect](const Cursor& at) { out = formula(at, expect); };
}

ReadKey Reader::into(std::string& out) const {
  return [this, &out](const Cursor& at) { out = text(at).value_or(""); };
}

Formula Reader::placeholder(const Cursor& at) const {
  auto compiled = mapping::compile(json::value());
  invariant(compiled.expression.has_value(), "null is an expression");
  return {std::move(*compiled.expression), at.where(), {}};
}

bool is_id(std::string_view text) {
  if (text.empty() || text.size() > id_bytes_max) return false;
  for (const char c : text) {
    const bool fine =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!fine) return false;
  }
  return true;
}

}  // namespace pawl::graph
