// Walks a source and builds nodes, collecting every mistake on the way. compile.cc has values and
// names, compile_text.cc texts with holes and infix expressions, compile_pipe.cc pipes.
#pragma once

#include "mapping/compiled.h"
#include "mapping/infix.h"
#include "mapping/reference.h"
#include "mapping/template.h"

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::mapping {

class Compiler {
 public:
  explicit Compiler(const CompileOptions& options) : compat_(options.compat_hotmesh) {}

  CompileResult run(const boost::json::value& source);

 private:
  // Extends the source path during its lifetime.
  class Step {
   public:
    Step(Compiler& compiler, std::string_view key);
    Step(Compiler& compiler, std::size_t index);
    ~Step() { path_.resize(size_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    std::string& path_;
    std::size_t size_;
  };

  // How many operands wait for the next row of a pipe.
  struct Flow {
    std::size_t operands = 0;
    std::size_t queued = 0;
    bool in_body = false;  // of @reduce: the accumulator is operand 0 from the start
  };

  Node compile_value(const boost::json::value& source);
  Node compile_text(std::string_view text);
  Node compile_map(const boost::json::object& source);
  Node compile_list(const boost::json::array& source);
  Node compile_cell(const boost::json::value& source);
  Node compile_function(std::string_view name);
  Node compile_reference(ReferenceText text);
  // One {hole}: the text between its braces.
  Node compile_name(std::string_view name);

  // compile_text.cc: texts with holes, infix expressions.
  Node compile_template(std::string_view text);
  Node compile_segment(const Segment& segment);
  Node compile_term(Term term);
  Node compile_chain(Term term);
  Node compile_named_call(Term term);
  Node call_of(const Function& function, std::vector<Node> operands);
  void doubt_literal(std::string_view text);
  void doubt_template(std::string_view text, const std::vector<Segment>& segments);
  bool count_node();

  Node compile_pipe(const boost::json::object& source);
  PipeNode compile_rows(const boost::json::value& source, Flow flow);
  void compile_list_row(const boost::json::array& cells, Flow& flow, PipeNode& pipe);
  void compile_head(const boost::json::value& cell, std::size_t operand_count, Row& row);
  void compile_object_row(const boost::json::object& source, Flow& flow, PipeNode& pipe);
  void compile_reduce(const boost::json::value& source, Flow& flow, PipeNode& pipe);
  void check_end(const Flow& flow, PipeNode& pipe);

  const Function* look_up_function(std::string_view name);
  void check_count(const Function& function, std::size_t count, std::string_view given = "the row before gives");
  bool only_key(const boost::json::object& source, std::string_view key);
  void mistake(std::string message, std::string suggestion = {});
  void doubt(std::string message, std::string suggestion);

  const bool compat_;
  std::string path_;
  std::size_t at_ = 0;  // inside the text at path_
  std::vector<Mistake> mistakes_;
  std::vector<Mistake> doubts_;
  std::vector<Reference> references_;
  std::size_t depth_ = 0;
  std::size_t nodes_ = 0;
  bool reducing_ = false;
};

}  // namespace pawl::mapping
