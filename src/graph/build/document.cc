#include "graph/build/document.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/format.h"
#include "base/invariant.h"
#include "base/quote.h"

namespace pawl {
namespace {

namespace json = boost::json;

constexpr std::size_t json_depth_max = 100;

Value value_of(const json::value& from) {
  switch (from.kind()) {
    case json::kind::null:
      return {};
    case json::kind::bool_:
      return from.get_bool();
    case json::kind::int64:
      return from.get_int64();
    case json::kind::uint64:
      return static_cast<double>(from.get_uint64());  // beyond int64: a number like any other
    case json::kind::double_:
      return from.get_double();
    case json::kind::string:
      return std::string(from.get_string());
    case json::kind::array: {
      Values list;
      for (const json::value& item : from.get_array()) list.push_back(value_of(item));
      return list;
    }
    case json::kind::object: {
      Fields fields;
      for (const auto& field : from.get_object())
        fields.emplace_back(std::string(field.key()), value_of(field.value()));
      return fields;
    }
  }
  return {};
}

}  // namespace

Value Value::json(std::string_view text) {
  boost::system::error_code failed;
  json::parse_options options;
  options.max_depth = json_depth_max;
  const json::value parsed = json::parse(text, failed, {}, options);
  if (!failed) return value_of(parsed);
  Value broken;
  broken.kind_ = Broken{format("this is not JSON ({}): {}", failed.message(), text.substr(0, 80))};
  return broken;
}

Value Value::of_time(Duration time) {
  const std::int64_t micros = time.count();
  if (micros % 1'000'000 == 0) return format("{}s", micros / 1'000'000);
  if (micros % 1'000 == 0) return format("{}ms", micros / 1'000);
  return static_cast<double>(micros) / 1e6;
}

namespace graph {
namespace {

constexpr std::size_t line_bytes_max = 110;

bool is_plain(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || !is_letter(text.front())) return false;
  const bool safe = std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '/';
  });
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  constexpr std::string_view taken[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  return safe && std::find(std::begin(taken), std::end(taken), lower) == std::end(taken);
}

std::string scalar(std::string_view text) { return is_plain(text) ? std::string(text) : json_quoted(text); }

bool is_leaf(const Value& value) {
  const auto* list = value.get<Values>();
  const auto* fields = value.get<Fields>();
  return (list == nullptr || list->empty()) && (fields == nullptr || fields->empty());
}

// On one line.
std::string flow(const Value& value) {
  return std::visit(Overloaded{
                        [](std::monostate) { return std::string("null"); },
                        [](bool truth) { return std::string(truth ? "true" : "false"); },
                        [](std::int64_t number) { return format("{}", number); },
                        [](double number) { return format("{}", number); },
                        [](const std::string& text) { return scalar(text); },
                        [](const Values& list) {
                          std::string out = "[";
                          for (const Value& item : list) out += (out.size() > 1 ? ", " : "") + flow(item);
                          return out + "]";
                        },
                        [](const Fields& fields) {
                          std::string out = "{";
                          for (const auto& [key, field] : fields)
                            out += (out.size() > 1 ? ", " : "") + scalar(key) + ": " + flow(field);
                          return out + "}";
                        },
                        [](const Value::Broken&) { return std::string("null"); },
                    },
                    value.kind());
}

class Writer {
 public:
  void write(const Value& value, std::size_t indent, bool may_flow) {
    if (const auto* fields = value.get<Fields>(); fields != nullptr && !fields->empty()) {
      for (const auto& [key, field] : *fields) {
        begin(indent);
        text_ += scalar(key) + ":";
        below(field, indent, may_flow);
      }
    } else if (const auto* list = value.get<Values>(); list != nullptr && !list->empty()) {
      for (const Value& item : *list) {
        begin(indent);
        text_ += "-";
        if (fits(item, indent)) {
          text_ += " " + flow(item) + "\n";
          continue;
        }
        text_ += " ";
        at_start_ = true;
        write(item, indent + 2, may_flow);
      }
    } else {
      begin(indent);
      text_ += flow(value) + "\n";
    }
  }
  std::string take() { return std::move(text_); }

 private:
  // After a dash the first key is on the same line.
  void begin(std::size_t indent) {
    if (!at_start_) text_.append(indent, ' ');
    at_start_ = false;
  }
  bool fits(const Value& value, std::size_t indent) const {
    return is_leaf(value) || indent + flow(value).size() <= line_bytes_max;
  }
  void below(const Value& value, std::size_t indent, bool may_flow) {
    if (is_leaf(value) || (may_flow && indent > 0 && fits(value, indent))) {
      text_ += " " + flow(value) + "\n";
      return;
    }
    text_ += "\n";
    write(value, indent + 2, may_flow);
  }

  std::string text_;
  bool at_start_ = false;
};

void find_broken(const Value& value, const std::string& path, std::string& out) {
  if (const auto* broken = value.get<Value::Broken>())
    out += format("{}{}: {}", out.empty() ? "" : "\n", path, broken->why);
  if (const auto* list = value.get<Values>())
    for (std::size_t i = 0; i < list->size(); ++i) find_broken((*list)[i], format("{}[{}]", path, i), out);
  if (const auto* fields = value.get<Fields>())
    for (const auto& [key, field] : *fields) find_broken(field, path.empty() ? key : path + "." + key, out);
}

}  // namespace

std::string yaml_text(const Value& value) {
  Writer writer;
  writer.write(value, 0, true);
  return writer.take();
}

std::string broken_part(const Value& value) {
  std::string out;
  find_broken(value, "", out);
  return out;
}

}  // namespace graph
}  // namespace pawl
