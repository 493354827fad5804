// Pawl: durable workflows. What was done stays done, whatever crashes.
#pragma once

#include "pawl/graph.h"
#include "pawl/job.h"
#include "pawl/move.h"
#include "pawl/runtime.h"
#include "pawl/transaction.h"
#include "pawl/worker.h"
