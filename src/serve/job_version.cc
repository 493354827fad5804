#include "serve/job_version.h"

#include "execute/assemble.h"
#include "runtime/graph_catalog.h"

namespace pawl {

std::string version_name(const std::vector<AppVersion>& apps, const JobView& job) {
  const std::string app = runtime::app_of(job.graph);
  for (const AppVersion& version : apps)
    if (version.app == app && execute::version_number(version.version) == job.version) return version.version;
  return std::to_string(job.version);
}

}  // namespace pawl
