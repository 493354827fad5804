// Texts with holes and infix expressions, compiled to the same nodes as pipes: there is one evaluator.
#include "mapping/compiler.h"

#include "base/format.h"

#include <algorithm>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

Node literal_node(json::value value) { return Node{LiteralNode{std::move(value)}}; }

ChoiceNode::Kind choice_of(std::string_view sign) {
  if (sign == "&&") return ChoiceNode::Kind::all;
  return sign == "||" ? ChoiceNode::Kind::any : ChoiceNode::Kind::not_null;
}

bool is_lazy(std::string_view sign) { return sign == "&&" || sign == "||" || sign == "??"; }

std::string without_spaces_around(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin));
}

// "$job.data.x" and "pay.output.data.x": text that has no other use.
bool reads_like_reference(std::string_view name) {
  for (const std::string_view scope :
       {"$job.", "$self.", "$hook.", "$app.", "$graph.", "$item.", "$output.", "$input."})
    if (name.starts_with(scope)) return true;
  for (const std::string_view variable : {"$item", "$key", "$index", "$output"})
    if (name == variable) return true;
  for (const std::string_view section : {".output.data", ".output.metadata", ".hook.data", ".input.data"}) {
    const std::size_t at = name.find(section);
    if (at == std::string_view::npos || at == 0 || name.find('.') != at) continue;
    const std::string_view rest = name.substr(at + section.size());
    if (rest.empty() || rest.front() == '.') return true;
  }
  return false;
}

// An operator with spaces around it: "2024-01" and "a/b" are texts, " - " and " > " may be more.
bool has_free_operator(std::string_view text) {
  constexpr std::string_view marks = "+-*/%<>=!&|?";
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i - 1] != ' ' || marks.find(text[i]) == std::string_view::npos) continue;
    const std::size_t end = text.find_first_not_of(marks, i);
    if (end != std::string_view::npos && text[end] == ' ') return true;
  }
  return false;
}

struct Traits {
  bool reference = false;  // one that reads like a reference
  bool number = false;
  bool computes = false;  // an operator that has little other use in a text
};

void add_traits(const Term& term, Traits& traits) {
  traits.reference = traits.reference || (term.kind == Term::Kind::reference && reads_like_reference(term.text));
  traits.number = traits.number || (term.kind == Term::Kind::literal && term.value.is_number());
  traits.computes = traits.computes || term.kind == Term::Kind::choice || term.kind == Term::Kind::call;
  for (const std::string_view sign : term.operators) traits.computes = traits.computes || (sign != "-" && sign != "/");
  for (const Term& part : term.parts) add_traits(part, traits);
}

}  // namespace

Node Compiler::compile_template(std::string_view text) {
  auto read = read_template(text);
  at_ = 0;
  if (auto* wrong = std::get_if<TextMistake>(&read)) {
    at_ = wrong->at;
    mistake(std::move(wrong->message), std::move(wrong->suggestion));
    at_ = 0;
    return literal_node(nullptr);
  }
  const auto& segments = std::get<std::vector<Segment>>(read);
  // Braces around all of it, and no name inside: a literal must be marked as one.
  const bool braces = text.starts_with('{') && text.ends_with('}') && !text.starts_with("{{");
  if (braces && segments.front().kind == Segment::Kind::text) return compile_name(text);
  if (segments.size() == 1 && segments[0].kind == Segment::Kind::text) {
    doubt_literal(segments[0].text);
    return literal_node(json::value(segments[0].text));
  }
  if (segments.size() == 1) {
    Node node = compile_segment(segments[0]);
    at_ = 0;
    return node;
  }
  doubt_template(text, segments);
  std::vector<Node> parts;
  for (const Segment& segment : segments) {
    if (!count_node()) break;
    parts.push_back(compile_segment(segment));
  }
  at_ = 0;
  return call_of(interpolation(), std::move(parts));
}

Node Compiler::compile_segment(const Segment& segment) {
  if (segment.kind == Segment::Kind::text) return literal_node(json::value(segment.text));
  if (segment.kind == Segment::Kind::expression) {
    auto parsed = parse_infix(segment.text, segment.at);
    if (auto* wrong = std::get_if<TextMistake>(&parsed)) {
      at_ = wrong->at;
      mistake(std::move(wrong->message), std::move(wrong->suggestion));
      return literal_node(nullptr);
    }
    return compile_term(std::move(std::get<Term>(parsed)));
  }
  at_ = segment.at - 1;  // the brace, which people look for
  if (segment.text.find(' ') != std::string::npos) {
    auto parsed = parse_infix(segment.text);
    const auto* term = std::get_if<Term>(&parsed);
    if (term != nullptr && term->kind != Term::Kind::reference && term->kind != Term::Kind::literal)
      doubt("this names a key with spaces; an expression begins with =",
            format("{{= {} }}", without_spaces_around(segment.text)));
  }
  return compile_name(format("{{{}}}", segment.text));
}

// One row of operands, one row with the call.
Node Compiler::call_of(const Function& function, std::vector<Node> operands) {
  PipeNode pipe;
  Row values{};
  values.kind = Row::Kind::values;
  values.path = path_;
  values.cells = std::move(operands);
  Row call{};
  call.kind = Row::Kind::call;
  call.function = &function;
  call.path = path_;
  pipe.rows.push_back(std::move(values));
  pipe.rows.push_back(std::move(call));
  return Node{std::move(pipe)};
}

Node Compiler::compile_term(Term term) {
  if (!count_node()) return literal_node(nullptr);
  at_ = term.at;
  switch (term.kind) {
    case Term::Kind::literal:
      return literal_node(std::move(term.value));
    case Term::Kind::reference:
      return compile_name(format("{{{}}}", term.text));
    case Term::Kind::call:
      return compile_named_call(std::move(term));
    case Term::Kind::chain:
      return compile_chain(std::move(term));
    case Term::Kind::prefix:
    case Term::Kind::choice:
      break;
  }
  std::vector<Node> parts;
  for (Term& part : term.parts) parts.push_back(compile_term(std::move(part)));
  if (term.kind == Term::Kind::choice) return Node{ChoiceNode{ChoiceNode::Kind::if_true, std::move(parts)}};
  return call_of(*find_operator(term.text, true), std::move(parts));
}

// a - b + c is one pipe: [a, b], [-, c], [+]. So a long sum does not nest. && || and ?? evaluate from left to right,
// as far as needed.
Node Compiler::compile_chain(Term term) {
  std::vector<Node> parts;
  for (Term& part : term.parts) parts.push_back(compile_term(std::move(part)));
  if (is_lazy(term.operators.front())) return Node{ChoiceNode{choice_of(term.operators.front()), std::move(parts)}};
  PipeNode pipe;
  Row row{};
  row.kind = Row::Kind::values;
  row.path = path_;
  row.cells.push_back(std::move(parts[0]));
  for (std::size_t i = 0; i < term.operators.size(); ++i) {
    row.cells.push_back(std::move(parts[i + 1]));
    pipe.rows.push_back(std::move(row));
    row = Row{};
    row.kind = Row::Kind::call;
    row.function = find_operator(term.operators[i]);
    row.path = path_;
  }
  pipe.rows.push_back(std::move(row));
  return Node{std::move(pipe)};
}

Node Compiler::compile_named_call(Term term) {
  const Function* function = look_up_function(term.text);
  const std::size_t at = at_;
  std::vector<Node> operands;
  for (Term& part : term.parts) operands.push_back(compile_term(std::move(part)));
  at_ = at;
  if (function == nullptr) return literal_node(nullptr);
  check_count(*function, operands.size(), "here are");
  if (operands.empty()) return Node{CallNode{function, path_}};
  return call_of(*function, std::move(operands));
}

// A text that looks like an expression without its braces.
void Compiler::doubt_literal(std::string_view text) {
  if (text.size() > expression_bytes_max) return;
  if (text.find_first_of(".$") == std::string_view::npos) return;
  auto parsed = parse_infix(text);
  const auto* term = std::get_if<Term>(&parsed);
  if (term == nullptr) return;
  Traits traits;
  add_traits(*term, traits);
  if (!traits.reference) return;
  const bool bare = term->kind == Term::Kind::reference;
  doubt("this is text; an expression stands in braces",
        bare ? format("{{{}}}", term->text) : format("{{= {} }}", without_spaces_around(text)));
}

// "{$job.data.x} + 1" joins texts; the author probably wants to compute.
void Compiler::doubt_template(std::string_view text, const std::vector<Segment>& segments) {
  if (text.size() > expression_bytes_max) return;
  std::string bare;
  bool free_operator = false;
  for (const Segment& segment : segments) {
    if (segment.kind == Segment::Kind::text) {
      free_operator = free_operator || has_free_operator(segment.text);
      bare += segment.text;
    } else if (segment.kind == Segment::Kind::expression) {
      bare += format("({})", without_spaces_around(segment.text));
    } else if (segment.text.find('-') != std::string::npos) {
      bare += format("{{{}}}", segment.text);
    } else {
      bare += segment.text;
    }
  }
  if (!free_operator) return;
  auto parsed = parse_infix(bare);
  const auto* term = std::get_if<Term>(&parsed);
  if (term == nullptr) return;
  Traits traits;
  add_traits(*term, traits);
  const bool chains = term->kind == Term::Kind::chain || term->kind == Term::Kind::choice;
  if (chains && (traits.computes || traits.number))
    doubt("this joins texts; to compute, the whole stands in {= }", format("{{= {} }}", without_spaces_around(bare)));
}

}  // namespace pawl::mapping
