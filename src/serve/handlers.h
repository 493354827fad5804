// What handlers share: how they answer, which job is meant, how a job to start and a filter are read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pawl/query.h"
#include "runtime/job_request.h"
#include "serve/exchange.h"
#include "serve/fields.h"
#include "serve/problem.h"
#include "serve/site.h"

namespace pawl::serve {

void answer(const ExchangePointer& exchange, std::string json, int status = 200);
void answer_ok(const ExchangePointer& exchange);

std::optional<RunId> read_run(std::string_view text);

// The run that the path and the query mean. None: the problem was answered.
std::optional<RunId> run_meant(Site& site, const Request& request, const ExchangePointer& exchange);

// A job to start; the fields say what is wrong.
runtime::JobRequest start_in(Fields& fields);
std::string started_json(const runtime::JobRequest& request, const runtime::Submission& started);

// The filter of a query, or the problem was answered.
std::optional<JobFilter> filter_meant(const Request& request, const ExchangePointer& exchange);
Instant clock_now();

}  // namespace pawl::serve
