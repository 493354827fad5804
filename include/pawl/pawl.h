// Pawl: durable workflows. What was done stays done, whatever crashes. This header includes all of it:
//
//   auto runtime = pawl::open("orders.db");
//
// Begin with runtime.h; <pawl_boost/json.h> or <pawl_nlohmann/json.h> make your own types inputs and results.
#pragma once

#include "pawl/bulk.h"
#include "pawl/callable.h"
#include "pawl/codec.h"
#include "pawl/connect.h"
#include "pawl/event.h"
#include "pawl/failure.h"
#include "pawl/finding.h"
#include "pawl/graph.h"
#include "pawl/job.h"
#include "pawl/move.h"
#include "pawl/options.h"
#include "pawl/query.h"
#include "pawl/retention.h"
#include "pawl/runtime.h"
#include "pawl/subscription.h"
#include "pawl/survey.h"
#include "pawl/task.h"
#include "pawl/transaction.h"
#include "pawl/view.h"
#include "pawl/worker.h"
