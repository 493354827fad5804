// Catalogue: the deployed graphs, by namespace, app and version. They are written by PutApp and ActivateApp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pawl/ids.h"
#include "pawl/result.h"
#include "pawl/time.h"

namespace pawl::store {

struct AppInfo {
  std::string app;
  std::string version;
  bool active = false;
  Instant deployed_at;
  friend bool operator==(const AppInfo&, const AppInfo&) = default;
};

// Threads: any.
class Catalogue {
 public:
  virtual ~Catalogue() = default;

  // The bytes of one version; all versions, ordered by app and version.
  virtual Result<std::optional<std::string>> read_app(const Namespace& name_space, const std::string& app,
                                                      const std::string& version) = 0;
  virtual Result<std::vector<AppInfo>> list_apps(const Namespace& name_space) = 0;
};

}  // namespace pawl::store
