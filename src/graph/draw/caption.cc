#include "graph/draw/caption.h"

#include <boost/json.hpp>

#include "base/format.h"
#include "base/invariant.h"

namespace pawl::graph {
namespace {

std::string literal_text(const boost::json::value& value) {
  if (value.is_string()) return std::string(value.get_string().data(), value.get_string().size());
  if (value.is_double()) return format("{}", value.get_double());
  return boost::json::serialize(value);
}

// The last part of the reference: enough to recognise it.
std::string brief(const Formula& formula) {
  if (const auto* literal = formula.expression.literal()) return literal_text(*literal);
  const auto& references = formula.expression.references();
  if (references.empty()) return "…";
  const auto& first = references.front();
  if (first.parts.empty()) return first.activity;
  // For a whole payload the owner's name is more useful.
  return first.parts.back() == "data" && !first.activity.empty() ? first.activity : first.parts.back();
}

std::string duration(const Formula& formula) {
  const auto* literal = formula.expression.literal();
  if (literal == nullptr || !literal->is_number()) return brief(formula);
  const double seconds = literal->is_double() ? literal->get_double() : literal->to_number<double>();
  struct Unit {
    double size;
    const char* name;
  };
  for (const Unit unit : {Unit{86400, "d"}, Unit{3600, "h"}, Unit{60, "m"}}) {
    const double count = seconds / unit.size;
    if (count >= 1 && count == static_cast<double>(static_cast<std::int64_t>(count)))
      return format("{}{}", static_cast<std::int64_t>(count), unit.name);
  }
  return format("{}s", seconds);
}

std::string detail_of(const Kind& kind) {
  return std::visit(Overloaded{
                        [](const Trigger&) { return std::string(); },
                        [](const Worker& k) { return brief(k.topic); },
                        [](const Await& k) { return brief(k.topic); },
                        [](const Hook& k) {
                          std::string out = k.topic ? *k.topic : std::string();
                          if (k.sleep) out += (out.empty() ? "sleep " : ", at most ") + duration(*k.sleep);
                          return out;
                        },
                        [](const Signal& k) { return (k.to_all ? "all, " : "") + brief(k.topic); },
                        [](const Cycle& k) { return "to " + k.ancestor; },
                        [](const Interrupt& k) { return k.target ? brief(*k.target) : std::string("this job"); },
                        [](const Join& k) {
                          if (k.need == Join::Need::any) return std::string("any");
                          return k.need == Join::Need::all ? std::string("all") : format("any {}", k.count);
                        },
                        [](const Map& k) {
                          const std::string items = "over " + brief(k.items);
                          return k.parallel ? format("{}, {} at once", items, brief(*k.parallel)) : items;
                        },
                    },
                    kind);
}

}  // namespace

std::size_t character_count(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text)
    if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++count;
  return count;
}

std::string shortened(const std::string& text, std::size_t characters) {
  if (character_count(text) <= characters) return text;
  std::string out;
  std::size_t count = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U && ++count >= characters) break;
    out += c;
  }
  return out + "…";
}

std::string title_of(const Activity& activity) { return activity.title.empty() ? activity.id : activity.title; }

std::string subtitle_of(const Activity& activity) {
  const std::string detail = detail_of(activity.kind);
  const std::string kind(name_of(activity.kind));
  return detail.empty() ? kind : kind + " · " + detail;
}

std::string condition_of(const Graph&, const Transition& transition) {
  std::string out;
  const bool plain_success = transition.codes.size() == 1 && transition.codes[0] == 200 && !transition.any_error &&
                             !transition.matches.empty();
  if (transition.on == Transition::On::codes && !plain_success) {
    for (const int code : transition.codes) out += format("{}{}", out.empty() ? "" : " or ", code);
    if (transition.any_error) out += out.empty() ? "any error" : " or any error";
  }
  std::string matches;
  for (const Match& match : transition.matches) {
    if (!matches.empty()) matches += transition.gate_or ? " or " : " and ";
    const std::string expected =
        std::visit(Overloaded{[](const boost::json::value& value) { return literal_text(value); },
                              [](const Formula& formula) { return brief(formula); }},
                   match.expected);
    matches += brief(match.actual) + " = " + expected;
  }
  if (!out.empty() && !matches.empty()) out += ", ";
  return out + matches;
}

}  // namespace pawl::graph
