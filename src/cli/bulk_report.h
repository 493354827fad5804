// What the commands on many jobs share: asking first what would be done, the progress, and the summary.
#pragma once

#include <string>

#include "cli/job_filter.h"
#include "cli/job_target.h"
#include "pawl/pawl.h"

namespace pawl::cli {

struct BulkArguments {
  bool dry_run = false;
  bool quiet = false;
};
void add_bulk_options(CLI::App& command, BulkArguments& arguments);

// What would become of a request to one job: 0 it would be asked, 1 it would be refused.
int try_on_one(const std::string& command, Runtime& runtime, const StoreOptions& store, RunId run,
               const BulkRequest& request);

// 0: all that matched were asked, 1: some were refused.
int run_bulk(const std::string& command, Runtime& runtime, const StoreOptions& store, const FilterOptions& filter,
             const BulkArguments& arguments, const BulkRequest& request);

}  // namespace pawl::cli
