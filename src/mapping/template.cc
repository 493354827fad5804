#include "mapping/template.h"

#include "base/format.h"

#include <optional>

namespace pawl::mapping {

namespace {

constexpr std::size_t npos = std::string_view::npos;

// "{{x}}", but not "{{a}} and {{b}}": the braces at the start must be closed by those at the end. If the braces do not
// pair up, only the pair at the ends counts.
bool is_doubled(std::string_view text) {
  if (text.size() < 4 || !text.starts_with("{{") || !text.ends_with("}}")) return false;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] != '}') continue;
    if (depth == 0) return true;
    if (--depth == 0 && i + 1 < text.size()) return false;
  }
  return true;
}

struct End {
  std::size_t at;                 // of the closing brace, or npos
  std::size_t open_quote = npos;  // a quotation that never ends
};

// The brace that closes "{=": not one inside quotes, nor that of a {reference}.
End find_expression_end(std::string_view text, std::size_t from) {
  std::size_t depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      const std::size_t open = i;
      for (++i; i < text.size() && text[i] != c; ++i)
        if (text[i] == '\\') ++i;
      if (i >= text.size()) return {npos, open};
    } else if (c == '{') {
      ++depth;
    } else if (c == '}') {
      if (depth == 0) return {i};
      --depth;
    }
  }
  return {npos};
}

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '$' || c == '@' || static_cast<unsigned char>(c) >= 0x80;
}

// "name", "$job.data.x", "@date.now", also with spaces around it; not "2,3", not "\"a\": 1", not "x, y".
bool looks_like_name(std::string_view inner) {
  const std::size_t begin = inner.find_first_not_of(' ');
  if (begin == npos) return false;
  inner = inner.substr(begin, inner.find_last_not_of(' ') + 1 - begin);
  const std::string_view first = inner.substr(0, inner.find('.'));
  if (first.empty() || (first[0] >= '0' && first[0] <= '9') || first[0] == '-') return false;
  for (const char c : first)
    if (!in_name(c)) return false;
  return inner.back() != '.' && inner.find("..") == npos;
}

bool begins_like_reference(std::string_view inner) { return inner.starts_with('$') || inner.starts_with('@'); }

class TemplateReader {
 public:
  explicit TemplateReader(std::string_view text) : text_(text) {}

  std::variant<std::vector<Segment>, TextMistake> run() {
    for (std::size_t i = 0; i < text_.size() && !mistake_;) i = step(i);
    if (mistake_) return std::move(*mistake_);
    return std::move(segments_);
  }

 private:
  // Reads the segment that begins at `i`; returns where the next one begins.
  std::size_t step(std::size_t i) {
    const char c = text_[i];
    const bool twice = i + 1 < text_.size() && text_[i + 1] == c;
    if (c == '{' && twice) {
      ++doubled_;
      return add(i, 2);
    }
    if (c == '}' && twice && doubled_ > 0) {
      --doubled_;
      return add(i, 2);
    }
    return c == '{' ? read_hole(i) : add(i, 1);
  }

  // One character of text, which takes `width` in the source.
  std::size_t add(std::size_t i, std::size_t width) {
    if (segments_.empty() || segments_.back().kind != Segment::Kind::text)
      segments_.push_back({Segment::Kind::text, {}, i});
    segments_.back().text.push_back(text_[i]);
    return i + width;
  }

  std::size_t read_hole(std::size_t i) {
    if (text_.substr(i).starts_with("{=")) return read_expression(i);
    if (text_.find('}', i) == npos) return unclosed(i);
    const std::size_t end = text_.find_first_of("{}", i + 1);
    const std::string_view inner = text_.substr(i + 1, end - i - 1);
    if (text_[end] == '{') return begins_like_reference(inner) ? unclosed(i) : add(i, 1);
    const bool whole = i == 0 && end + 1 == text_.size();
    if (!whole && !looks_like_name(inner)) return add(i, 1);
    segments_.push_back({Segment::Kind::name, std::string(inner), i + 1});
    return end + 1;
  }

  std::size_t read_expression(std::size_t i) {
    const std::size_t begin = i + 2;
    const End end = find_expression_end(text_, begin);
    if (end.open_quote != npos) {
      mistake_ = {end.open_quote, format("the quotation that begins with {} has no end", text_[end.open_quote]), ""};
      return text_.size();
    }
    if (end.at == npos) return unclosed(i);
    segments_.push_back({Segment::Kind::expression, std::string(text_.substr(begin, end.at - begin)), begin});
    return end.at + 1;
  }

  std::size_t unclosed(std::size_t i) {
    // What was probably meant ends at the next space; for an expression, at the end.
    const bool expression = text_.substr(i).starts_with("{=");
    const std::size_t stop = expression ? npos : text_.find_first_of(" ,;{", i + 1);
    const std::string_view rest = stop == npos ? std::string_view() : text_.substr(stop);
    mistake_ = {i, "this { is never closed; a literal brace is doubled",
                stop == i + 1 || i + 1 == text_.size() ? std::string() : format("{}}}{}", text_.substr(0, stop), rest)};
    return text_.size();
  }

  std::string_view text_;
  std::vector<Segment> segments_;
  std::optional<TextMistake> mistake_;
  std::size_t doubled_ = 0;  // {{ that are still open
};

}  // namespace

std::variant<std::vector<Segment>, TextMistake> read_template(std::string_view text) {
  using Kind = Segment::Kind;
  if (text.find('{') == npos) return std::vector<Segment>{{Kind::text, std::string(text), 0}};
  if (is_doubled(text)) return std::vector<Segment>{{Kind::text, std::string(text.substr(1, text.size() - 2)), 1}};
  return TemplateReader(text).run();
}

}  // namespace pawl::mapping
