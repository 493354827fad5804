// Scene: one step of one activity as its expressions see it. It finds what a reference names in the
// job, and parses a document only when an expression of the step reads it (documents.h).
//
// Exists for one call of a GraphProgram; refers to the sight and the plan.
#pragma once

#include <boost/json/value.hpp>
#include <forward_list>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "core/program.h"
#include "execute/plan.h"
#include "mapping/budget.h"
#include "mapping/data.h"

namespace pawl::execute {

class Scene {
 public:
  // `node` is the activity whose expressions are evaluated: that of the sight, or an ancestor on its path. `purpose`
  // makes the random numbers of two steps of one decision different.
  Scene(const AppPlan& app, const GraphPlan& graph, const core::Sight& sight, graph::ActivityIndex node,
        std::string_view purpose);
  Scene(const Scene&) = delete;  // documents are pointed to

  // {$self.output.data} and {$self.hook.data} from now on; null: absent. The values must outlive
  // the scene.
  void set_self(const boost::json::value* output, const boost::json::value* hook);

  // Errors name the activity and `label`.
  Result<boost::json::value> evaluate(const graph::Formula& formula, std::string_view label);
  // The same as the bytes of an input or an output.
  Result<Payload> evaluate_payload(const graph::Formula& formula, std::string_view label);

  const graph::Activity& activity() const { return graph_.activity(node_); }
  graph::Dialect dialect() const { return app_.app->dialect; }
  // Parsed once per scene.
  const boost::json::value& document(const Payload& payload);
  // Strict equality, as in conditions.
  bool equal(const boost::json::value& a, const boost::json::value& b);

 private:
  // An activity's instance as a reference finds it. None: the activity did not run on this path.
  struct Found {
    const core::Activity* instance = nullptr;
    const Payload* output = nullptr;
  };
  struct Pair {  // what a hook keeps: hook_output.h
    const boost::json::value* output = nullptr;
    const boost::json::value* hook = nullptr;
  };

  Found find(const Route& route) const;
  Found find_on_path(const Route& route) const;
  Found find_below(const ledger::Dimensions& parent, const std::vector<graph::ActivityIndex>& down,
                   std::size_t index) const;
  Found find_self() const;
  Pair output_of(graph::ActivityIndex target, const Payload& payload);
  std::string_view woken_by(graph::ActivityIndex target, const Found& found, bool at_hand);
  mapping::ActivityValues values_of(graph::ActivityIndex target, const Found& found, std::uint8_t sections);
  mapping::ActivityValues self_values(std::uint8_t sections);
  const boost::json::value* keep(boost::json::value value);

  const AppPlan& app_;
  const GraphPlan& graph_;
  const core::Sight& sight_;
  const graph::ActivityIndex node_;
  mapping::Budget budget_;
  Random random_;
  bool self_is_set_ = false;
  const boost::json::value* self_output_ = nullptr;
  const boost::json::value* self_hook_ = nullptr;
  // Lists: values never move, and a step that reads nothing allocates nothing. Most steps read one or two documents, so
  // a linear search is enough.
  std::forward_list<std::pair<const char*, std::shared_ptr<const boost::json::value>>> documents_;
  std::forward_list<boost::json::value> made_;
  const boost::json::value* job_metadata_ = nullptr;
};

}  // namespace pawl::execute
