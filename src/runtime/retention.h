// Retention: the rules of a store, and a pass that removes the jobs whose time is over.
//
// The rules are rows of the catalogue, under a name space of their own: an app for each rule, the keep time as its
// version (docs/decisions/082). A pass has no state in the store. It reads ended jobs in the order in which they were
// made and removes those whose rule says so, a batch at a time; after a crash the next pass begins again.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "pawl/retention.h"
#include "runtime/commit_all.h"
#include "store/duplex_store.h"
#include "store/store.h"

namespace pawl::runtime {

Result<std::vector<RetentionRule>> read_retention(store::Catalogue& store);

class Retention {
 public:
  // A job that was made less than the shortest keep time ago cannot be over: where the clock was never set back, a pass
  // may end at the first of these.
  enum class Depth : std::uint8_t { until_young, whole };
  // Where the next pass may begin: behind the oldest jobs, if all of them are kept for good. A whole pass finds it
  // again, and so does one with other rules. An old job that ends behind such a place waits for the next whole pass.
  struct Places {
    std::string rules;                                                              // for which it was found
    std::map<std::tuple<core::LaneId, core::JobStatus, std::string>, RunId> after;  // by graph; "": all of them
  };
  struct Pass {
    std::vector<core::LaneId> lanes;
    Instant now;
    Depth depth = Depth::whole;
    RetentionOptions options{};
    std::function<bool()> goes_on{};  // asked between batches; none: to the end
    Places* places = nullptr;         // kept from pass to pass; null: each begins with the oldest job
  };

  // The references must outlive it. `duplex`: null if the store has no such jobs.
  Retention(store::Store& store, store::DuplexStore* duplex, CommitAll commit)
      : store_(store), duplex_(duplex), commit_(std::move(commit)) {}

  Result<std::vector<RetentionRule>> rules() { return read_retention(store_); }
  Status set(const RetentionRule& rule);
  Status drop(const RetentionRule& rule);  // the one with its status and graph
  Result<RetentionSummary> apply(const Pass& pass);

 private:
  Status put(const RetentionRule& rule, const std::string& keep);

  store::Store& store_;
  store::DuplexStore* duplex_;
  const CommitAll commit_;
};

}  // namespace pawl::runtime
