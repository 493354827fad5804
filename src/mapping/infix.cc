#include "mapping/infix.h"

#include "base/format.h"
#include "mapping/infix_token.h"
#include "mapping/limits.h"

#include <algorithm>
#include <optional>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

struct Operator {
  std::string_view sign;
  int strength;
  bool chains;  // a - b - c has a meaning; a < b < c has no useful one
};
constexpr Operator operators[] = {{"??", 2, true},  {"||", 3, true}, {"&&", 4, true},  {"==", 5, false},
                                  {"!=", 5, false}, {"<", 6, false}, {"<=", 6, false}, {">", 6, false},
                                  {">=", 6, false}, {"+", 7, true},  {"-", 7, true},   {"*", 8, true},
                                  {"/", 8, true},   {"%", 8, true}};
constexpr int choice_strength = 1;  // ? :
constexpr int prefix_strength = 9;

struct WordSlip {
  std::string_view word;
  std::string_view sign;
};
constexpr WordSlip word_slips[] = {{"and", "&&"}, {"or", "||"}, {"not", "!"}, {"eq", "=="}, {"mod", "%"}, {"div", "/"}};

const Operator* find_operator(const Token& token) {
  if (token.kind != Token::Kind::sign) return nullptr;
  const auto found = std::find_if(std::begin(operators), std::end(operators),
                                  [&token](const Operator& known) { return known.sign == token.text; });
  return found == std::end(operators) ? nullptr : found;
}

class Parser {
 public:
  Parser(std::string_view text, std::size_t offset) : text_(text), offset_(offset) {}

  std::variant<Term, TextMistake> run() {
    if (text_.size() > expression_bytes_max)
      return TextMistake{offset_, format("an expression in braces has at most {} bytes", expression_bytes_max), ""};
    advance();
    Term term = parse(0);
    if (!mistake_ && !at_end()) wrong_follower();
    if (mistake_) return std::move(*mistake_);
    return term;
  }

 private:
  void fail(std::size_t at, std::string message, std::string suggestion = {}) {
    if (!mistake_) mistake_ = TextMistake{offset_ + at, std::move(message), std::move(suggestion)};
    token_ = Token{Token::Kind::end, text_.size(), {}, {}};  // every loop ends at this token
  }

  void advance() {
    if (mistake_) return;
    auto read = read_token(text_, next_);
    if (auto* wrong = std::get_if<TextMistake>(&read)) {
      fail(wrong->at, std::move(wrong->message), std::move(wrong->suggestion));
      return;
    }
    auto& found = std::get<ReadToken>(read);
    token_ = std::move(found.token);
    next_ = found.next;
  }

  bool at_end() const { return token_.kind == Token::Kind::end; }
  bool is_sign(std::string_view sign) const { return token_.kind == Token::Kind::sign && token_.text == sign; }

  bool take(std::string_view sign) {
    if (!is_sign(sign)) return false;
    advance();
    return true;
  }

  void expect(std::string_view sign, std::string_view why) {
    if (!take(sign)) fail(token_.at, format("here {} is missing: {}", sign, why));
  }

  std::string shown() const {
    return at_end() ? std::string("the end") : std::string(text_.substr(token_.at, next_ - token_.at));
  }

  void wrong_follower() {
    for (const WordSlip& slip : word_slips)
      if (token_.kind == Token::Kind::name && token_.text == slip.word)
        return fail(token_.at, format("there is no operator {}", slip.word), std::string(slip.sign));
    fail(token_.at, format("before {} an operator is missing", shown()));
  }

  Term finish(Term term) {
    std::size_t below = 0;
    for (const Term& part : term.parts) below = std::max(below, part.height);
    term.height = below + 1;
    if (term.height > expression_depth_max)
      fail(term.at - offset_, format("an expression nests at most {} deep", expression_depth_max));
    return term;
  }

  Term make(Term::Kind kind, std::size_t at, std::string text = {}) const {
    Term term;
    term.kind = kind;
    term.at = offset_ + at;
    term.text = std::move(text);
    return term;
  }

  // The term at this position, as far as its operators are stronger than `strength`.
  Term parse(int strength) {
    if (++depth_ > parser_depth_max)
      fail(token_.at, format("an expression nests at most {} deep", expression_depth_max));
    Term left = mistake_ ? Term{} : parse_first();
    bool chained = false;  // `left` is a chain that this loop made; one in parentheses is never extended
    while (!mistake_) {
      if (is_sign("?") && strength < choice_strength) {
        left = parse_choice(std::move(left));
        break;
      }
      const Operator* found = find_operator(token_);
      if (found == nullptr || found->strength <= strength) break;
      const std::size_t at = token_.at;
      advance();
      Term right = parse(found->strength);
      const bool same = chained && strength_of(left.operators.front()) == found->strength;
      if (same && !found->chains) {
        fail(at, "comparisons stand alone: join two of them with &&");
        break;
      }
      if (!same) {
        Term chain = make(Term::Kind::chain, at);
        chain.parts.push_back(std::move(left));
        left = std::move(chain);
      }
      left.operators.push_back(found->sign);
      left.parts.push_back(std::move(right));
      left = finish(std::move(left));
      chained = true;
    }
    --depth_;
    return left;
  }

  static int strength_of(std::string_view sign) {
    for (const Operator& known : operators)
      if (known.sign == sign) return known.strength;
    return 0;
  }

  Term parse_choice(Term condition) {
    Term choice = make(Term::Kind::choice, token_.at);
    advance();
    choice.parts.push_back(std::move(condition));
    choice.parts.push_back(parse(0));
    expect(":", "a ? has a : behind it");
    choice.parts.push_back(parse(0));
    return finish(std::move(choice));
  }

  Term parse_first() {
    const Token token = token_;
    switch (token.kind) {
      case Token::Kind::literal: {
        advance();
        Term term = make(Term::Kind::literal, token.at);
        term.value = token.value;
        return term;
      }
      case Token::Kind::name:
        advance();
        return parse_name(token);
      case Token::Kind::braced:
        advance();
        return make(Term::Kind::reference, token.at, token.text);
      case Token::Kind::function:
        advance();
        if (!is_sign("(")) fail(token_.at, format("after @{} its operands stand in parentheses", token.text));
        return parse_call(token);
      case Token::Kind::sign:
      case Token::Kind::end:
        break;
    }
    if (is_sign("!") || is_sign("-")) return parse_prefix();
    if (take("(")) {
      Term inner = parse(0);
      expect(")", "a ( is open");
      return inner;
    }
    fail(token.at, at_end() ? std::string("here a value is missing") : format("before {} a value is missing", shown()));
    return {};
  }

  Term parse_prefix() {
    Term term = make(Term::Kind::prefix, token_.at, token_.text);
    advance();
    Term inner = parse(prefix_strength);
    if (term.text == "-" && inner.kind == Term::Kind::literal && inner.value.is_int64()) {
      inner.value = -inner.value.get_int64();
      return inner;
    }
    if (term.text == "-" && inner.kind == Term::Kind::literal && inner.value.is_double()) {
      inner.value = -inner.value.get_double();
      return inner;
    }
    term.parts.push_back(std::move(inner));
    return finish(std::move(term));
  }

  Term parse_name(const Token& token) {
    if (is_sign("(")) return parse_call(token);
    Term term = make(Term::Kind::literal, token.at);
    if (token.text == "null") return term;
    if (token.text == "true" || token.text == "false") {
      term.value = token.text == "true";
      return term;
    }
    return make(Term::Kind::reference, token.at, token.text);
  }

  Term parse_call(const Token& token) {
    Term call = make(Term::Kind::call, token.at, token.text);
    advance();  // the (
    while (!mistake_ && !is_sign(")")) {
      call.parts.push_back(parse(0));
      if (!take(",")) break;
    }
    expect(")", format("the operands of {} end with it", token.text));
    return finish(std::move(call));
  }

  // One nesting passes through several strengths; the limit on the tree's height is checked later.
  static constexpr std::size_t parser_depth_max = 4 * expression_depth_max;

  std::string_view text_;
  std::size_t offset_;
  std::size_t next_ = 0;
  std::size_t depth_ = 0;
  Token token_;
  std::optional<TextMistake> mistake_;
};

}  // namespace

std::variant<Term, TextMistake> parse_infix(std::string_view text, std::size_t at) { return Parser(text, at).run(); }

}  // namespace pawl::mapping
