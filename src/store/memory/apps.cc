// Deployed apps, and the active version of each.
#include "store/memory/answers.h"
#include "store/memory/store.h"

namespace pawl::store::memory {

Outcome Store::run(const PutApp& put) {
  const auto [known, fresh] = apps_.try_emplace({put.name_space, put.app, put.version}, App{put.body, clock_.now()});
  if (fresh) return committed();
  return known->second.body == put.body ? already_done() : outcome_of(OutcomeKind::exists, other_app(put));
}

Outcome Store::run(const ActivateApp& activate) {
  if (!apps_.contains({activate.name_space, activate.app, activate.version})) return rejected(missing_app(activate));
  std::string& active = active_apps_[{activate.name_space, activate.app}];
  if (active == activate.version) return already_done();
  active = activate.version;
  return committed();
}

Result<std::optional<std::string>> Store::read_app(const Namespace& name_space, const std::string& app,
                                                   const std::string& version) {
  const std::lock_guard lock(mutex_);
  const auto found = apps_.find({name_space, app, version});
  if (found == apps_.end()) return std::optional<std::string>();
  return std::optional<std::string>(found->second.body);
}

Result<std::vector<AppInfo>> Store::list_apps(const Namespace& name_space) {
  const std::lock_guard lock(mutex_);
  std::vector<AppInfo> rows;
  for (auto one = apps_.lower_bound({name_space, "", ""}); one != apps_.end(); ++one) {
    const auto& [space, app, version] = one->first;
    if (space != name_space) break;
    const auto active = active_apps_.find({space, app});
    rows.push_back({app, version, active != active_apps_.end() && active->second == version, one->second.deployed_at});
  }
  return rows;
}

}  // namespace pawl::store::memory
