// Pipes: rows, heads and reduce bodies. How many operands reach each row is known here, so a wrong
// count is a mistake of the source, not a failure of a job.
#include "mapping/compiler.h"
#include "mapping/reference.h"

#include "base/format.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

constexpr std::string_view pipe_key = "@pipe";
constexpr std::string_view reduce_key = "@reduce";

// Every read of the accumulator of this body; a reduce inside has its own.
void collect_output_reads(Node& node, std::vector<ReferenceNode*>& reads);

void collect_output_reads(PipeNode& pipe, std::vector<ReferenceNode*>& reads) {
  for (Row& row : pipe.rows)
    for (Node& cell : row.cells) collect_output_reads(cell, reads);
}

void collect_output_reads(Node& node, std::vector<ReferenceNode*>& reads) {
  if (auto* reference = std::get_if<ReferenceNode>(&node.body)) {
    if (reference->scope == Scope::output) reads.push_back(reference);
  } else if (auto* map = std::get_if<MapNode>(&node.body)) {
    for (MapEntry& entry : map->entries) collect_output_reads(entry.value, reads);
  } else if (auto* list = std::get_if<ListNode>(&node.body)) {
    for (Node& element : list->elements) collect_output_reads(element, reads);
  } else if (auto* choice = std::get_if<ChoiceNode>(&node.body)) {
    for (Node& part : choice->parts) collect_output_reads(part, reads);
  } else if (auto* pipe = std::get_if<PipeNode>(&node.body)) {
    collect_output_reads(*pipe, reads);
  }
}

// Whether the body's first row uses the accumulator as its operands; a nested pipe replaces it.
bool reads_seed(const PipeNode& body) {
  if (body.rows.empty()) return false;
  return body.rows[0].kind == Row::Kind::call || body.rows[0].kind == Row::Kind::reduce;
}

// An accumulator with one reader can be moved instead of copied: then building a list of n elements takes n steps, not
// n * n.
void mark_sole_reader(Row& row) {
  std::vector<ReferenceNode*> reads;
  collect_output_reads(row.body, reads);
  row.takes_seed = reads.empty();
  if (reads.size() == 1 && reads[0]->rest.empty() && !reads_seed(row.body)) reads[0]->takes = true;
}

bool is_reduce_variable(const Node& node) {
  const auto* reference = std::get_if<ReferenceNode>(&node.body);
  return reference != nullptr && reference->scope >= Scope::item;
}

std::string count_text(const Function& function) {
  if (function.count_max == any_count) return format("{} or more", function.count_min);
  if (function.count_min == function.count_max) return format("{}", function.count_min);
  return format("{} to {}", function.count_min, function.count_max);
}

// "math.add" and "@math.add" probably mean "{@math.add}".
std::string function_meant(std::string_view text) {
  if (text.starts_with('{')) text.remove_prefix(1);
  if (text.ends_with('}')) text.remove_suffix(1);
  if (text.starts_with('@')) text.remove_prefix(1);
  return find_function(text) == nullptr ? "" : format("{{@{}}}", text);
}

}  // namespace

bool Compiler::only_key(const json::object& source, std::string_view key) {
  if (source.size() == 1 || compat_) return true;
  for (const json::key_value_pair& member : source) {
    if (member.key() == key) continue;
    const Step step(*this, std::string_view(member.key()));
    mistake(format("a key beside {} is never read", key));
  }
  return false;
}

Node Compiler::compile_pipe(const json::object& source) {
  (void)only_key(source, pipe_key);
  const Step step(*this, pipe_key);
  return Node{compile_rows(source.at(pipe_key), {})};
}

PipeNode Compiler::compile_rows(const json::value& source, Flow flow) {
  PipeNode pipe;
  const json::array* rows = source.if_array();
  if (rows == nullptr || rows->empty()) {
    mistake("wants a list of rows");
    return pipe;
  }
  pipe.rows.reserve(rows->size());
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const Step step(*this, i);
    if (const json::array* cells = (*rows)[i].if_array()) {
      compile_list_row(*cells, flow, pipe);
    } else if (const json::object* object = (*rows)[i].if_object()) {
      compile_object_row(*object, flow, pipe);
    } else {
      mistake("a row is a list of cells, an @pipe or a @reduce");
    }
  }
  check_end(flow, pipe);
  return pipe;
}

void Compiler::compile_list_row(const json::array& cells, Flow& flow, PipeNode& pipe) {
  Row row{};
  row.path = path_;
  if (cells.empty()) {
    mistake("a row wants at least one cell");
    return;
  }
  std::size_t first = 0;
  if (pipe.rows.empty() && !flow.in_body) {
    row.kind = Row::Kind::values;
  } else {
    const Step step(*this, std::size_t{0});
    compile_head(cells[0], flow.queued > 0 ? flow.queued : flow.operands, row);
    first = 1;
  }
  for (std::size_t i = first; i < cells.size(); ++i) {
    const Step step(*this, i);
    row.cells.push_back(compile_cell(cells[i]));
  }
  flow.operands = cells.size();
  flow.queued = 0;
  pipe.rows.push_back(std::move(row));
}

void Compiler::compile_head(const json::value& cell, std::size_t operand_count, Row& row) {
  row.kind = Row::Kind::call;
  const json::string* text = cell.if_string();
  const SourceText read = text == nullptr ? SourceText(LiteralText{}) : read_source_text(*text);
  if (const auto* function = std::get_if<FunctionText>(&read)) {
    row.function = look_up_function(function->name);
    if (row.function != nullptr) check_count(*row.function, operand_count);
    return;
  }
  if (std::holds_alternative<ReferenceText>(read)) {
    row.kind = Row::Kind::look_up;
    row.cells.push_back(compile_text(*text));
    if (is_reduce_variable(row.cells.back())) return;
  }
  mistake("a row after the first begins with a function, such as {@math.add}",
          text == nullptr ? "" : function_meant(*text));
}

void Compiler::check_count(const Function& function, std::size_t count, std::string_view given) {
  if (compat_ || (count >= function.count_min && (function.count_max == any_count || count <= function.count_max)))
    return;
  mistake(format("{} wants {} operands, {} {}", function.name, count_text(function), given, count));
}

void Compiler::compile_object_row(const json::object& source, Flow& flow, PipeNode& pipe) {
  const bool nested = source.contains(pipe_key);
  if (!nested && !source.contains(reduce_key)) {
    mistake("a row is a list of cells, an @pipe or a @reduce");
    return;
  }
  if (depth_ >= expression_depth_max) {
    mistake(format("an expression nests at most {} deep", expression_depth_max));
    return;
  }
  ++depth_;
  if (nested) {
    Row row{};
    row.kind = Row::Kind::nested;
    row.path = path_;
    row.cells.push_back(compile_pipe(source));
    ++flow.queued;
    pipe.rows.push_back(std::move(row));
  } else {
    (void)only_key(source, reduce_key);
    const Step step(*this, reduce_key);
    compile_reduce(source.at(reduce_key), flow, pipe);
  }
  --depth_;
}

void Compiler::compile_reduce(const json::value& source, Flow& flow, PipeNode& pipe) {
  const std::size_t count = flow.queued > 0 ? flow.queued : flow.operands;
  if (count == 0 || (count > 2 && !compat_)) mistake("@reduce wants the row before it to be [collection, initial]");
  Row row{};
  row.kind = Row::Kind::reduce;
  row.path = path_;
  const bool outer = reducing_;
  reducing_ = true;
  row.body = compile_rows(source, {.operands = 1, .queued = 0, .in_body = true});
  reducing_ = outer;
  mark_sole_reader(row);
  flow.operands = 1;
  flow.queued = 0;
  pipe.rows.push_back(std::move(row));
}

void Compiler::check_end(const Flow& flow, PipeNode& pipe) {
  const bool yields =
      std::any_of(pipe.rows.begin(), pipe.rows.end(), [](const Row& row) { return row.kind != Row::Kind::nested; });
  if (!yields) {
    mistake("nested pipes alone give no result: end with a row that uses theirs");
    return;
  }
  if (flow.queued == 0) return;
  if (!compat_) mistake("the last nested @pipe has no row after it that uses its result");
  for (std::size_t i = pipe.rows.size() - flow.queued; i < pipe.rows.size(); ++i)
    pipe.rows[i].kind = Row::Kind::discarded;
}

}  // namespace pawl::mapping
