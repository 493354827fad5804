// Family: the jobs that a job started, found through the store. They are found by name: an open await remembers its
// child's name, and after the end it is derived from the parent's (core/child_name.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/graph.h"
#include "core/job_state.h"
#include "ledger/collation_key.h"
#include "pawl/view.h"
#include "runtime/graph_catalog.h"
#include "store/job_store.h"

namespace pawl::runtime {

using core::Graph;

class Family {
 public:
  // The references must outlive it.
  Family(store::JobStore& store, const GraphCatalog& graphs) : store_(store), graphs_(graphs) {}

  // Fills in the children of awaits that have ended, and the key composed across awaited jobs. What cannot be read is
  // left out. REQUIRES: `state` uses `graph`.
  void complete(JobDetail& detail, const core::JobState& state, const Graph& graph) const;

 private:
  struct Child {
    std::string id;
    RunId run{0};
  };
  std::optional<Child> child_of(const core::JobState& state, const core::Activity& activity, const Graph& graph) const;
  std::optional<Child> taken_by(const core::JobState& parent, const core::Activity& activity, std::string id) const;
  std::optional<ledger::CollationKey> key_of(RunId run, std::uint32_t depth) const;
  Result<ledger::CollationKey> key_of(const core::JobState& state, const Graph& graph, std::uint32_t depth) const;

  store::JobStore& store_;
  const GraphCatalog& graphs_;
};

}  // namespace pawl::runtime
