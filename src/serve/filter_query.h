// Which jobs, as a query says it: `status=failed&graph=shop/order&since=2h`. The one place that knows the names, for
// both directions; lists, counts and requests to many jobs read the same ones.
#pragma once

#include <boost/json.hpp>

#include "pawl/query.h"
#include "pawl/result.h"
#include "pawl/time.h"
#include "serve/request.h"

namespace pawl::serve {

// Other names are left to others. `now`: what ages are counted from.
Result<JobFilter> read_filter(const Pairs& query, Instant now);
// The same from an object, whose lists repeat a name. A name that means nothing is an error: a misspelt condition would
// mean more jobs.
Result<JobFilter> read_filter(const boost::json::object& object, Instant now);

// All conditions and the order, so that read_filter() gives the same filter. Not the page: `after` and `rows_max`.
Pairs filter_query(const JobFilter& filter);

}  // namespace pawl::serve
