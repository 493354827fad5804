#include "store/operation.h"

namespace pawl::store {

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
    case OutcomeKind::rejected:
      return "rejected";
    case OutcomeKind::outcome_unknown:
      return "outcome_unknown";
  }
  return "?";
}

}  // namespace pawl::store
