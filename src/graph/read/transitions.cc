#include <boost/json.hpp>
#include <unordered_map>

#include "base/format.h"
#include "graph/limits.h"
#include "graph/read/read.h"
#include "mapping/json_text.h"

namespace pawl::graph {
namespace {

constexpr std::string_view gate_words[] = {"and", "or"};
constexpr int code_ok = 200;

// Ids to indices, with a suggestion for a typing error.
class Ids {
 public:
  explicit Ids(const Graph& graph) {
    for (ActivityIndex i = 0; i < graph.activities.size(); ++i) {
      indices_.emplace(graph.activities[i].id, i);
      names_.push_back(graph.activities[i].id);
    }
  }
  std::optional<ActivityIndex> find(const Reader& reader, const Where& where, std::string_view id) const {
    const auto found = indices_.find(id);
    if (found != indices_.end()) return found->second;
    reader.report(where, Code::unknown_activity, format("this graph has no activity '{}'", id), nearest(id, names_));
    return std::nullopt;
  }

 private:
  std::unordered_map<std::string_view, ActivityIndex> indices_;
  std::vector<std::string_view> names_;
};

void read_codes(const Cursor& at, const Reader& reader, Transition& transition) {
  const auto read_one = [&](const Cursor& here) {
    if (here.node().is_text() && here.node().text == "error") {
      transition.any_error = true;
    } else if (const auto code = reader.code(here)) {
      transition.codes.push_back(*code);
    }
  };
  transition.on = Transition::On::codes;
  transition.codes.clear();
  if (!at.node().is_list()) {
    read_one(at);
    return;
  }
  for (std::size_t i = 0; i < at.node().items.size(); ++i) read_one(Cursor(at, i));
}

// The two sides of a match; false when one is missing or wrong.
bool read_sides(const Cursor& at, const Reader& reader, OptionalFormula& actual, const Node*& expected,
                OptionalFormula& expected_formula, bool expected_is_literal) {
  const Key keys[] = {
      {"actual", reader.into(actual, Expect::any)},
      {"expected",
       [&](const Cursor& key) {
         expected = &key.node();
         if (!expected_is_literal) expected_formula = reader.formula(key, Expect::any);
       }},
  };
  reader.keys(at, Level::match, keys);
  if (!at.node().is_map()) return false;
  for (const std::string_view required : {"actual", "expected"})
    if (at.node().find(required) == nullptr) reader.missing(at, required);
  return actual && expected != nullptr && (expected_is_literal || expected_formula);
}

void read_match(const Cursor& at, const Reader& reader, Transition& transition) {
  const bool literal = reader.dialect() == Dialect::hotmesh;
  OptionalFormula actual, expected_formula;
  const Node* expected = nullptr;
  if (!read_sides(at, reader, actual, expected, expected_formula, literal)) return;
  if (literal) {
    transition.matches.push_back({std::move(*actual), to_json(*expected)});
  } else {
    transition.matches.push_back({std::move(*actual), std::move(*expected_formula)});
  }
}

void read_conditions(const Cursor& at, const Reader& reader, Transition& transition) {
  // Conditions without a code require plain success.
  transition.on = Transition::On::codes;
  transition.codes = {code_ok};
  const Key keys[] = {
      {"code", [&](const Cursor& key) { read_codes(key, reader, transition); }},
      {"gate", [&](const Cursor& key) { transition.gate_or = reader.choice(key, gate_words).value_or(0) == 1; }},
      {"match",
       [&](const Cursor& key) {
         if (!reader.expect_list(key)) return;
         for (std::size_t i = 0; i < key.node().items.size(); ++i) read_match(Cursor(key, i), reader, transition);
       }},
  };
  reader.keys(at, Level::conditions, keys);
}

std::optional<Transition> read_transition(const Cursor& at, const Reader& reader, const Ids& ids) {
  Transition transition;
  transition.where = at.where();
  if (reader.dialect() == Dialect::hotmesh) transition.on = Transition::On::anything;
  std::optional<ActivityIndex> to;
  const auto misplaced = [&](const Cursor& key) {
    reader.report(key.key_where(), Code::unknown_key, format("'{}' belongs inside 'conditions'", key.key()));
  };
  const Key keys[] = {
      {"to",
       [&](const Cursor& key) {
         if (const auto id = reader.text(key)) to = ids.find(reader, key.where(), *id);
         transition.where.mark = key.mark();
       }},
      {"conditions", [&](const Cursor& key) { read_conditions(key, reader, transition); }},
      {"code", misplaced, true},
      {"gate", misplaced, true},
      {"match", misplaced, true},
  };
  reader.keys(at, Level::transition, keys);
  if (at.node().is_map() && at.node().find("to") == nullptr) reader.missing(at, "to");
  if (!to) return std::nullopt;
  transition.to = *to;
  return transition;
}

// HotMesh keeps transitions in a map by target: the last one written counts.
bool replace_same(Transition& transition, const Reader& reader, Graph& graph) {
  for (Transition& other : graph.transitions) {
    if (other.from != transition.from || other.to != transition.to) continue;
    reader.report(transition.where, Code::duplicate_transition,
                  format("'{}' leads to '{}' already; this one takes its place", graph.activities[other.from].id,
                         graph.activities[other.to].id));
    other = std::move(transition);
    return true;
  }
  return false;
}

void read_hook_rule(const Cursor& at, const Reader& reader, const Ids& ids, const std::string& topic, Graph& graph) {
  std::optional<ActivityIndex> to;
  std::vector<HookMatch> matches;
  Where where = at.where();
  const auto read_one = [&](const Cursor& here) {
    OptionalFormula actual, expected_formula;
    const Node* expected = nullptr;
    if (read_sides(here, reader, actual, expected, expected_formula, false))
      matches.push_back(
          {std::move(*expected_formula), std::move(*actual), mapping::json_text(to_json(*here.node().find("actual")))});
  };
  const Key condition_keys[] = {
      {"gate",
       [&](const Cursor& key) {
         if (reader.choice(key, gate_words).value_or(0) == 1)
           reader.report(key, Code::bad_hook, "a waiting hook has one key: all its matches must hold");
       }},
      {"match",
       [&](const Cursor& key) {
         if (!reader.expect_list(key)) return;
         for (std::size_t i = 0; i < key.node().items.size(); ++i) read_one(Cursor(key, i));
       }},
  };
  const Key keys[] = {
      {"to",
       [&](const Cursor& key) {
         where = key.where();
         if (const auto id = reader.text(key)) to = ids.find(reader, where, *id);
       }},
      {"conditions", [&](const Cursor& key) { reader.keys(key, Level::hook_conditions, condition_keys); }},
  };
  reader.keys(at, Level::hook_rule, keys);
  if (at.node().is_map() && at.node().find("to") == nullptr) reader.missing(at, "to");
  if (!to) return;
  auto* hook = std::get_if<Hook>(&graph.activities[*to].kind);
  if (hook == nullptr) {
    reader.report(where, Code::bad_hook,
                  format("'{}' is a {}; only a hook waits for signals", graph.activities[*to].id,
                         name_of(graph.activities[*to].kind)));
    return;
  }
  if (hook->topic) {
    reader.report(where, Code::bad_hook, format("'{}' already waits for '{}'", graph.activities[*to].id, *hook->topic));
    return;
  }
  const Node* conditions = at.node().find("conditions");
  if (conditions == nullptr || conditions->find("match") == nullptr || conditions->find("match")->items.empty())
    reader.report(where, Code::bad_hook, "a hook rule needs a match, the key that finds the waiting job");
  // Under compat only the first match counts, as in HotMesh.
  if (reader.dialect() == Dialect::hotmesh && matches.size() > 1) matches.erase(matches.begin() + 1, matches.end());
  if (matches.empty()) return;  // without a key no signal can find it
  hook->topic = topic;
  hook->matches = std::move(matches);
}

}  // namespace

void read_transitions(const Cursor& at, const Reader& reader, Graph& graph) {
  if (!reader.expect_map(at)) return;
  const Ids ids(graph);
  std::size_t count = 0;
  for (const Entry& entry : at.node().entries) {
    const Cursor list(at, entry);
    const auto from = ids.find(reader, Where{entry.mark, list.path()}, entry.key);
    if (!reader.expect_list(list)) continue;
    count += list.node().items.size();
    if (count > transitions_max) {
      reader.report(list, Code::over_limit, format("more than {} transitions", transitions_max));
      return;
    }
    for (std::size_t i = 0; i < list.node().items.size(); ++i) {
      auto transition = read_transition(Cursor(list, i), reader, ids);
      if (!transition || !from) continue;
      transition->from = *from;
      if (reader.dialect() == Dialect::hotmesh && replace_same(*transition, reader, graph)) continue;
      graph.transitions.push_back(std::move(*transition));
    }
  }
}

void read_hooks(const Cursor& at, const Reader& reader, Graph& graph) {
  if (!reader.expect_map(at)) return;
  const Ids ids(graph);
  for (const Entry& entry : at.node().entries) {
    const Cursor list(at, entry);
    if (!reader.expect_list(list)) continue;
    for (std::size_t i = 0; i < list.node().items.size(); ++i)
      read_hook_rule(Cursor(list, i), reader, ids, entry.key, graph);
  }
}

}  // namespace pawl::graph
