// A graph: activities and transitions, rooted at one trigger. Built here in C++, checked by build().
//
//   auto order = pawl::GraphBuilder("order")
//                    .trigger("received")
//                    .worker("charge", "payments.charge").after("received")
//                    .worker("ship", "shipping.ship").after("charge")
//                    .worker("refund", "payments.refund").after("charge", pawl::Condition::code(402))
//                    .build();
//
// An edge without a condition fires on success and on a pending reply, never on an error. Edges of one
// activity that fire together open parallel children.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pawl/ids.h"
#include "pawl/policy.h"
#include "pawl/result.h"

namespace pawl {

namespace core {
class Program;
}

// When a transition fires.
class Condition {
 public:
  enum class Kind : std::uint8_t { always, on_codes, on_error };

  static Condition always() { return Condition(Kind::always, {}); }
  static Condition code(std::int32_t value) { return Condition(Kind::on_codes, {value}); }
  static Condition codes(std::vector<std::int32_t> values) { return Condition(Kind::on_codes, std::move(values)); }
  static Condition error() { return Condition(Kind::on_error, {}); }  // any error, whatever its code

  Kind kind() const { return kind_; }
  const std::vector<std::int32_t>& code_list() const { return codes_; }

 private:
  Condition(Kind kind, std::vector<std::int32_t> codes) : kind_(kind), codes_(std::move(codes)) {}
  Kind kind_;
  std::vector<std::int32_t> codes_;
};

// How a job's progress is written down (docs/LEDGER.md). `duplex` needs no transactions of its store and promises
// less (docs/GUARANTEES.md): its marks are made once, but a leg may run more than once.
enum class Collation : std::uint8_t { ledger, duplex };
std::string_view name_of(Collation collation);

// Immutable once built. Any thread may read it.
class Graph {
 public:
  enum class Kind : std::uint8_t { trigger, worker, await, hook, signal, cycle, interrupt, join, map };
  struct Edge {
    std::uint32_t to;
    Condition when;
    std::uint32_t number = 0;  // among those that lead to the same join
  };
  struct Node {
    ActivityName name;
    Kind kind;
    Topic topic;  // of a worker
    std::vector<Edge> edges;
    Policy policy;
    // Of graphs in the graph language:
    std::uint32_t depth = 1;             // how many parts its address has
    std::optional<std::uint32_t> aim{};  // a cycle's pivot, a map's closing join, the map that a join closes
    bool is_pivot = false;               // cycles return to it
    bool before_join = false;            // a join is below it, and waits until it is known what fires
    std::uint32_t edges_in = 0;          // of a join
    std::uint32_t need = 0;              // of a join: so many arrivals; 0: all that can still come
  };
  // A graph as the graph language makes it; C++ programs use GraphBuilder.
  struct Parts {
    GraphName name{""};
    std::uint32_t version = 1;
    std::uint64_t fingerprint = 0;
    std::vector<Node> nodes{};
    std::uint32_t trigger = 0;
    bool drains = false;  // an error that nobody takes lets the others finish first
    Collation collation = Collation::ledger;
    std::shared_ptr<const core::Program> program{};
  };
  static Graph assemble(Parts parts);

  const GraphName& name() const { return name_; }
  std::uint32_t version() const { return version_; }
  std::uint64_t fingerprint() const { return fingerprint_; }  // of its content: a changed graph is another graph
  const std::vector<Node>& nodes() const { return nodes_; }
  std::uint32_t trigger() const { return trigger_; }
  std::optional<std::uint32_t> find(const ActivityName& name) const;
  // The activity whose output is the job's result; none: that of the activity that closed the job.
  std::optional<std::uint32_t> result_of() const { return result_; }
  Collation collation() const { return collation_; }
  bool drains() const { return drains_; }
  const core::Program* program() const { return program_.get(); }  // null: inputs are handed on as they are

 private:
  friend class GraphBuilder;
  Graph(GraphName name, std::uint32_t version) : name_(std::move(name)), version_(version) {}
  GraphName name_;
  std::uint32_t version_;
  std::uint64_t fingerprint_ = 0;
  std::uint32_t trigger_ = 0;
  std::optional<std::uint32_t> result_;
  Collation collation_ = Collation::ledger;
  bool drains_ = false;
  std::shared_ptr<const core::Program> program_;
  std::vector<Node> nodes_;
};

std::string_view name_of(Graph::Kind kind);

// Collects activities and transitions; build() checks them and reports every mistake at once.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name, std::uint32_t version = 1);

  GraphBuilder& trigger(std::string name);
  GraphBuilder& worker(std::string name, std::string topic);
  // How the activity named last is tried, timed and trusted (policy.h).
  GraphBuilder& retry(Retry policy);
  GraphBuilder& timeouts(Timeouts limits);
  GraphBuilder& at_most_once(WhenUnknown then = WhenUnknown::hold);
  GraphBuilder& priority(std::int32_t value);  // added to the job's; larger goes first
  // A transition from `parent` to the activity named last.
  GraphBuilder& after(std::string parent, Condition when = Condition::always());
  GraphBuilder& transition(std::string from, std::string to, Condition when = Condition::always());
  GraphBuilder& result_of(std::string activity);
  GraphBuilder& collation(Collation collation);

  Result<Graph> build() const;

 private:
  struct Declared {
    std::string name;
    Graph::Kind kind;
    std::string topic;
    Policy policy;
  };
  Policy& last_policy();
  struct Link {
    std::string from;
    std::string to;
    Condition when;
  };
  std::string name_;
  std::uint32_t version_;
  std::vector<Declared> activities_;
  std::vector<Link> links_;
  std::optional<std::string> result_;
  Policy nobodys_;  // a policy that was set before any activity; build() refuses it
  bool policy_misplaced_ = false;
  Collation collation_ = Collation::ledger;
};

}  // namespace pawl
