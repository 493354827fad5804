// Store: all that a store is asked for, by who needs it. Whoever needs less takes less.
#pragma once

#include "store/catalogue.h"
#include "store/job_store.h"
#include "store/notification.h"
#include "store/queries.h"

namespace pawl::store {

class Store : public JobStore, public Catalogue, public Queries, public Notification {};

}  // namespace pawl::store
