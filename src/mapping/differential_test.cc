// Compiled expressions against an interpreter that walks the source itself: written separately from the compiler, it
// shares only the functions and JSON. Random sources and data; any difference prints the source and the seed.
#include "mapping/convert.h"
#include "mapping/functions/functions.h"
#include "mapping/test_support.h"

#include "base/format.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cmath>
#include <optional>

namespace pawl::mapping {
namespace {

namespace json = boost::json;

// nullopt is "missing"; non-finite numbers are ordinary doubles here.
using Value = std::optional<json::value>;

struct Variables {
  Value input, output, item, key, index;
};

struct Failed {};  // an evaluation error; the test compares whether there is one, not which

class Interpreter {
 public:
  Interpreter(const json::value& document, Call& call) : document_(document), call_(call) {}

  // What evaluate() would return.
  json::value result(const json::value& source) {
    const Value value = walk(source, nullptr);
    return value ? element(*value) : json::value();
  }

 private:
  static json::value element(const json::value& value) {
    const double* number = value.if_double();
    if (number != nullptr && !std::isfinite(*number)) return nullptr;
    if (number != nullptr && *number == 0) return 0;
    return value;
  }

  Value walk(const json::value& source, const Variables* variables) {
    if (source.is_string()) return text(std::string(source.get_string()), variables);
    if (source.is_array()) {
      json::array out;
      for (const json::value& part : source.get_array()) {
        const Value value = walk(part, variables);
        out.push_back(value ? element(*value) : json::value());
      }
      return json::value(std::move(out));
    }
    if (!source.is_object()) return source;
    if (const json::value* rows = source.get_object().if_contains("@pipe"))
      return pipe(rows->get_array(), {}, false, variables);
    json::object out;
    for (const json::key_value_pair& member : source.get_object())
      if (const Value value = walk(member.value(), variables)) out[member.key()] = element(*value);
    return json::value(std::move(out));
  }

  Value text(const std::string& source, const Variables* variables) {
    if (source.size() < 2 || source.front() != '{' || source.back() != '}') return json::value(source);
    const std::string inner = source.substr(1, source.size() - 2);
    if (inner.size() >= 2 && inner.front() == '{' && inner.back() == '}') return json::value(inner);
    if (inner[0] == '@') return call(inner.substr(1), {});
    std::vector<std::string> parts;
    std::string part;
    for (const char c : inner + ".") {
      if (c == '.') {
        parts.push_back(std::exchange(part, ""));
      } else {
        part += c;
      }
    }
    Value at;
    const std::string scope = parts[0];
    if (scope == "$input" || scope == "$output" || scope == "$item" || scope == "$key" || scope == "$index") {
      at = scope == "$input"    ? variables->input
           : scope == "$output" ? variables->output
           : scope == "$item"   ? variables->item
           : scope == "$key"    ? variables->key
                                : variables->index;
    } else if (const json::value* found = document_.get_object().if_contains(scope)) {
      at = *found;
    }
    for (std::size_t i = 1; i < parts.size(); ++i) at = at ? step(*at, parts[i]) : Value();
    return at;
  }

  static Value step(const json::value& value, const std::string& name) {
    if (value.is_object()) {
      const json::value* found = value.get_object().if_contains(name);
      return found == nullptr ? Value() : Value(*found);
    }
    if (!value.is_array()) return {};
    const json::array& array = value.get_array();
    if (name == "length") return json::value(static_cast<std::int64_t>(array.size()));
    for (std::size_t i = 0; i < array.size(); ++i)
      if (std::to_string(i) == name) return array[i];
    return {};
  }

  Value call(const std::string& name, const std::vector<Value>& values) {
    std::vector<Operand> operands;
    for (const Value& value : values) operands.push_back(value ? Operand(*value) : Operand());
    auto result = invoke(*find_function(name), call_, operands);
    if (!result || call_.budget.exhausted()) throw Failed{};
    return result->missing() ? Value() : Value(result->value());
  }

  Value pipe(const json::array& rows, std::vector<Value> operands, bool seeded, const Variables* variables) {
    std::vector<Value> queue;
    bool first = !seeded;
    for (const json::value& row : rows) {
      if (const json::object* object = row.if_object()) {
        if (object->contains("@pipe")) {
          queue.push_back(walk(row, variables));
        } else {
          if (!queue.empty()) operands = std::exchange(queue, {});
          operands = {reduce(object->at("@reduce").get_array(), operands)};
        }
        first = false;
        continue;
      }
      const json::array& cells = row.get_array();
      if (!queue.empty()) operands = std::exchange(queue, {});
      std::vector<Value> next;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string head = !first && i == 0 ? std::string(cells[0].get_string()) : "";
        next.push_back(head.starts_with("{@") ? call(head.substr(2, head.size() - 3), operands)
                                              : walk(cells[i], variables));
      }
      operands = next;
      first = false;
    }
    return operands[0];
  }

  Value reduce(const json::array& body, const std::vector<Value>& operands) {
    Value accumulator = operands.size() > 1 && operands[1] ? operands[1] : Value(json::value());
    const Value collection = operands[0];
    if (!collection || collection->is_null()) return accumulator;
    std::vector<std::pair<std::string, json::value>> members;
    if (collection->is_array()) {
      for (const json::value& value : collection->get_array())
        members.emplace_back(std::to_string(members.size()), value);
    } else if (collection->is_object()) {
      for (const json::key_value_pair& member : collection->get_object())
        members.emplace_back(member.key(), member.value());
    } else {
      throw Failed{};
    }
    std::int64_t index = 0;
    for (const auto& [key, value] : members) {
      const Variables variables{collection, accumulator, value, json::value(key), json::value(index++)};
      accumulator = pipe(body, {accumulator}, true, &variables);
    }
    return accumulator;
  }

  const json::value& document_;
  Call& call_;
};

// Random sources that compile: every row gets a function that takes the number of operands that reach it.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  json::value source(int depth) {
    switch (random_.below(depth > 0 ? 6 : 2)) {
      case 0:
        return literal();
      case 1:
        return json::value(reference());
      case 2: {
        json::array out;
        for (std::uint64_t i = random_.below(4); i > 0; --i) out.push_back(source(depth - 1));
        return out;
      }
      case 3: {
        json::object out;
        for (std::uint64_t i = random_.below(4); i > 0; --i) out[key()] = source(depth - 1);
        return out;
      }
      default:
        return json::object{{"@pipe", rows(depth, false)}};
    }
  }

 private:
  json::array rows(int depth, bool seeded) {
    json::array out;
    std::size_t operands = seeded ? 1 : 0;
    std::size_t queued = 0;
    const std::uint64_t count = 1 + random_.below(4);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t choice = random_.below(8);
      if (choice == 0 && depth > 0) {
        out.push_back(json::object{{"@pipe", rows(depth - 1, false)}});
        ++queued;
      } else if (choice == 1 && depth > 0 && (queued > 0 ? queued : operands) == 2) {
        const bool outer = std::exchange(reducing_, true);
        out.push_back(json::object{{"@reduce", rows(depth - 1, true)}});
        reducing_ = outer;
        operands = 1;
        queued = 0;
      } else {
        out.push_back(list_row(depth, out.empty() && !seeded, queued > 0 ? queued : operands, operands));
        queued = 0;
      }
    }
    if (queued > 0) out.push_back(list_row(0, false, queued, operands));
    return out;
  }

  json::array list_row(int depth, bool first, std::size_t arriving, std::size_t& operands) {
    json::array cells;
    if (!first && reducing_ && random_.one_in(3)) {
      cells.push_back(json::value(variable()));
    } else if (!first) {
      cells.push_back(json::value("{@" + function(arriving) + "}"));
    }
    for (std::uint64_t i = random_.below(3) + (first ? 1 : 0); i > 0; --i) cells.push_back(source(depth - 1));
    operands = cells.size();
    return cells;
  }

  std::string function(std::size_t count) {
    const auto all = all_functions();
    while (true) {
      const Function& candidate = all[random_.below(all.size())];
      const bool fits = count >= candidate.count_min && count <= candidate.count_max;
      if (fits && candidate.name != "math.random") return std::string(candidate.name);
    }
  }

  json::value literal() {
    static const json::value choices = json_of(
        R"([0, 1, -1, 2.5, 1e21, "", "a", "b,c", "12", "é😀", "{{x}}", "/t", null, true, false, [], {}, [1, [2]],
            {"a": {"b": 1}}, "2024-02-29T13:05:09Z", "0 0 * * *", "DESCENDING", 100])");
    const json::array& all = choices.get_array();
    return all[random_.below(all.size())];
  }

  std::string reference() {
    static constexpr const char* choices[] = {"{act.output.data}",
                                              "{act.output.data.list}",
                                              "{act.output.data.list.1}",
                                              "{act.output.data.o.k}",
                                              "{act.output.data.missing}",
                                              "{$self.input.data.n}",
                                              "{$self.input.data.s}",
                                              "{$job.data}",
                                              "{$job.data.list.length}",
                                              "{$job.metadata.jid}",
                                              "{none.output.data}",
                                              "{@date.now}",
                                              "{@symbol.NaN}",
                                              "{@symbol.undefined}",
                                              "{@symbol.object}",
                                              "{@symbol.array}"};
    if (reducing_ && random_.one_in(2)) return variable();
    return choices[random_.below(std::size(choices))];
  }

  std::string variable() {
    static constexpr const char* choices[] = {"{$item}",   "{$key}",     "{$index}",   "{$input}",
                                              "{$output}", "{$item.id}", "{$output.a}"};
    return choices[random_.below(std::size(choices))];
  }

  std::string key() { return std::string(1, static_cast<char>('a' + random_.below(4))); }

  Random random_;
  bool reducing_ = false;
};

TEST(Differential, compiled_and_interpreted_agree) {
  const json::value document = json_of(R"({
    "act": {"output": {"data": {"list": [{"id": 3}, {"id": 1}, "x"], "o": {"k": [1, 2, 3]}}}},
    "$self": {"input": {"data": {"n": 4, "s": "Hello, World"}}},
    "$job": {"data": {"list": ["b", "a", "C"], "flag": true}, "metadata": {"jid": "j-1"}}})");
  const DataDocument view(document);
  int succeeded = 0;
  constexpr int rounds = 20'000;
  for (std::uint64_t seed = 1; seed <= rounds; ++seed) {
    const json::value source = Generator(seed).source(4);
    const CompileResult compiled = compile(source);
    ASSERT_TRUE(compiled.expression) << "seed " << seed << " " << json_text(source) << describe(compiled.mistakes);
    Data data = view.data();
    data.now = test_now;
    Budget budget;
    const auto result = compiled.expression->evaluate(data, budget);

    Budget interpreter_budget;
    Call call{data, interpreter_budget, false};
    std::optional<json::value> expected;
    try {
      expected = Interpreter(document, call).result(source);
    } catch (const Failed&) {
    }
    if (budget.exhausted() || interpreter_budget.exhausted()) continue;  // they spend differently
    ASSERT_EQ(result.ok(), expected.has_value())
        << "seed " << seed << " " << json_text(source) << (result ? "" : to_string(result.error()));
    if (!result) continue;
    ++succeeded;
    ASSERT_EQ(json_text(*result), json_text(*expected)) << "seed " << seed << " " << json_text(source);
  }
  EXPECT_GT(succeeded, rounds / 3);  // if everything failed, both would agree too
}

}  // namespace
}  // namespace pawl::mapping
