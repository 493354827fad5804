#include "mapping/compiled.h"
#include "mapping/convert.h"
#include "mapping/functions/operands.h"
#include "mapping/key_order.h"
#include "mapping/reference.h"

#include "base/format.h"
#include "base/invariant.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <cmath>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

Error over_budget() { return Error{ErrorCode::over_limit, "the expression does more work than its budget allows"}; }

// Bytes of text, or elements, that count as one step for a function that scans its operands.
constexpr std::uint64_t scanned_per_step = 64;

std::uint64_t scan_steps(Operands operands) {
  std::uint64_t size = 0;
  for (const Operand& operand : operands) {
    const json::value& value = operand.value();
    if (value.is_string()) size += value.get_string().size();
    if (value.is_array()) size += value.get_array().size();
    if (value.is_object()) size += value.get_object().size();
  }
  return size / scanned_per_step;
}

class Evaluator {
 public:
  Evaluator(const Compiled& compiled, const Data& data, Budget& budget)
      : call_{data, budget, compiled.compat_hotmesh} {}

  Result<Operand> run(const Node& node) {
    if (!call_.budget.spend_steps(1)) return over_budget();
    if (const auto* literal = std::get_if<LiteralNode>(&node.body)) return Operand::borrow(literal->value);
    if (const auto* reference = std::get_if<ReferenceNode>(&node.body)) return run_reference(*reference);
    if (const auto* call = std::get_if<CallNode>(&node.body)) return run_call(*call->function, {}, call->path);
    if (const auto* map = std::get_if<MapNode>(&node.body)) return run_map(*map);
    if (const auto* list = std::get_if<ListNode>(&node.body)) return run_list(*list);
    if (const auto* choice = std::get_if<ChoiceNode>(&node.body)) return run_choice(*choice);
    return run_pipe(std::get<PipeNode>(node.body), {});
  }

  // The operand as plain JSON.
  Result<json::value> finish(Operand operand) {
    if (call_.compat_hotmesh && (operand.value().is_object() || operand.value().is_array())) {
      if (!own(call_, operand) || !order_keys(operand.owned_value(), call_.budget)) return over_budget();
    }
    if (!operand.owned()) {
      if (!charge_copy(operand.value(), call_.budget)) return over_budget();
      return operand.value();
    }
    if (const double* number = operand.value().if_double()) {
      if (!std::isfinite(*number)) return json::value();
      if (*number == 0) return json::value(std::int64_t{0});
    }
    return std::move(operand.owned_value());
  }

 private:
  Result<Operand> run_reference(const ReferenceNode& node) {
    Operand operand = resolve(node, call_.data, frame_);
    if (operand.missing()) return Operand::missing_at(node.written);
    // Referring to a value is free; building an object of sections is not.
    const bool made = operand.owned() && !node.takes && operand.value().is_object();
    if (made && !charge_copy(operand.value(), call_.budget)) return over_budget();
    return operand;
  }

  Result<Operand> run_map(const MapNode& map) {
    json::object out;
    out.reserve(map.entries.size());
    for (const MapEntry& entry : map.entries) {
      auto operand = run(entry.value);
      if (!operand) return operand;
      if (operand->missing()) continue;  // as JSON leaves out undefined
      auto element = as_element(call_, *operand);
      if (!element) return element.error();
      if (!call_.budget.spend_bytes(entry.key.size())) return over_budget();
      out.emplace(entry.key, std::move(*element));
    }
    return Operand(std::move(out));
  }

  Result<Operand> run_list(const ListNode& list) {
    json::array out;
    out.reserve(list.elements.size());
    for (const Node& node : list.elements) {
      auto operand = run(node);
      if (!operand) return operand;
      auto element = as_element(call_, *operand);
      if (!element) return element.error();
      if (call_.budget.exhausted()) return over_budget();
      out.push_back(std::move(*element));
    }
    return Operand(std::move(out));
  }

  Result<Operand> run_choice(const ChoiceNode& choice) {
    using Kind = ChoiceNode::Kind;
    if (choice.kind == Kind::if_true) {
      const auto condition = run(choice.parts[0]);
      if (!condition) return condition;
      return run(choice.parts[truthy(*condition) ? 1 : 2]);
    }
    for (std::size_t i = 0; i + 1 < choice.parts.size(); ++i) {
      auto part = run(choice.parts[i]);
      if (!part) return part;
      const bool decides = choice.kind == Kind::all   ? !truthy(*part)
                           : choice.kind == Kind::any ? truthy(*part)
                                                      : !part->nullish();
      if (decides) return part;
    }
    return run(choice.parts.back());
  }

  Result<Operand> run_call(const Function& function, Operands operands, const std::string& path) {
    const std::uint64_t steps = function.work == Work::scans ? scan_steps(operands) : 0;
    if (!call_.budget.spend_steps(1 + steps)) return over_budget();
    Result<Operand> result =
        fits(function, operands.size()) ? invoke(function, call_, operands) : call_padded(function, operands);
    if (call_.budget.exhausted()) return over_budget();
    if (result) return result;
    return Error{result.error().code,
                 format("{}{}{}: {}", path, path.empty() ? "" : ": ", function.name, result.error().detail)};
  }

  static bool fits(const Function& function, std::size_t count) {
    return count >= function.count_min && (function.count_max == any_count || count <= function.count_max);
  }

  // Only in compat_hotmesh: JavaScript ignores surplus operands and uses undefined for missing ones.
  Result<Operand> call_padded(const Function& function, Operands operands) {
    if (operands.size() > function.count_max) return function.body(call_, operands.first(function.count_max));
    std::vector<Operand> padded(std::make_move_iterator(operands.begin()), std::make_move_iterator(operands.end()));
    padded.resize(function.count_min);
    return function.body(call_, padded);
  }

  // The result is operand 0 of the last row.
  Result<Operand> run_pipe(const PipeNode& pipe, std::vector<Operand> operands) {
    std::vector<Operand> queue;
    for (const Row& row : pipe.rows) {
      if (!call_.budget.spend_steps(1)) return over_budget();
      if (row.kind == Row::Kind::nested || row.kind == Row::Kind::discarded) {
        auto result = run(row.cells[0]);
        if (!result) return result;
        if (row.kind == Row::Kind::nested) queue.push_back(std::move(*result));
        continue;
      }
      if (!queue.empty()) operands.swap(queue);
      queue.clear();
      if (const auto done = run_row(row, operands); !done) return done.error();
    }
    invariant(!operands.empty(), "a compiled pipe ends with an operand");
    return std::move(operands[0]);
  }

  Status run_row(const Row& row, std::vector<Operand>& operands) {
    if (row.kind == Row::Kind::call) {
      auto result = run_call(*row.function, operands, row.path);
      if (!result) return result.error();
      operands.clear();
      operands.push_back(std::move(*result));
    } else if (row.kind == Row::Kind::reduce) {
      auto result = run_reduce(row, operands);
      if (!result) return result.error();
      operands.clear();
      operands.push_back(std::move(*result));
      return {};
    } else {
      operands.clear();
    }
    operands.reserve(operands.size() + row.cells.size());
    for (const Node& cell : row.cells) {
      auto operand = run(cell);
      if (!operand) return operand.error();
      operands.push_back(std::move(*operand));
    }
    return {};
  }

  Result<Operand> run_reduce(const Row& row, std::vector<Operand>& operands) {
    const Operand collection = std::move(operands[0]);
    Operand initial = operands.size() > 1 && !operands[1].missing() ? std::move(operands[1]) : Operand::null();
    if (const auto owned = own(call_, initial); !owned) return over_budget();
    const json::value& value = collection.value();
    if (value.is_null()) return initial;
    if (!value.is_array() && !value.is_object()) {
      return Error{ErrorCode::invalid,
                   format("{}: @reduce wants an array or an object, got {}", row.path, kind_name(collection))};
    }
    ReduceFrame frame{&value, std::move(initial), {}, {}, {}};
    ReduceFrame* const outer = frame_;
    frame_ = &frame;
    const Status done =
        value.is_array() ? reduce_array(row, value.get_array(), frame) : reduce_object(row, value.get_object(), frame);
    frame_ = outer;
    if (!done) return done.error();
    return std::move(frame.output);
  }

  Status reduce_array(const Row& row, const json::array& array, ReduceFrame& frame) {
    for (std::size_t i = 0; i < array.size(); ++i) {
      frame.item = Operand::borrow(array[i]);
      frame.key = Operand::text(fmt::format_int(i).c_str());
      frame.index = Operand(json::value(static_cast<std::int64_t>(i)));
      if (const auto done = reduce_step(row, frame); !done) return done;
    }
    return {};
  }

  Status reduce_object(const Row& row, const json::object& object, ReduceFrame& frame) {
    std::int64_t index = 0;
    const auto visit = [&](const json::key_value_pair& member) {
      frame.item = Operand::borrow(member.value());
      frame.key = Operand::text(member.key());
      frame.index = Operand(json::value(index++));
      return reduce_step(row, frame);
    };
    if (call_.compat_hotmesh) {
      if (!call_.budget.spend_steps(object.size())) return over_budget();
      for (const json::key_value_pair* member : in_javascript_order(object))
        if (const auto done = visit(*member); !done) return done;
      return {};
    }
    for (const json::key_value_pair& member : object)
      if (const auto done = visit(member); !done) return done;
    return {};
  }

  // One element: the body's result becomes the accumulator, as an owned value, because it may refer to the frame.
  Status reduce_step(const Row& row, ReduceFrame& frame) {
    std::vector<Operand> seed(1);
    if (row.takes_seed) {
      seed[0] = std::move(frame.output);
    } else if (!frame.output.missing()) {
      seed[0] = Operand::borrow(frame.output.value());
    }
    auto result = run_pipe(row.body, std::move(seed));
    if (!result) return result.error();
    if (result->missing()) {
      frame.output = Operand();
      return {};
    }
    if (!own(call_, *result)) return over_budget();
    frame.output = std::move(*result);
    return {};
  }

  Call call_;
  ReduceFrame* frame_ = nullptr;  // of the innermost active @reduce
};

}  // namespace

Result<json::value> Expression::evaluate(const Data& data, Budget& budget) const {
  Evaluator evaluator(*compiled_, data, budget);
  auto operand = evaluator.run(compiled_->root);
  if (!operand) return operand.error();
  return evaluator.finish(std::move(*operand));
}

}  // namespace pawl::mapping
