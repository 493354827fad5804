#include "graph/mistake.h"

#include <algorithm>
#include <tuple>

#include "base/format.h"
#include "graph/limits.h"

namespace pawl::graph {
namespace {

constexpr CodeInfo infos[] = {
    {Code::cannot_read, "A file cannot be read"},
    {Code::too_large, "A file or the whole app is larger than a limit"},
    {Code::not_utf8, "A file is not UTF-8"},
    {Code::bad_yaml, "The text is not YAML"},
    {Code::duplicate_key, "A key appears twice in one map"},
    {Code::too_deep, "Lists and maps are nested too deeply"},
    {Code::bad_alias, "An alias names itself or grows too large"},
    {Code::bad_scalar, "A value has no JSON form"},
    {Code::many_documents, "A file holds more than one YAML document"},
    {Code::bad_ref, "A $ref is malformed"},
    {Code::ref_escapes, "A $ref leaves the app's folder"},
    {Code::ref_not_found, "A $ref names something that does not exist"},
    {Code::ref_circular, "A $ref leads back to itself"},
    {Code::unknown_key, "A key is not part of the language"},
    {Code::missing_key, "A required key is missing"},
    {Code::wrong_type, "A value has the wrong type"},
    {Code::bad_value, "A value is not one of those allowed"},
    {Code::bad_name, "A name has characters that are not allowed"},
    {Code::unknown_kind, "An activity has an unknown type"},
    {Code::no_effect, "A key has no effect here (warning)"},
    {Code::duplicate_activity, "Two activities of the app share an id"},
    {Code::duplicate_topic, "Two graphs subscribe to one topic"},
    {Code::over_limit, "There is more of something than a limit allows"},
    {Code::no_trigger, "A graph has no trigger"},
    {Code::two_triggers, "A graph has more than one trigger"},
    {Code::unknown_activity, "An activity id does not exist in the graph"},
    {Code::unknown_topic, "A topic does not exist in the app"},
    {Code::unreachable, "No path leads from the trigger to an activity"},
    {Code::two_parents, "An activity that is not a join has two parents"},
    {Code::transition_loop, "Transitions run in a circle"},
    {Code::into_trigger, "A transition leads into the trigger"},
    {Code::cycle_not_ancestor, "A cycle returns to an activity that is not its ancestor"},
    {Code::cycle_bad_pivot, "A cycle returns to something other than a pass-through hook"},
    {Code::never_leaves, "A transition leaves an activity that never continues"},
    {Code::bad_join, "A join asks for arrivals that cannot happen"},
    {Code::bad_map, "A map has no proper closing join"},
    {Code::crosses_map, "A transition crosses the border of a map's body"},
    {Code::duplicate_transition, "The same transition is written twice"},
    {Code::bad_hook, "A hook rule does not fit its activity"},
    {Code::not_under_duplex, "Collation duplex cannot run this"},
    {Code::bad_compensation, "This activity cannot undo that one"},
    {Code::bad_expression, "An expression does not compile"},
    {Code::reference_unknown, "A reference names an unknown activity"},
    {Code::reference_not_ancestor, "A reference names an activity that is not an ancestor"},
    {Code::reference_inside_map, "A reference looks into a map's body from outside"},
    {Code::bad_reference, "A reference asks for a part that does not exist"},
    {Code::reference_not_in_schema, "A reference asks for a field that a closed schema does not have"},
    {Code::meant_as_expression, "A text was probably meant as an expression (warning)"},
    {Code::bad_schema, "A schema is malformed"},
    {Code::unknown_keyword, "A schema keyword is outside the supported subset"},
    {Code::any_type, "A schema says `type: any` (warning, the first one only)"},
};

// Edits (insert, delete, replace, swap of neighbours) between two short words; inexact above `limit`.
std::size_t distance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t gap = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (gap > limit) return limit + 1;
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Mistakes that HotMesh accepts and that have a sensible meaning: ignore the key, leave the schema unenforced, run the
// activity once per incoming edge, read nothing.
bool passes_in_compat(Code code) {
  switch (code) {
    case Code::unknown_key:
    case Code::wrong_type:
    case Code::bad_value:
    case Code::bad_name:
    case Code::no_effect:
    case Code::unknown_topic:
    case Code::unreachable:
    case Code::two_parents:
    case Code::cycle_not_ancestor:
    case Code::cycle_bad_pivot:
    case Code::never_leaves:
    case Code::duplicate_transition:
    case Code::bad_hook:
    case Code::reference_not_ancestor:
    case Code::bad_reference:
    case Code::bad_schema:
    case Code::unknown_keyword:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::span<const CodeInfo> all_codes() { return infos; }

std::string id_of(Code code) { return format("G{:03}", static_cast<unsigned>(code)); }

void Mistakes::add(Mistake mistake) {
  if (lenient_ && passes_in_compat(mistake.code)) mistake.severity = Severity::warning;
  if (mistake.severity == Severity::error) ++error_count_;
  if (list_.size() >= mistakes_max) {
    ++left_out_;
    return;
  }
  list_.push_back(std::move(mistake));
}

void Mistakes::add_first(Mistake mistake) {
  for (const Mistake& known : list_)
    if (known.code == mistake.code) return;
  add(std::move(mistake));
}

std::vector<Mistake> Mistakes::take_sorted() {
  const auto place = [](const Mistake& m) { return std::tuple(m.mark.file, m.mark.line, m.mark.column, m.code); };
  std::stable_sort(list_.begin(), list_.end(), [&](const Mistake& a, const Mistake& b) { return place(a) < place(b); });
  return std::move(list_);
}

std::string nearest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t word_bytes_max = 64;  // longer words are not typing errors
  if (word.size() < 2 || word.size() > word_bytes_max) return {};
  const std::string wanted = lowered(word);
  const std::size_t limit = word.size() <= 3 ? 1 : word.size() <= 8 ? 2 : 3;
  std::size_t best = limit + 1;
  std::string_view found;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > word_bytes_max) continue;
    const std::size_t edits = distance(wanted, lowered(candidate), limit);
    if (edits < best) best = edits, found = candidate;
  }
  return std::string(found);
}

std::string any_of(std::span<const std::string_view> words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

}  // namespace pawl::graph
