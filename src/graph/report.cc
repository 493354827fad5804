#include "graph/report.h"

#include <boost/json.hpp>
#include <string_view>

#include "base/format.h"
#include "base/utf8.h"

namespace pawl::graph {
namespace {

constexpr std::size_t excerpt_bytes_max = 160;

struct Paint {
  Colours colours;
  std::string with(std::string_view code, std::string_view text) const {
    if (colours == Colours::off) return std::string(text);
    return format("\x1b[{}m{}\x1b[0m", code, text);
  }
  std::string bold(std::string_view text) const { return with("1", text); }
  std::string dim(std::string_view text) const { return with("2", text); }
  std::string severity(Severity severity, std::string_view text) const {
    return with(severity == Severity::error ? "1;31" : "1;33", text);
  }
};

// Control characters of a hostile file must not reach the terminal. One column each, so that the mark below an excerpt
// is in the right column.
std::string printable_columns(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded next = decode_at(text, at);
    at += next.bytes;
    if (next.point == '\t') {
      out += ' ';
    } else if (next.point < 0x20 || (next.point >= 0x7F && next.point < 0xA0)) {
      out += '?';
    } else {
      append_utf8(out, next.point);
    }
  }
  return out;
}

std::size_t byte_of_column(std::string_view line, std::size_t column) {
  std::size_t at = 0;
  for (std::size_t passed = 1; passed < column && at < line.size(); ++passed) {
    ++at;
    while (at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0U) == 0x80U) ++at;
  }
  return at;
}

// The word that starts at the mark: up to its closing quote, or to a space, comma or colon.
std::size_t word_length(std::string_view line, std::size_t at) {
  if (at >= line.size()) return 1;
  const char first = line[at];
  std::size_t length = 0;
  std::size_t end = at;
  if (first == '"' || first == '\'') {
    end = line.find(first, at + 1);
    end = end == std::string_view::npos ? line.size() : end + 1;
  } else {
    while (end < line.size() && std::string_view(" ,:]}\t").find(line[end]) == std::string_view::npos) ++end;
  }
  for (std::size_t i = at; i < end; ++i)
    if ((static_cast<unsigned char>(line[i]) & 0xC0U) != 0x80U) ++length;
  return length == 0 ? 1 : length;
}

void add_excerpt(std::string& out, const Checked& checked, const Mistake& mistake, const Paint& paint) {
  const std::string_view line = checked.sources.line(mistake.mark);
  if (line.empty() || line.size() > excerpt_bytes_max || find_invalid_utf8(line) != std::string_view::npos) return;
  const std::string number = format("{}", mistake.mark.line);
  const std::string margin(number.size(), ' ');
  const std::size_t at = byte_of_column(line, mistake.mark.column);
  out += format(" {} {}\n", margin, paint.dim("|"));
  out += format(" {} {} {}\n", paint.dim(number), paint.dim("|"), printable_columns(line));
  out += format(" {} {} {}{}\n", margin, paint.dim("|"), std::string(mistake.mark.column - 1, ' '),
                paint.severity(mistake.severity, std::string(word_length(line, at), '^')));
}

void add_mistake(std::string& out, const Checked& checked, const Mistake& mistake, const Paint& paint) {
  const std::string_view word = mistake.severity == Severity::error ? "error" : "warning";
  out += format("{}: {}\n", paint.severity(mistake.severity, format("{}[{}]", word, id_of(mistake.code))),
                paint.bold(printable_columns(mistake.message)));
  const bool has_file = mistake.mark.file < checked.sources.count();
  std::string place = has_file ? printable_columns(checked.sources.file(mistake.mark.file).name) : std::string();
  if (mistake.mark.line > 0) place += format(":{}:{}", mistake.mark.line, mistake.mark.column);
  out += format("  {} {}", paint.dim("-->"), place);
  if (!mistake.path.empty()) out += format("  {}", paint.dim(printable_columns(mistake.path)));
  out += '\n';
  add_excerpt(out, checked, mistake, paint);
  if (!mistake.suggestion.empty())
    out +=
        format("   {} did you mean {}?\n", paint.dim("="), paint.with("1;32", printable_columns(mistake.suggestion)));
  out += '\n';
}

std::string counted(std::size_t count, std::string_view what) {
  return format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::string report_text(const Checked& checked, Colours colours) {
  const Paint paint{colours};
  std::string out;
  std::size_t errors = 0;
  std::size_t warnings = 0;
  for (const Mistake& mistake : checked.mistakes) {
    ++(mistake.severity == Severity::error ? errors : warnings);
    add_mistake(out, checked, mistake, paint);
  }
  if (checked.left_out > 0) out += format("and {} more that are not shown\n", checked.left_out);
  if (!checked.app) return out + format("{}, {}\n", counted(errors, "error"), counted(warnings, "warning"));
  std::size_t activities = 0;
  for (const Graph& graph : checked.app->graphs) activities += graph.activities.size();
  out += format("{} {} version {}: {}, {}", paint.with("1;32", "ok"), checked.app->id, checked.app->version,
                counted(checked.app->graphs.size(), "graph"),
                activities == 1 ? std::string("1 activity") : format("{} activities", activities));
  if (warnings > 0) out += format(", {}", counted(warnings, "warning"));
  return out + "\n";
}

std::string report_json(const Checked& checked) {
  boost::json::array list;
  for (const Mistake& mistake : checked.mistakes) {
    const bool has_file = mistake.mark.file < checked.sources.count();
    list.push_back({{"code", id_of(mistake.code)},
                    {"severity", mistake.severity == Severity::error ? "error" : "warning"},
                    {"file", has_file ? checked.sources.file(mistake.mark.file).name : std::string()},
                    {"line", mistake.mark.line},
                    {"column", mistake.mark.column},
                    {"path", mistake.path},
                    {"message", mistake.message},
                    {"suggestion", mistake.suggestion}});
  }
  return printable_json(boost::json::serialize(boost::json::object{
      {"ok", checked.app != nullptr}, {"mistakes", std::move(list)}, {"left_out", checked.left_out}}));
}

std::string mistakes_by_key(const Checked& checked) {
  std::string out;
  for (const Mistake& mistake : checked.mistakes) {
    if (mistake.severity != Severity::error) continue;
    std::string_view path = mistake.path;
    for (const std::string_view prefix : {"app.", "graphs[0]."})
      if (path.starts_with(prefix)) path.remove_prefix(prefix.size());
    out += format("{}{}{}{}", out.empty() ? "" : "\n", path, path.empty() ? "" : ": ", mistake.message);
    if (!mistake.suggestion.empty()) out += format("; did you mean '{}'?", mistake.suggestion);
  }
  if (checked.left_out != 0) out += format("\nand {} more", checked.left_out);
  return out;
}

}  // namespace pawl::graph
