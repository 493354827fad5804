#include "mapping/reference.h"

#include "base/format.h"
#include "mapping/suggest.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

constexpr std::string_view scope_names[] = {"",      "$self", "$job",   "$hook",  "$app",   "$graph",
                                            "$item", "$key",  "$index", "$input", "$output"};
constexpr std::string_view job_values[] = {"data", "metadata"};

bool is_reduce_scope(Scope scope) { return scope >= Scope::item; }

std::optional<Scope> find_scope(std::string_view name) {
  for (std::size_t i = 1; i < std::size(scope_names); ++i)
    if (scope_names[i] == name) return static_cast<Scope>(i);
  return std::nullopt;
}

bool plain_name(std::string_view name) {
  return !name.empty() && name.find_first_of(" \t\r\n\"'{}:,[]") == std::string_view::npos;
}

std::string literal_form(std::string_view text) { return format("{{{}}}", text); }

std::optional<std::size_t> index_of(std::string_view name) {
  constexpr std::size_t index_digits_max = 9;
  if (name.empty() || name.size() > index_digits_max || (name.size() > 1 && name[0] == '0')) return std::nullopt;
  std::size_t index = 0;
  for (const char c : name) {
    if (c < '0' || c > '9') return std::nullopt;
    index = index * 10 + static_cast<std::size_t>(c - '0');
  }
  return index;
}

std::string joined(const ReferenceText& text, std::size_t replaced, std::string_view with) {
  std::string out = "{" + text.scope;
  for (std::size_t i = 0; i < text.parts.size(); ++i)
    out.append(".").append(i == replaced ? with : std::string_view(text.parts[i]));
  return out + "}";
}

// Checks part `at` against the names it may have.
std::optional<WrongText> check_part(const ReferenceText& text, std::size_t at,
                                    std::span<const std::string_view> known) {
  const std::string& part = text.parts[at];
  if (std::find(known.begin(), known.end(), part) != known.end()) return std::nullopt;
  const std::string_view near = nearest(part, known);
  return WrongText{format("\"{}\" is not one of {}", part, fmt::join(known, ", ")),
                   near.empty() ? "" : joined(text, at, near)};
}

bool is_metadata(const std::string& part) { return part == job_values[1]; }

void set_rest(ReferenceNode& node, const ReferenceText& text, std::size_t from) {
  for (std::size_t i = from; i < text.parts.size(); ++i) node.rest.push_back({text.parts[i], index_of(text.parts[i])});
}

using Bound = std::variant<ReferenceNode, WrongText>;

// In HotMesh a name that does not exist is undefined; here it is a mistake.
Bound wrong_or_nothing(ReferenceNode node, WrongText wrong, bool compat_hotmesh) {
  if (!compat_hotmesh) return wrong;
  node.reach = ReferenceNode::Reach::nothing;
  return node;
}

Bound bind_sections(ReferenceNode node, const ReferenceText& text, bool compat_hotmesh) {
  if (text.parts.empty()) {
    node.reach = ReferenceNode::Reach::whole;
    return node;
  }
  if (auto wrong = check_part(text, 0, activity_sections))
    return wrong_or_nothing(std::move(node), std::move(*wrong), compat_hotmesh);
  const auto section = std::find(activity_sections.begin(), activity_sections.end(), text.parts[0]);
  node.section = static_cast<std::size_t>(section - activity_sections.begin());
  if (text.parts.size() == 1) {
    node.reach = ReferenceNode::Reach::section;
    return node;
  }
  if (auto wrong = check_part(text, 1, job_values))
    return wrong_or_nothing(std::move(node), std::move(*wrong), compat_hotmesh);
  node.metadata = is_metadata(text.parts[1]);
  set_rest(node, text, 2);
  return node;
}

Bound bind_data_and_metadata(ReferenceNode node, const ReferenceText& text, bool compat_hotmesh) {
  if (text.parts.empty()) {
    node.reach = ReferenceNode::Reach::whole;
    return node;
  }
  if (auto wrong = check_part(text, 0, job_values))
    return wrong_or_nothing(std::move(node), std::move(*wrong), compat_hotmesh);
  node.metadata = is_metadata(text.parts[0]);
  set_rest(node, text, 1);
  return node;
}

// The two values of each section of activity_sections.
constexpr ValueOf section_values[3][2] = {
    {&ActivityValues::input_data, &ActivityValues::input_metadata},
    {&ActivityValues::output_data, &ActivityValues::output_metadata},
    {&ActivityValues::hook_data, &ActivityValues::hook_metadata},
};

const ActivityValues* find_activity(const Data& data, std::string_view id) {
  for (const NamedActivity& activity : data.activities)
    if (activity.id == id) return &activity.values;
  return nullptr;
}

Operand pair_of(const json::value* value, const json::value* metadata) {
  json::object out;
  if (value != nullptr) out.emplace("data", *value);
  if (metadata != nullptr) out.emplace("metadata", *metadata);
  return out.empty() ? Operand() : Operand(std::move(out));
}

Operand section_of(const ActivityValues& values, std::size_t section) {
  return pair_of(values.*section_values[section][0], values.*section_values[section][1]);
}

Operand whole_of(const ActivityValues& values) {
  json::object out;
  for (std::size_t i = 0; i < activity_sections.size(); ++i) {
    Operand section = section_of(values, i);
    if (!section.missing()) out.emplace(activity_sections[i], std::move(section.owned_value()));
  }
  return out.empty() ? Operand() : Operand(std::move(out));
}

Operand walk(const json::value* value, std::span<const PathPart> rest) {
  for (std::size_t i = 0; i < rest.size() && value != nullptr; ++i) {
    const PathPart& part = rest[i];
    if (const json::object* object = value->if_object()) {
      value = object->if_contains(part.name);
    } else if (const json::array* array = value->if_array()) {
      if (part.name == "length" && i + 1 == rest.size()) return Operand::number(static_cast<double>(array->size()));
      value = part.index && *part.index < array->size() ? &(*array)[*part.index] : nullptr;
    } else {
      value = nullptr;
    }
  }
  return value == nullptr ? Operand() : Operand::borrow(*value);
}

Operand resolve_activity(const ReferenceNode& node, const ActivityValues& values) {
  switch (node.reach) {
    case ReferenceNode::Reach::nothing:
      return Operand();
    case ReferenceNode::Reach::whole:
      return whole_of(values);
    case ReferenceNode::Reach::section:
      return section_of(values, node.section);
    case ReferenceNode::Reach::value:
      break;
  }
  return walk(values.*section_values[node.section][node.metadata ? 1 : 0], node.rest);
}

Operand resolve_pair(const ReferenceNode& node, const json::value* value, const json::value* metadata) {
  if (node.reach == ReferenceNode::Reach::whole) return pair_of(value, metadata);
  if (node.reach == ReferenceNode::Reach::nothing) return Operand();
  return walk(node.metadata ? metadata : value, node.rest);
}

Operand resolve_variable(const ReferenceNode& node, Operand& variable) {
  if (node.takes) return std::move(variable);
  if (variable.missing()) return Operand();
  return walk(&variable.value(), node.rest);
}

}  // namespace

std::string_view name_of(Scope scope) { return scope_names[static_cast<std::size_t>(scope)]; }

SourceText read_source_text(std::string_view text) {
  const bool braces = text.size() >= 2 && text.front() == '{' && text.back() == '}';
  if (!braces) return LiteralText{std::string(text)};
  const std::string_view inner = text.substr(1, text.size() - 2);
  if (inner.size() >= 2 && inner.front() == '{' && inner.back() == '}') return LiteralText{std::string(inner)};
  if (inner.size() > reference_bytes_max)
    return WrongText{format("a reference has at most {} characters", reference_bytes_max), ""};
  if (inner.find_first_not_of(" \t") != 0 || inner.back() == ' ') {
    const std::size_t begin = std::min(inner.find_first_not_of(" \t"), inner.size());
    const std::string_view trimmed = inner.substr(begin, inner.find_last_not_of(" \t") + 1 - begin);
    return WrongText{"a reference has no space inside its braces; a literal has its braces doubled",
                     trimmed.empty() ? literal_form(text) : format("{{{}}}", trimmed)};
  }

  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string_view::npos; begin = end + 1) {
    end = inner.find('.', begin);
    parts.emplace_back(inner.substr(begin, end == std::string_view::npos ? end : end - begin));
  }
  const bool named = std::all_of(parts.begin(), parts.end(), [](const auto& part) { return !part.empty(); });
  if (inner.front() == '@') return FunctionText{std::string(inner.substr(1))};
  if (!plain_name(parts[0]) || !named)
    return WrongText{"this is not a reference; a literal string in braces has them doubled", literal_form(text)};
  if (parts.size() > reference_parts_max)
    return WrongText{format("a reference has at most {} names", reference_parts_max), ""};
  std::string scope = std::move(parts[0]);
  parts.erase(parts.begin());
  return ReferenceText{std::move(scope), std::move(parts)};
}

std::variant<ReferenceNode, WrongText> bind_reference(const ReferenceText& text, const ReferenceContext& context) {
  ReferenceNode node{};
  node.scope = Scope::activity;
  if (text.scope.front() != '$') {
    node.activity = text.scope;
    return bind_sections(std::move(node), text, context.compat_hotmesh);
  }
  const auto scope = find_scope(text.scope);
  if (!scope) {
    const std::string_view near = nearest(text.scope, std::span(scope_names).subspan(1));
    ReferenceText meant = text;
    meant.scope = near;
    return WrongText{format("there is no scope {}", text.scope),
                     near.empty() ? "" : joined(meant, reference_parts_max, "")};
  }
  node.scope = *scope;
  if (is_reduce_scope(*scope)) {
    if (!context.reducing)
      return wrong_or_nothing(std::move(node), {format("{} exists only inside @reduce", text.scope), ""},
                              context.compat_hotmesh);
    set_rest(node, text, 0);
    return node;
  }
  switch (*scope) {
    case Scope::self:
      return bind_sections(std::move(node), text, context.compat_hotmesh);
    case Scope::job:
    case Scope::hook:
      return bind_data_and_metadata(std::move(node), text, context.compat_hotmesh);
    default:
      set_rest(node, text, 0);
      return node;
  }
}

Operand resolve(const ReferenceNode& node, const Data& data, ReduceFrame* frame) {
  switch (node.scope) {
    case Scope::activity: {
      const ActivityValues* values = find_activity(data, node.activity);
      return values == nullptr ? Operand() : resolve_activity(node, *values);
    }
    case Scope::self:
      return resolve_activity(node, data.self);
    case Scope::job:
      return resolve_pair(node, data.job_data, data.job_metadata);
    case Scope::hook:
      return resolve_pair(node, data.hook_data, data.hook_metadata);
    case Scope::app:
      return walk(data.app, node.rest);
    case Scope::graph:
      return walk(data.graph, node.rest);
    default:
      break;
  }
  if (frame == nullptr || node.reach == ReferenceNode::Reach::nothing) return Operand();
  switch (node.scope) {
    case Scope::item:
      return resolve_variable(node, frame->item);
    case Scope::key:
      return resolve_variable(node, frame->key);
    case Scope::index:
      return resolve_variable(node, frame->index);
    case Scope::output:
      return resolve_variable(node, frame->output);
    default:
      return walk(frame->input, node.rest);
  }
}

}  // namespace pawl::mapping
