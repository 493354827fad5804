// A stream of announcements. They are kept in the store, so it misses nothing across restarts: the id of each event is
// the cursor behind it.
#pragma once

#include "pawl/query.h"
#include "serve/exchange.h"
#include "serve/site.h"

namespace pawl::serve {

void follow_announcements(Site& site, AnnouncementFilter filter, const ExchangePointer& exchange);

}  // namespace pawl::serve
