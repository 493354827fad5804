// Names in a query that its route does not have are refused: a mistyped filter would otherwise mean all jobs.
#pragma once

#include "serve/router.h"

namespace pawl::serve {

// The same routes; those of /v1 take only the query names that openapi.json lists for them.
Router with_checked_queries(const Router& router);

}  // namespace pawl::serve
