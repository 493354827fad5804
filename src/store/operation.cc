#include "store/operation.h"
#include "base/format.h"

namespace pawl::store {

std::string missing_pool(const Pool& pool) { return format("there is no pool {}", pool.raw()); }

std::string other_app(const PutApp& put) {
  return format("version {} of app {} was deployed with other graphs; deploy them under another version", put.version,
                put.app);
}
std::string missing_app(const ActivateApp& activate) {
  return format("version {} of app {} was never deployed", activate.version, activate.app);
}

std::string_view name_of(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::committed:
      return "committed";
    case OutcomeKind::already_done:
      return "already_done";
    case OutcomeKind::exists:
      return "exists";
    case OutcomeKind::conflict:
      return "conflict";
    case OutcomeKind::fenced:
      return "fenced";
    case OutcomeKind::over_limit:
      return "over_limit";
    case OutcomeKind::rejected:
      return "rejected";
    case OutcomeKind::outcome_unknown:
      return "outcome_unknown";
  }
  return "?";
}

}  // namespace pawl::store
