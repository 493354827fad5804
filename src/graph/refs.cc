#include "graph/refs.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "graph/limits.h"
#include "graph/pointer.h"
#include "graph/yaml.h"

namespace pawl::graph {
namespace {

class Resolver {
 public:
  Resolver(const Loader& loader, Sources& sources, Mistakes& mistakes)
      : loader_(loader), sources_(sources), mistakes_(mistakes) {}

  std::optional<Node> load_main(std::string_view name) {
    const Document* document = open(std::string(name), Mark{}, "");
    if (document == nullptr || !document->root) return std::nullopt;
    Node root = *document->root;
    resolve(root, document->name, "");
    return root;
  }

 private:
  struct Document {
    std::string name;
    std::optional<Node> root;
  };

  void mistake(Code code, Mark mark, const std::string& path, std::string message, std::string suggestion = {}) {
    mistakes_.add(
        {.code = code, .mark = mark, .path = path, .message = std::move(message), .suggestion = std::move(suggestion)});
  }

  // Null when the file cannot be read; a file that is not YAML is stored without a root.
  const Document* open(const std::string& name, Mark from, const std::string& path) {
    if (const auto found = documents_.find(name); found != documents_.end()) return &found->second;
    if (documents_.size() >= files_max) {
      mistake(Code::too_large, from, path, format("more than {} files", files_max));
      return nullptr;
    }
    auto text = loader_.read(name);
    if (!text) {
      if (sources_.count() == 0) sources_.add(name, "");
      mistake(from.line == 0 ? Code::cannot_read : Code::ref_not_found, from, path, text.error().detail);
      return nullptr;
    }
    const std::uint32_t file = sources_.add(name, std::move(*text));
    auto root = parse_yaml(sources_, file, mistakes_);
    return &documents_.emplace(name, Document{name, std::move(root)}).first->second;
  }

  // Depth is bounded: documents are at most document_depth_max deep and the stack of references is
  // checked against the same limit.
  void resolve(Node& node, const std::string& file, const std::string& path) {
    if (exhausted_) return;
    if (node.is_map()) {
      if (const Entry* ref = node.find_entry("$ref"); ref != nullptr && !is_schema_ref(ref->value)) {
        replace(node, *ref, file, path);
        return;
      }
      for (Entry& entry : node.entries) resolve(entry.value, file, append_key(path, entry.key));
    }
    for (std::size_t i = 0; i < node.items.size(); ++i) resolve(node.items[i], file, format("{}[{}]", path, i));
  }

  static bool is_schema_ref(const Node& value) {
    return value.is_text() && (value.text == "#" || value.text.starts_with("#/$defs/"));
  }

  void replace(Node& node, const Entry& ref, const std::string& file, const std::string& path) {
    const Mark mark = ref.value.mark;
    auto found = find_target(ref, file, path);
    if (!found) {
      node.entries.clear();
      node.kind = Node::Kind::null;
      return;
    }
    const std::string key = found->file + "#" + found->pointer;
    if (std::find(stack_.begin(), stack_.end(), key) != stack_.end()) {
      mistake(Code::ref_circular, mark, path, format("'{}' leads back to itself", ref.value.text));
      node.entries.clear();
      return;
    }
    node_count_ += count_nodes(*found->node);
    if (node_count_ > ref_nodes_max || stack_.size() >= document_depth_max) {
      if (!exhausted_)
        mistake(Code::too_large, mark, path, format("references stand for more than {} values", ref_nodes_max));
      exhausted_ = true;
      node.entries.clear();
      return;
    }
    Node copy = *found->node;
    stack_.push_back(key);
    resolve(copy, found->file, path);
    stack_.pop_back();
    overlay(copy, node, file, path);
    node = std::move(copy);
  }

  void overlay(Node& copy, Node& node, const std::string& file, const std::string& path) {
    if (node.entries.size() == 1) return;
    if (!copy.is_map()) {
      mistake(Code::bad_ref, node.mark, path, "keys stand beside a $ref that does not name a map");
      return;
    }
    for (Entry& entry : node.entries) {
      if (entry.key == "$ref") continue;
      resolve(entry.value, file, append_key(path, entry.key));
      const auto same =
          std::find_if(copy.entries.begin(), copy.entries.end(), [&](const Entry& e) { return e.key == entry.key; });
      if (same == copy.entries.end()) {
        copy.entries.push_back(std::move(entry));
      } else {
        *same = std::move(entry);
      }
    }
  }

  struct Target {
    std::string file;
    std::string pointer;
    const Node* node;
  };

  std::optional<Target> find_target(const Entry& ref, const std::string& file, const std::string& path) {
    const Mark mark = ref.value.mark;
    if (!ref.value.is_text() || ref.value.text.empty()) {
      mistake(Code::bad_ref, mark, path, "a $ref is a text such as schemas.yaml#/order");
      return std::nullopt;
    }
    const std::string_view text = ref.value.text;
    const auto hash = text.find('#');
    const std::string_view file_part = text.substr(0, hash);
    const std::string_view pointer = hash == std::string_view::npos ? "" : text.substr(hash + 1);
    std::string name = file;
    if (!file_part.empty()) {
      auto joined = join_inside(file, file_part);
      if (!joined) {
        mistake(Code::ref_escapes, mark, path, joined.error().detail);
        return std::nullopt;
      }
      name = std::move(*joined);
    }
    if (!pointer.empty() && pointer.front() != '/') {
      mistake(Code::bad_ref, mark, path, format("'{}' must begin with / after the #", text));
      return std::nullopt;
    }
    const Document* document = open(name, mark, path);
    if (document == nullptr || !document->root) return std::nullopt;
    const auto walk = walk_pointer(*document->root, pointer);
    if (!walk.complete) {
      std::vector<std::string_view> keys;
      for (const Entry& entry : walk.node->entries) keys.push_back(entry.key);
      mistake(Code::ref_not_found, mark, path, format("{} has nothing at '{}'", document->name, walk.missing),
              nearest(walk.missing, keys));
      return std::nullopt;
    }
    return Target{name, std::string(pointer), walk.node};
  }

  const Loader& loader_;
  Sources& sources_;
  Mistakes& mistakes_;
  std::map<std::string, Document, std::less<>> documents_;
  std::vector<std::string> stack_;
  std::size_t node_count_ = 0;
  bool exhausted_ = false;
};

}  // namespace

std::optional<Node> load_document(const Loader& loader, std::string_view main_file, Sources& sources,
                                  Mistakes& mistakes) {
  return Resolver(loader, sources, mistakes).load_main(main_file);
}

}  // namespace pawl::graph
