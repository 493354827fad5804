#include "mapping/compiler.h"
#include "mapping/convert.h"
#include "mapping/key_order.h"
#include "mapping/reference.h"
#include "mapping/suggest.h"

#include "base/format.h"
#include "base/invariant.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

// "/" and "~" inside a key, as JSON pointers write them.
void append_escaped(std::string& path, std::string_view key) {
  for (const char c : key) {
    if (c == '~') {
      path.append("~0");
    } else if (c == '/') {
      path.append("~1");
    } else {
      path.push_back(c);
    }
  }
}

LiteralNode* as_literal(Node& node) { return std::get_if<LiteralNode>(&node.body); }

Node literal(json::value value) { return Node{LiteralNode{std::move(value)}}; }

// Names from other languages, and shortened names: "math.mul" is nearer to multiply than to imul.
std::string_view nearest_function(std::string_view wrong, std::span<const std::string_view> names) {
  if (wrong.size() - std::min(wrong.size(), wrong.find('.')) > 2) {
    std::string_view longer;
    std::size_t count = 0;
    for (const std::string_view name : names)
      if (name.starts_with(wrong)) longer = name, ++count;
    if (count == 1) return longer;
  }
  return nearest(wrong, names);
}

// A map of literals is itself a literal: evaluation copies it in one go.
Node folded(MapNode map) {
  json::object object;
  for (MapEntry& entry : map.entries)
    if (as_literal(entry.value) == nullptr) return Node{std::move(map)};
  for (MapEntry& entry : map.entries) object.emplace(entry.key, std::move(as_literal(entry.value)->value));
  return literal(std::move(object));
}

Node folded(ListNode list) {
  json::array array;
  for (Node& element : list.elements)
    if (as_literal(element) == nullptr) return Node{std::move(list)};
  for (Node& element : list.elements) array.push_back(std::move(as_literal(element)->value));
  return literal(std::move(array));
}

}  // namespace

Compiler::Step::Step(Compiler& compiler, std::string_view key) : path_(compiler.path_), size_(compiler.path_.size()) {
  path_.push_back('/');
  append_escaped(path_, key);
}

Compiler::Step::Step(Compiler& compiler, std::size_t index)
    : Step(compiler, std::string_view(fmt::format_int(index).c_str())) {}

void Compiler::mistake(std::string message, std::string suggestion) {
  if (mistakes_.size() < mistakes_max) mistakes_.push_back({path_, std::move(message), std::move(suggestion), at_});
}

void Compiler::doubt(std::string message, std::string suggestion) {
  if (doubts_.size() < mistakes_max) doubts_.push_back({path_, std::move(message), std::move(suggestion), at_});
}

CompileResult Compiler::run(const json::value& source) {
  auto compiled = std::make_shared<Compiled>();
  compiled->root = compile_value(source);
  if (LiteralNode* whole = as_literal(compiled->root); whole != nullptr && compat_) {
    Budget unlimited({.steps = ~0ULL, .bytes = ~0ULL});  // a source has its own limits
    (void)order_keys(whole->value, unlimited);
  }
  compiled->references = std::move(references_);
  compiled->compat_hotmesh = compat_;
  CompileResult result;
  result.mistakes = std::move(mistakes_);
  result.doubts = std::move(doubts_);
  if (result.mistakes.empty()) result.expression.emplace(std::move(compiled));
  return result;
}

bool Compiler::count_node() {
  if (++nodes_ <= expression_nodes_max) return true;
  if (nodes_ == expression_nodes_max + 1) mistake(format("an expression has at most {} values", expression_nodes_max));
  return false;
}

Node Compiler::compile_value(const json::value& source) {
  if (!count_node()) return literal(nullptr);
  if (const json::string* text = source.if_string()) return compile_text(*text);
  if (!source.is_object() && !source.is_array()) return literal(source);
  if (depth_ >= expression_depth_max) {
    mistake(format("an expression nests at most {} deep", expression_depth_max));
    return literal(nullptr);
  }
  ++depth_;
  Node node = source.is_object() ? compile_map(source.get_object()) : compile_list(source.get_array());
  --depth_;
  return node;
}

Node Compiler::compile_text(std::string_view text) {
  // HotMesh has no holes: only a string that begins with { and ends with } is more than a literal.
  return compat_ ? compile_name(text) : compile_template(text);
}

Node Compiler::compile_name(std::string_view text) {
  SourceText read = read_source_text(text);
  if (auto* plain = std::get_if<LiteralText>(&read)) return literal(json::value(plain->text));
  if (auto* wrong = std::get_if<WrongText>(&read)) {
    mistake(std::move(wrong->message), std::move(wrong->suggestion));
    return literal(nullptr);
  }
  if (auto* function = std::get_if<FunctionText>(&read)) return compile_function(function->name);
  return compile_reference(std::move(std::get<ReferenceText>(read)));
}

Node Compiler::compile_reference(ReferenceText reference) {
  auto bound = bind_reference(reference, {.reducing = reducing_, .compat_hotmesh = compat_});
  if (auto* wrong = std::get_if<WrongText>(&bound)) {
    mistake(std::move(wrong->message), std::move(wrong->suggestion));
    return literal(nullptr);
  }
  auto& node = std::get<ReferenceNode>(bound);
  node.written = reference.scope;
  for (const std::string& part : reference.parts) node.written.append(".").append(part);
  references_.push_back({path_, node.scope, node.activity, std::move(reference.parts), at_});
  return Node{std::move(node)};
}

Node Compiler::compile_map(const json::object& source) {
  if (source.contains("@pipe")) return compile_pipe(source);
  if (source.contains("@reduce")) {
    mistake("@reduce is a row of an @pipe, after the row [collection, initial]");
    return literal(nullptr);
  }
  MapNode map;
  map.entries.reserve(source.size());
  for (const json::key_value_pair& member : source) {
    const Step step(*this, std::string_view(member.key()));
    map.entries.push_back({std::string(member.key()), compile_value(member.value())});
  }
  return folded(std::move(map));
}

Node Compiler::compile_list(const json::array& source) {
  ListNode list;
  MapNode map;  // HotMesh treats a list as if its indexes were keys
  for (std::size_t i = 0; i < source.size(); ++i) {
    const Step step(*this, i);
    Node element = compile_value(source[i]);
    if (compat_) {
      map.entries.push_back({fmt::format_int(i).c_str(), std::move(element)});
    } else {
      list.elements.push_back(std::move(element));
    }
  }
  return compat_ ? folded(std::move(map)) : folded(std::move(list));
}

Node Compiler::compile_cell(const json::value& source) {
  if (!compat_ || !(source.is_object() || source.is_array())) return compile_value(source);
  if (deeper_than(source, expression_depth_max))
    mistake(format("an expression nests at most {} deep", expression_depth_max));
  return literal(source);
}

Node Compiler::compile_function(std::string_view name) {
  const Function* function = look_up_function(name);
  if (function == nullptr) return literal(nullptr);
  if (function->count_min > 0 && !compat_)
    mistake(format("{} wants operands: name it first in a row, with its operands in the row before", name));
  return Node{CallNode{function, path_}};
}

const Function* Compiler::look_up_function(std::string_view name) {
  if (const Function* found = find_function(name)) return found;
  std::vector<std::string_view> names;
  for (const Function& function : all_functions()) names.push_back(function.name);
  const std::string_view near = nearest_function(name, names);
  mistake(format("there is no function {}", name), near.empty() ? "" : format("{{@{}}}", near));
  return nullptr;
}

CompileResult compile(const json::value& source, const CompileOptions& options) {
  CompileResult result = Compiler(options).run(source);
  invariant(result.expression.has_value() == result.mistakes.empty(), "an expression exists without mistakes");
  return result;
}

const std::vector<Reference>& Expression::references() const { return compiled_->references; }

const json::value* Expression::literal() const {
  const auto* node = std::get_if<LiteralNode>(&compiled_->root.body);
  return node == nullptr ? nullptr : &node->value;
}

}  // namespace pawl::mapping
