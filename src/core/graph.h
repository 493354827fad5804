// Graph: the graph of a checked app, as the engine runs it. Only src/execute creates one, when an app is deployed.
// Immutable: any thread may read it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "pawl/graph.h"
#include "pawl/ids.h"
#include "pawl/policy.h"

namespace pawl::core {

class Program;

// The code of a skipped activity that had begun: it was cancelled.
inline constexpr std::int32_t code_called_off = 499;

// When an edge fires, in graphs without a program.
class Condition {
 public:
  enum class Kind : std::uint8_t { always, on_codes, on_error };

  static Condition always() { return Condition(Kind::always, {}); }
  static Condition code(std::int32_t value) { return Condition(Kind::on_codes, {value}); }
  static Condition codes(std::vector<std::int32_t> values) { return Condition(Kind::on_codes, std::move(values)); }
  static Condition error() { return Condition(Kind::on_error, {}); }  // any error code

  Kind kind() const { return kind_; }
  const std::vector<std::int32_t>& code_list() const { return codes_; }

 private:
  Condition(Kind kind, std::vector<std::int32_t> codes) : kind_(kind), codes_(std::move(codes)) {}
  Kind kind_;
  std::vector<std::int32_t> codes_;
};

class Graph {
 public:
  using Kind = ActivityKind;
  struct Edge {
    std::uint32_t to;
    Condition when;
    std::uint32_t number = 0;  // among the edges that lead to the same join
  };
  struct Node {
    ActivityName name;
    Kind kind;
    Topic topic;  // of a worker
    std::vector<Edge> edges;
    Policy policy;
    std::uint32_t depth = 1;                 // how many parts its address has
    std::optional<std::uint32_t> aim{};      // a cycle's pivot, a map's closing join, the map that a join closes
    bool is_pivot = false;                   // cycles return to it
    bool before_join = false;                // a join below it waits until it is known which edges fire
    std::uint32_t edges_in = 0;              // of a join
    std::uint32_t need = 0;                  // of a join: the number of arrivals it needs; 0: all that can still come
    std::vector<std::uint32_t> calls_off{};  // of a join: the nodes whose open instances it ends when it is satisfied
    std::vector<std::uint32_t> called_off_by{};  // the joins that have it in `calls_off`
    std::optional<std::uint32_t> undo{};         // the node that undoes it when the job fails
    bool is_undo = false;                        // it runs only when the job fails
  };
  struct Parts {
    GraphName name{""};
    std::uint32_t version = 1;
    std::uint64_t fingerprint = 0;
    std::vector<Node> nodes{};
    std::uint32_t trigger = 0;
    std::optional<std::uint32_t> result{};
    bool drains = false;    // after an uncaught error the other branches finish first
    bool hands_on = false;  // an activity without maps receives the output of the one before it
    bool plain = false;     // it has no expressions: core asks the program nothing
    Collation collation = Collation::ledger;
    std::shared_ptr<const Program> program{};
  };
  static Graph assemble(Parts parts);

  const GraphName& name() const { return parts_.name; }
  std::uint32_t version() const { return parts_.version; }
  // of its content: a changed graph has another fingerprint
  std::uint64_t fingerprint() const { return parts_.fingerprint; }
  const std::vector<Node>& nodes() const { return parts_.nodes; }
  std::uint32_t trigger() const { return parts_.trigger; }
  std::optional<std::uint32_t> find(const ActivityName& name) const;
  // The activity whose output is the job's result; none: that of the activity that closed the job, or the job's data.
  std::optional<std::uint32_t> result_of() const { return parts_.result; }
  Collation collation() const { return parts_.collation; }
  bool drains() const { return parts_.drains; }
  bool hands_on() const { return parts_.hands_on; }
  bool can_undo() const { return can_undo_; }  // some activity names another that undoes it
  // Evaluates the expressions of the job's steps; null: inputs are handed on unchanged.
  const Program* program() const { return parts_.plain ? nullptr : parts_.program.get(); }
  // The program, also of a plain graph, for code that starts or signals its jobs; null: not made from an app.
  const Program* origin() const { return parts_.program.get(); }

 private:
  explicit Graph(Parts parts) : parts_(std::move(parts)) {}
  Parts parts_;
  bool can_undo_ = false;
};

}  // namespace pawl::core
