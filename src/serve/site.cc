#include "serve/site.h"

#include <utility>

#include "serve/limits.h"
#include "serve/query_names.h"

namespace pawl::serve {

Site::Site(runtime::LocalRuntime& its_runtime, Log& its_log, SiteFacts its_facts, std::size_t threads,
           std::unique_ptr<SpanExporter> its_spans)
    : runtime(its_runtime),
      log(its_log),
      facts(std::move(its_facts)),
      crew(threads, limits::requests_waiting_max),
      ends(its_runtime.ends(), timers),
      events(facts.server),
      desk(
          [this](const runtime::TakeRequest& request, std::function<void(Result<std::vector<TakenWork>>)> done) {
            runtime.handouts().take(request, std::move(done));
          },
          [this](const std::string& token) {
            runtime.handouts().say(token, Said{.kind = Said::Kind::release}, [](const Status&) {});
          },
          timers),
      spans(std::move(its_spans)),
      observed(its_runtime.observe([this](const Event& event) {
        events.add(event);
        if (event.kind == Event::Kind::job_started)  // a run keeps its name
          names.put(event.run, event.job.raw(), event.name_space.raw());
        desk.heard(event);
        metrics.heard(event);
        if (spans != nullptr) spans->add(event);
      })) {
  its_runtime.hand_work_to(desk);
}

void Site::close() {
  stopping = true;
  ends.close();
  desk.close();
  events.close();
}

Router all_routes(Site& site) {
  Router router;
  for (const auto add :
       {add_server_routes, add_metrics_routes, add_page_routes, add_app_routes, add_start_routes, add_job_routes,
        add_job_verb_routes, add_signal_routes, add_people_routes, add_topic_routes, add_event_routes, add_work_routes})
    add(router, site);
  // Whether the process is alive must be known also when every thread of the crew waits for the store.
  router.set_effort("GET", "/health/live", Effort::quick);
  // These may read many jobs, or the whole store.
  for (const char* pattern : {"/metrics", "/v1/jobs", "/v1/jobs/count", "/v1/jobs/{id}/export", "/v1/status",
                              "/v1/doctor", "/v1/topics", "/v1/announcements", "/v1/measures"})
    router.set_effort("GET", pattern, Effort::slow);
  for (const char* pattern : {"/v1/bulk/{verb}", "/v1/jobs/batch", "/v1/retention/apply", "/v1/signals/drop"})
    router.set_effort("POST", pattern, Effort::slow);
  return with_checked_queries(router);
}

}  // namespace pawl::serve
