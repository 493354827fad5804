// Routes of signals.
#include <utility>

#include "base/utf8.h"
#include "serve/handlers.h"
#include "serve/job_json.h"
#include "serve/store_json.h"

namespace pawl::serve {

namespace {

// Started first if its id is free, then told: whoever repeats the request does nothing twice, if job and signal have
// ids.
void with_start(Site& site, const boost::json::object& start, const std::string& topic, const Payload& data,
                SignalOptions options, const ExchangePointer& exchange) {
  Fields fields(start);
  runtime::JobRequest request = start_in(fields);
  if (const auto& mistake = fields.mistake())
    return exchange->respond(problem(mistake->error, "start." + mistake->field));
  const auto submission = site.runtime.start(request);
  if (!submission) return exchange->respond(problem(submission.error()));
  options.name_space = request.options.name_space;
  if (const auto told = site.runtime.signal_job(submission->run, topic, data, options); !told)
    return exchange->respond(problem(told.error()));
  answer(exchange, started_json(request, *submission), submission->created ? 201 : 200);
}

void signal(Site& site, const Request& request, const ExchangePointer& exchange) {
  Fields fields(request.body);
  const std::string topic = fields.needed("topic");
  Payload data = fields.payload("data");
  if (data.empty()) data = Payload("{}");
  SignalOptions options;
  options.name_space = fields.text("namespace", "default");
  options.pending = fields.truth("pending", false);
  options.code = static_cast<std::int32_t>(fields.number("code", 100, 999, 0));
  options.id = fields.text("id");
  const boost::json::object* start = fields.object("start");
  const bool dry_run = fields.truth("dry_run", false);
  if (dry_run && start != nullptr) fields.wrong("dry_run", "a signal with a start is not asked about");
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  if (dry_run) {
    const auto fate = site.runtime.fate_of_signal(topic, data, options.name_space);
    if (!fate) return exchange->respond(problem(fate.error()));
    return answer(exchange, printable_json(boost::json::serialize(fate_object(*fate))));
  }
  if (start != nullptr) return with_start(site, *start, topic, data, options, exchange);
  if (const auto told = site.runtime.signal(topic, data, options); !told)
    return exchange->respond(problem(told.error()));
  answer_ok(exchange);
}

}  // namespace

void add_signal_routes(Router& router, Site& site) {
  router.add({"POST", "/v1/signals",
              [&site](const Request& request, const ExchangePointer& exchange) { signal(site, request, exchange); }});
}

}  // namespace pawl::serve
