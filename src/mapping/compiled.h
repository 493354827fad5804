// A compiled source: a tree of nodes in which every reference is split, every function found and every literal stored
// once. Private to this folder; expression.h is the entry.
#pragma once

#include "mapping/expression.h"
#include "mapping/functions/functions.h"

#include <boost/json/value.hpp>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace pawl::mapping {

struct Node;

struct LiteralNode {
  boost::json::value value;
};

// One name after the scope. `index` is set when the name is also the index of an array element.
struct PathPart {
  std::string name;
  std::optional<std::size_t> index;
};

using ValueOf = const boost::json::value* ActivityValues::*;

struct ReferenceNode {
  // How much of the fixed structure before the data the reference names.
  enum class Reach : std::uint8_t {
    nothing,  // no such name: always missing (only in compat_hotmesh)
    whole,    // {act}, {$job}: an object of sections is made
    section,  // {act.output}: an object of data and metadata is made
    value,    // {act.output.data...}, {$item...}: a borrowed value, then `rest` is walked
  };
  Scope scope;
  Reach reach = Reach::value;
  std::string activity;
  std::size_t section = 0;  // index into activity_sections (reference.h)
  bool metadata = false;    // the second of the two values of a section
  std::vector<PathPart> rest;
  std::string written{};  // for errors: "$job.data.sum"
  bool takes = false;     // the only reader of the accumulator: may move it out instead of copying
};

// A function without operands: {@date.now}.
struct CallNode {
  const Function* function;
  std::string path;
};

struct MapEntry;
struct MapNode {
  std::vector<MapEntry> entries;
};

struct ListNode {
  std::vector<Node> elements;
};

struct Row;
struct PipeNode {
  std::vector<Row> rows;
};

// Evaluates only what it needs. if_true is cond ? yes : no with three parts; the others have two or more, and the
// value is the first part that decides, or the last one.
struct ChoiceNode {
  enum class Kind : std::uint8_t { if_true, all, any, not_null };
  Kind kind;
  std::vector<Node> parts;
};

struct Node {
  std::variant<LiteralNode, ReferenceNode, CallNode, MapNode, ListNode, PipeNode, ChoiceNode> body;
};

struct MapEntry {
  std::string key;
  Node value;
};

struct Row {
  enum class Kind : std::uint8_t {
    values,     // the first row: cells become the operands
    call,       // function over the operands, then cells are appended
    look_up,    // a reduce variable instead of a function, then cells
    nested,     // an inner pipe: its result is queued for the next call
    reduce,     // the body is evaluated per element
    discarded,  // a nested pipe after the last row (only in compat_hotmesh)
  };
  Kind kind;
  const Function* function = nullptr;
  std::vector<Node> cells;  // look_up: the first is the variable; nested, discarded: the only one is the pipe
  PipeNode body;            // reduce
  bool takes_seed = false;  // reduce: the body's first row is the accumulator's only reader
  std::string path;
};

struct Compiled {
  Node root;
  std::vector<Reference> references;
  bool compat_hotmesh = false;
};

}  // namespace pawl::mapping
