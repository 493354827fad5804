// Routes that ask something of one job, or of many.
#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"
#include "serve/filter_query.h"
#include "serve/handlers.h"
#include "serve/job_json.h"
#include "serve/store_json.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

SignalOptions signal_in(Fields& fields) {
  SignalOptions options;
  options.pending = fields.truth("pending", false);
  options.code = static_cast<std::int32_t>(fields.number("code", 100, 999, 0));
  options.id = fields.text("id");
  return options;
}

// A verb reads what it needs from the body, and returns what is to be done with a run: the run that goes on is that
// one, or its successor.
using Act = std::function<Result<RunId>(runtime::LocalRuntime&, RunId)>;
using Verb = Act (*)(Fields&);

template <class Ask>
Act same_run(Ask ask) {
  return [ask = std::move(ask)](runtime::LocalRuntime& runtime, RunId run) -> Result<RunId> {
    if (const auto asked = ask(runtime, run); !asked) return asked.error();
    return run;
  };
}

RedriveOptions redrive_in(Fields& fields) {
  RedriveOptions options;
  if (fields.has("answer")) options.answer = fields.payload("answer");
  options.code = static_cast<std::int32_t>(fields.number("code", 100, 999, 200));
  if (fields.has("code") && !options.answer) fields.wrong("code", "it is the code of an answer");
  return options;
}
RemoveOptions remove_in(Fields& fields) { return {.keep_id = fields.time("keep_id").value_or(Duration{0})}; }

Act interrupt(Fields& fields) {
  return same_run(
      [reason = fields.text("reason")](auto& runtime, RunId run) { return runtime.interrupt(run, reason); });
}
Act cancel(Fields& fields) {
  return same_run([reason = fields.text("reason")](auto& runtime, RunId run) { return runtime.cancel(run, reason); });
}
Act pause(Fields& fields) {
  return same_run([reason = fields.text("reason")](auto& runtime, RunId run) { return runtime.pause(run, reason); });
}
Act resume(Fields&) {
  return same_run([](auto& runtime, RunId run) { return runtime.resume(run); });
}
Act redrive(Fields& fields) {
  return [options = redrive_in(fields)](runtime::LocalRuntime& runtime, RunId run) {
    return runtime.redrive(run, options);
  };
}
struct JobSignal {
  std::string topic;
  Payload data;
  SignalOptions options;
};
JobSignal job_signal_in(Fields& fields) {
  JobSignal signal{fields.needed("topic"), fields.payload("data"), signal_in(fields)};
  if (signal.data.empty()) signal.data = Payload("{}");
  return signal;
}
Act signal(Fields& fields) {
  return same_run([signal = job_signal_in(fields)](auto& runtime, RunId run) {
    return runtime.signal_job(run, signal.topic, signal.data, signal.options);
  });
}
Act settle(Fields& fields) {
  const ActivityPlace place{fields.needed("activity"), fields.text("address")};
  const std::string outcome = fields.one_of("outcome", {"done", "failed", "not_done"}, "done");
  const bool done = outcome == "done";
  const auto code = static_cast<std::int32_t>(fields.number("code", 100, 999, done ? 200 : 500));
  const Payload data = fields.payload("data");
  const Finding finding = done                  ? Finding::done(data, code)
                          : outcome == "failed" ? Finding::failed(data, code)
                                                : Finding::not_done();
  return same_run([place, finding](auto& runtime, RunId run) { return runtime.settle(run, place, finding); });
}

void act_on_one(Site& site, Verb verb, const Request& request, const ExchangePointer& exchange) {
  Fields fields(request.body);
  const Act act = verb(fields);
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  const auto run = run_meant(site, request, exchange);
  if (!run) return;
  const auto going = act(site.runtime, *run);
  if (!going) return exchange->respond(problem(going.error()));
  answer(exchange, done_json(*going));
}

void remove_one(Site& site, const Request& request, const ExchangePointer& exchange) {
  Query query(request);
  const RemoveOptions options{.keep_id = query.time("keep_id").value_or(Duration{0})};
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  const auto run = run_meant(site, request, exchange);
  if (!run) return;
  const auto done = site.runtime.remove(*run, options);
  if (!done) return exchange->respond(problem(done.error()));
  answer(exchange, done_json(*run));
}

constexpr std::pair<const char*, Verb> verbs[] = {
    {"interrupt", interrupt}, {"terminate", interrupt}, {"cancel", cancel}, {"pause", pause},
    {"resume", resume},       {"redrive", redrive},     {"signal", signal}, {"settle", settle}};

constexpr std::array bulk_verbs{BulkVerb::redrive, BulkVerb::interrupt, BulkVerb::cancel, BulkVerb::remove,
                                BulkVerb::pause,   BulkVerb::resume,    BulkVerb::signal};

BulkRequest bulk_in(BulkVerb verb, Fields& fields) {
  BulkRequest request;
  request.verb = verb;
  switch (verb) {
    case BulkVerb::interrupt:
    case BulkVerb::cancel:
    case BulkVerb::pause:
      request.reason = fields.text("reason");
      break;
    case BulkVerb::redrive:
      request.redrive = redrive_in(fields);
      break;
    case BulkVerb::remove:
      request.remove = remove_in(fields);
      break;
    case BulkVerb::resume:
      break;
    case BulkVerb::signal: {
      const json::object* said = fields.object("signal");
      if (said == nullptr) {
        fields.wrong("signal", "it is missing");
        break;
      }
      Fields inner(*said);
      JobSignal signal = job_signal_in(inner);
      if (const auto& mistake = inner.mistake()) fields.wrong("signal." + mistake->field, mistake->error.detail);
      request.topic = std::move(signal.topic);
      request.data = std::move(signal.data);
      request.signal = std::move(signal.options);
      break;
    }
  }
  return request;
}

void bulk(Site& site, const Request& request, const ExchangePointer& exchange) {
  const auto verb = std::find_if(bulk_verbs.begin(), bulk_verbs.end(),
                                 [&](BulkVerb candidate) { return name_of(candidate) == request.captured_as("verb"); });
  if (verb == bulk_verbs.end())
    return exchange->respond(
        problem("no_such_route", "a bulk request is interrupt, cancel, pause, resume, redrive, remove or signal"));
  Fields fields(request.body);
  const json::object* conditions = fields.object("filter");
  if (conditions == nullptr) fields.wrong("filter", "it is missing; {} means all jobs");
  const bool dry_run = fields.truth("dry_run", false);
  const BulkRequest asked = bulk_in(*verb, fields);
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  const auto filter = read_filter(*conditions, clock_now());
  if (!filter) return exchange->respond(problem(filter.error(), "filter"));
  const auto summary = site.runtime.bulk(*filter, asked, {.dry_run = dry_run});
  if (!summary) return exchange->respond(problem(summary.error()));
  answer(exchange, printable_json(json::serialize(bulk_object(*summary, dry_run))));
}

}  // namespace

void add_job_verb_routes(Router& router, Site& site) {
  for (const auto& [name, verb] : verbs)
    router.add({"POST", format("/v1/jobs/{{id}}/{}", name),
                [&site, verb = verb](const Request& request, const ExchangePointer& exchange) {
                  act_on_one(site, verb, request, exchange);
                }});
  router.add({"DELETE", "/v1/jobs/{id}", [&site](const Request& request, const ExchangePointer& exchange) {
                remove_one(site, request, exchange);
              }});
  router.add({"POST", "/v1/bulk/{verb}",
              [&site](const Request& request, const ExchangePointer& exchange) { bulk(site, request, exchange); }});
}

}  // namespace pawl::serve
