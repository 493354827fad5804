// The parser below is event driven: nothing recurses, and every limit is checked at the event that
// would break it. yaml-cpp itself reads a whole flow collection before its first event, so brackets
// are counted beforehand (test: yaml_refuses_a_million_open_brackets_at_once).
#include "graph/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/invariant.h"
#include "base/utf8.h"
#include "graph/limits.h"
#include "graph/scalar.h"

namespace pawl::graph {
namespace {

struct Stop {};  // thrown by the builder to leave yaml-cpp, caught in parse_yaml

constexpr std::size_t expanded_bytes_max = 4 * file_bytes_max;

// yaml-cpp counts columns in bytes; people count characters. Marks come almost in order, so counting continues at the
// last one: a file of one long line stays linear.
class Columns {
 public:
  explicit Columns(std::string_view text) : text_(text) {
    starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') starts_.push_back(i + 1);
  }

  std::uint32_t characters(std::size_t line, std::size_t bytes) {
    if (line >= starts_.size()) return static_cast<std::uint32_t>(bytes);
    if (line != line_ || bytes < bytes_) line_ = line, bytes_ = 0, count_ = 0;
    for (; bytes_ < bytes; ++bytes_) {
      const std::size_t at = starts_[line] + bytes_;
      if (at >= text_.size() || (static_cast<unsigned char>(text_[at]) & 0xC0U) != 0x80U) ++count_;
    }
    return static_cast<std::uint32_t>(count_);
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
  std::size_t line_ = 0;
  std::size_t bytes_ = 0;
  std::size_t count_ = 0;
};

class Builder final : public YAML::EventHandler {
 public:
  Builder(std::string_view text, std::uint32_t file, Mistakes& mistakes)
      : text_(text), file_(file), mistakes_(mistakes), columns_(text) {}

  Mark mark_of(const YAML::Mark& mark) {
    const auto line = static_cast<std::size_t>(mark.line);
    return {file_, static_cast<std::uint32_t>(line + 1),
            columns_.characters(line, static_cast<std::size_t>(mark.column)) + 1};
  }

  std::optional<Node> take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++document_count_ > 1) stop(Code::many_documents, mark_of(mark), "one file is one document");
  }
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark&, const std::string&) override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.mark = mark_of(mark);
    leaf(std::move(node), anchor, {});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop(Code::bad_alias, mark_of(mark), "this alias stands inside the value it repeats");
    spend(found->second.nodes, found->second.bytes, mark_of(mark));
    Node copy = found->second.node;
    if (expecting_key() && !copy.items.empty()) stop_bad_key(mark_of(mark));
    const std::string key_text = copy.is_text() ? copy.text : std::string();
    add(std::move(copy), key_text, mark_of(mark), false);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node;
    node.mark = mark_of(mark);
    const bool plain = tag.empty() || tag == "?";
    const bool known = plain || tag == "!"
                           ? resolve_scalar(value, plain ? ScalarStyle::plain : ScalarStyle::quoted, node)
                           : resolve_tagged(value, tag, node);
    if (!known) {
      mistakes_.add({.code = Code::bad_scalar,
                     .mark = node.mark,
                     .path = path(),
                     .message = plain ? format("'{}' has no JSON form", shortened(value))
                                      : format("the tag {} is not supported here", shortened(tag)),
                     .suggestion = {}});
      node.kind = Node::Kind::text;
      node.text = value;
    }
    if (node.is_text()) node.text_shift = shift_of(value, static_cast<std::size_t>(mark.pos));
    merge_candidate_ = plain && value == "<<";
    leaf(std::move(node), anchor, value);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    bool key_merges = false;
    std::string key;
    Mark key_mark;
    std::size_t nodes_before = 0;
    std::size_t bytes_before = 0;
    std::vector<Node> merged;  // the values of `<<`
    // Positions by key: a linear search would make 50,000 keys quadratic.
    std::unordered_map<std::string, std::size_t> seen;
  };
  struct Anchored {
    Node node;
    std::size_t nodes = 0;
    std::size_t bytes = 0;
  };

  // For a text that the source has unchanged: 0, or 1 after its quote.
  std::optional<std::uint8_t> shift_of(const std::string& value, std::size_t offset) const {
    if (offset >= text_.size() || value.find('\n') != std::string::npos) return std::nullopt;
    const std::uint8_t quote = text_[offset] == '"' || text_[offset] == '\'' ? 1 : 0;
    return text_.substr(offset + quote).starts_with(value) ? std::optional(quote) : std::nullopt;
  }

  static std::string shortened(const std::string& text) {
    return text.size() <= 40 ? text : std::string(cut_utf8(text, 40)) + "...";
  }
  bool expecting_key() const { return !frames_.empty() && frames_.back().node.is_map() && !frames_.back().has_key; }
  std::string path() const {
    std::string out;
    for (const Frame& frame : frames_) {
      if (frame.node.is_list()) out += format("[{}]", frame.node.items.size());
      if (frame.node.is_map() && frame.has_key) out += (out.empty() ? "" : ".") + frame.key;
    }
    return out;
  }

  [[noreturn]] void stop(Code code, Mark mark, std::string message) {
    mistakes_.add({.code = code, .mark = mark, .path = path(), .message = std::move(message), .suggestion = {}});
    throw Stop{};
  }
  [[noreturn]] void stop_bad_key(Mark mark) {
    stop(Code::bad_yaml, mark, "a key must be a word, not a list, a map or nothing");
  }

  void spend(std::size_t nodes, std::size_t bytes, Mark mark) {
    node_count_ += nodes;
    byte_count_ += bytes;
    if (node_count_ > document_nodes_max)
      stop(Code::too_large, mark, format("more than {} values, aliases written out", document_nodes_max));
    if (byte_count_ > expanded_bytes_max)
      stop(Code::too_large, mark, format("more than {} bytes, aliases written out", expanded_bytes_max));
  }

  void keep_anchor(YAML::anchor_t anchor, const Node& node, std::size_t nodes, std::size_t bytes) {
    if (anchor == 0) return;
    // Copies count against the limits: anchors inside anchors would otherwise square the memory.
    spend(nodes, bytes, node.mark);
    anchors_[anchor] = {node, nodes, bytes};
  }

  void leaf(Node node, YAML::anchor_t anchor, const std::string& key_text) {
    spend(1, key_text.size(), node.mark);
    keep_anchor(anchor, node, 1, key_text.size());
    const Mark mark = node.mark;
    add(std::move(node), key_text, mark, std::exchange(merge_candidate_, false));
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (expecting_key()) stop_bad_key(mark_of(mark));
    if (frames_.size() >= document_depth_max)
      stop(Code::too_deep, mark_of(mark), format("more than {} levels", document_depth_max));
    const bool plain =
        tag.empty() || tag == "?" || tag == "!" || tag == "tag:yaml.org,2002:map" || tag == "tag:yaml.org,2002:seq";
    if (!plain) stop(Code::bad_scalar, mark_of(mark), format("the tag {} is not supported", tag));
    Frame frame;
    frame.nodes_before = node_count_;
    frame.bytes_before = byte_count_;
    spend(1, 0, mark_of(mark));
    frame.node.kind = kind;
    frame.node.mark = mark_of(mark);
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    for (const Node& merged : frame.merged) {
      for (const Entry& entry : merged.entries)
        if (frame.seen.emplace(entry.key, frame.node.entries.size()).second) frame.node.entries.push_back(entry);
    }
    keep_anchor(frame.anchor, frame.node, node_count_ - frame.nodes_before, byte_count_ - frame.bytes_before);
    const Mark mark = frame.node.mark;
    add(std::move(frame.node), {}, mark, false);
  }

  void add(Node node, const std::string& key_text, Mark mark, bool merges) {
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.is_list()) {
      frame.node.items.push_back(std::move(node));
      return;
    }
    if (!frame.has_key) {
      if (key_text.empty() && !node.is_text()) stop_bad_key(mark);
      if (key_text.size() > key_bytes_max)
        stop(Code::too_large, mark, format("a key of more than {} bytes", key_bytes_max));
      frame.has_key = true;
      frame.key_merges = merges;
      frame.key = key_text;
      frame.key_mark = mark;
      return;
    }
    frame.has_key = false;
    if (frame.key_merges && merge(frame, node)) return;
    if (!frame.seen.emplace(frame.key, frame.node.entries.size()).second) {
      report_duplicate(frame);
      return;
    }
    frame.node.entries.push_back({std::move(frame.key), frame.key_mark, std::move(node)});
  }

  // `<<: *base` and `<<: [*a, *b]`; anything else under `<<` is an ordinary key.
  static bool merge(Frame& frame, Node& node) {
    if (node.is_map()) {
      frame.merged.push_back(std::move(node));
      return true;
    }
    if (!node.is_list()) return false;
    for (const Node& item : node.items)
      if (!item.is_map()) return false;
    for (Node& item : node.items) frame.merged.push_back(std::move(item));
    return true;
  }

  void report_duplicate(const Frame& frame) {
    const Mark first = frame.node.entries[frame.seen.at(frame.key)].mark;
    const std::string parent = path();
    mistakes_.add({.code = Code::duplicate_key,
                   .mark = frame.key_mark,
                   .path = parent.empty() ? frame.key : parent + "." + frame.key,
                   .message = format("the key '{}' already stands on line {}", frame.key, first.line),
                   .suggestion = {}});
  }

  std::string_view text_;
  std::uint32_t file_;
  Mistakes& mistakes_;
  std::vector<Frame> frames_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
  std::optional<Node> root_;
  std::size_t node_count_ = 0;
  std::size_t byte_count_ = 0;
  int document_count_ = 0;
  bool merge_candidate_ = false;
  Columns columns_;
};

Mark mark_at(std::string_view text, std::size_t offset, std::uint32_t file) {
  Mark mark{file, 1, 1};
  for (std::size_t i = 0; i < offset; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n') {
      ++mark.line;
      mark.column = 1;
    } else if ((byte & 0xC0U) != 0x80U) {
      ++mark.column;
    }
  }
  return mark;
}

// Conditions that must hold before yaml-cpp parses the text.
std::optional<Mistake> find_unreadable(std::string_view text, std::uint32_t file) {
  const auto mistake = [&](Code code, std::size_t offset, std::string message) {
    return Mistake{
        .code = code, .mark = mark_at(text, offset, file), .path = {}, .message = std::move(message), .suggestion = {}};
  };
  if (text.size() > file_bytes_max)
    return mistake(Code::too_large, 0, format("{} bytes; the limit is {}", text.size(), file_bytes_max));
  if (const auto offset = find_invalid_utf8(text); offset != std::string_view::npos)
    return mistake(Code::not_utf8, offset, "this byte is not UTF-8");
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (depth > flow_depth_max)
      return mistake(Code::too_deep, i, format("more than {} brackets are open here", flow_depth_max));
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t')
      return mistake(Code::bad_yaml, i, "a control character");
  }
  return std::nullopt;
}

// The first tab before a line's text, up to the line where the parser failed: yaml-cpp's message is only about the
// consequence of the tab.
std::optional<Mark> find_tab(std::string_view text, std::size_t line_last, std::uint32_t file) {
  std::size_t begin = 0;
  for (std::size_t line = 0; line <= line_last && begin < text.size(); ++line) {
    const std::size_t word = std::min(text.find_first_not_of(" \t", begin), text.size());
    const std::size_t tab = text.find('\t', begin);
    if (tab < word)
      return Mark{file, static_cast<std::uint32_t>(line + 1), static_cast<std::uint32_t>(tab - begin + 1)};
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) break;
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Node> parse_yaml(const Sources& sources, std::uint32_t file, Mistakes& mistakes) {
  const std::string& text = sources.file(file).text;
  if (auto unreadable = find_unreadable(text, file)) {
    mistakes.add(std::move(*unreadable));
    return std::nullopt;
  }
  Builder builder(text, file, mistakes);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop&) {
    return std::nullopt;
  } catch (const YAML::Exception& error) {
    if (const auto tab = find_tab(text, static_cast<std::size_t>(error.mark.line), file)) {
      mistakes.add({.code = Code::bad_yaml,
                    .mark = *tab,
                    .path = {},
                    .message = "a tab; YAML indents with spaces only",
                    .suggestion = {}});
      return std::nullopt;
    }
    mistakes.add({.code = Code::bad_yaml,
                  .mark = builder.mark_of(error.mark),
                  .path = {},
                  .message = error.msg,
                  .suggestion = {}});
    return std::nullopt;
  }
  auto root = builder.take_root();
  return root ? std::move(root) : Node{};
}

}  // namespace pawl::graph
