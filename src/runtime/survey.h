// How a store is doing, for people: counted where the store can count, read otherwise.
#pragma once

#include <functional>
#include <string>

#include "pawl/survey.h"
#include "runtime/graph_catalog.h"
#include "runtime/open_store.h"

namespace pawl::runtime {

struct SurveySources {
  OpenedStore& opened;
  const store::PoolInfo& pool;
  const GraphCatalog& graphs;
  bool runs_here = false;  // this process is an owner
  std::string store_name;
};
Result<Survey> survey_of(const SurveySources& from, const SurveyOptions& options);

// Whether somebody carries out what is asked of jobs.
Result<std::vector<EngineView>> engines_of(OpenedStore& opened, const store::PoolInfo& pool, Instant now);

}  // namespace pawl::runtime
