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
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pawl/ids.h"
#include "pawl/policy.h"
#include "pawl/result.h"

namespace pawl {

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
  enum class Kind : std::uint8_t { trigger, worker };
  struct Edge {
    std::uint32_t to;
    Condition when;
  };
  struct Node {
    ActivityName name;
    Kind kind;
    Topic topic;  // of a worker
    std::vector<Edge> edges;
    Policy policy;
  };

  const GraphName& name() const { return name_; }
  std::uint32_t version() const { return version_; }
  std::uint64_t fingerprint() const { return fingerprint_; }  // of its content: a changed graph is another graph
  const std::vector<Node>& nodes() const { return nodes_; }
  std::uint32_t trigger() const { return trigger_; }
  std::optional<std::uint32_t> find(const ActivityName& name) const;
  // The activity whose output is the job's result; none: that of the activity that closed the job.
  std::optional<std::uint32_t> result_of() const { return result_; }
  Collation collation() const { return collation_; }

 private:
  friend class GraphBuilder;
  Graph(GraphName name, std::uint32_t version) : name_(std::move(name)), version_(version) {}
  GraphName name_;
  std::uint32_t version_;
  std::uint64_t fingerprint_ = 0;
  std::uint32_t trigger_ = 0;
  std::optional<std::uint32_t> result_;
  Collation collation_ = Collation::ledger;
  std::vector<Node> nodes_;
};

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
