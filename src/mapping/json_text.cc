#include "mapping/json_text.h"

#include "base/format.h"
#include "mapping/number_text.h"

#include <boost/json/value.hpp>

#include <cmath>
#include <iterator>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

class Writer {
 public:
  explicit Writer(std::string_view indent) : indent_(indent) {}

  void write(const json::value& value) {
    switch (value.kind()) {
      case json::kind::null:
        out_.append("null");
        break;
      case json::kind::bool_:
        out_.append(value.get_bool() ? "true" : "false");
        break;
      case json::kind::int64:
        append_number(out_, value.get_int64());
        break;
      case json::kind::uint64:
        append_number(out_, value.get_uint64());
        break;
      case json::kind::double_:
        write_number(value.get_double());
        break;
      case json::kind::string:
        append_json_string(out_, value.get_string());
        break;
      case json::kind::array:
        write_array(value.get_array());
        break;
      case json::kind::object:
        write_object(value.get_object());
        break;
    }
  }
  std::string take() { return std::move(out_); }

 private:
  void write_number(double number) {
    if (std::isfinite(number)) {
      append_number(out_, number);
    } else {
      out_.append("null");
    }
  }
  void write_array(const json::array& array) {
    open('[');
    for (const json::value& element : array) {
      next();
      write(element);
    }
    close(']');
  }
  void write_object(const json::object& object) {
    open('{');
    for (const json::key_value_pair& member : object) {
      next();
      append_json_string(out_, member.key());
      out_.append(indent_.empty() ? ":" : ": ");
      write(member.value());
    }
    close('}');
  }
  void open(char bracket) {
    out_.push_back(bracket);
    ++level_;
    first_ = true;
  }
  void next() {
    if (!first_) out_.push_back(',');
    first_ = false;
    new_line();
  }
  void close(char bracket) {
    --level_;
    if (!first_) new_line();
    first_ = false;
    out_.push_back(bracket);
  }
  void new_line() {
    if (indent_.empty()) return;
    out_.push_back('\n');
    for (std::size_t i = 0; i < level_; ++i) out_.append(indent_);
  }

  std::string out_;
  std::string_view indent_;
  std::size_t level_ = 0;
  bool first_ = true;  // nothing was written yet inside the innermost bracket
};

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  std::size_t begin = 0;  // of what is written as it is
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text.substr(begin, at - begin));
    begin = at + 1;
    switch (c) {
      case '"':
        out.append("\\\"");
        break;
      case '\\':
        out.append("\\\\");
        break;
      case '\b':
        out.append("\\b");
        break;
      case '\f':
        out.append("\\f");
        break;
      case '\n':
        out.append("\\n");
        break;
      case '\r':
        out.append("\\r");
        break;
      case '\t':
        out.append("\\t");
        break;
      default:
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    }
  }
  out.append(text.substr(begin));
  out.push_back('"');
}

std::string json_text(const json::value& value, std::string_view indent) {
  Writer writer(indent);
  writer.write(value);
  return writer.take();
}

}  // namespace pawl::mapping
