// The id of a job that an await starts, unless its graph sets one (stats.id).
#pragma once

#include <string>

#include "base/limits.h"
#include "core/guid.h"
#include "ledger/dimensions.h"
#include "pawl/ids.h"

namespace pawl::core {

// A name that is derived from the parent's, so that a repeated start makes the same one. It may be longer than
// limits::name_bytes_max.
inline std::string child_name(const JobId& parent, const ActivityName& activity, const ledger::Dimensions& at) {
  std::string place(at.text());
  for (char& c : place)
    if (c == ',' || c == '*') c = c == ',' ? '.' : 'x';
  return parent.raw() + "/" + activity.raw() + place;
}

// A parent's request to end a child names the request that started the child: the id may now belong to another child of
// the same parent.
inline Guid end_of_child(const Guid& request) { return request.derive(Guid::Purpose::asked, 0); }

}  // namespace pawl::core
