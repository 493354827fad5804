// Site: what the handlers share. One for each server; it outlives every exchange.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>

#include "runtime/local_runtime.h"
#include "serve/access.h"
#include "serve/crew.h"
#include "serve/ends.h"
#include "serve/event_feed.h"
#include "serve/handout_desk.h"
#include "serve/job_names.h"
#include "serve/limits.h"
#include "serve/log.h"
#include "serve/metrics.h"
#include "serve/open_streams.h"
#include "serve/router.h"
#include "serve/span_exporter.h"
#include "serve/timers.h"

namespace pawl::serve {

struct SiteFacts {
  std::string version;
  std::string server;      // tells this process from others
  std::string store;       // as it may be shown
  std::string store_kind;  // SQLite, PostgreSQL, Redis or memory
  std::string promise;     // what the store keeps, in a sentence
  Instant started_at;
  std::set<std::string> local_topics;  // served by commands of this server
  std::string page_folder;             // read the page from here; empty: as it was built in
};

struct Site {
  Site(runtime::LocalRuntime& its_runtime, Log& its_log, SiteFacts its_facts, std::size_t threads,
       std::unique_ptr<SpanExporter> its_spans = nullptr);

  runtime::LocalRuntime& runtime;
  Log& log;
  const SiteFacts facts;
  Timers timers;
  Crew crew;
  Ends ends;
  EventFeed events;
  HandoutDesk desk;
  Metrics metrics;
  JobNames names{limits::job_names_max};
  const std::unique_ptr<SpanExporter> spans;  // null: spans are not reported
  std::atomic<bool> stopping{false};
  std::atomic<std::size_t> work_streams{0};
  OpenStreams named_streams;  // of work
  Subscription observed;  // last: it ends first

  // Answers what waits and ends the streams. The runtime may be stopped then.
  void close();
};

// Each adds the routes of one part of the API.
void add_server_routes(Router& router, Site& site);
void add_metrics_routes(Router& router, Site& site);
void add_page_routes(Router& router, Site& site);
void add_app_routes(Router& router, Site& site);
void add_job_routes(Router& router, Site& site);
void add_job_verb_routes(Router& router, Site& site);
void add_start_routes(Router& router, Site& site);
void add_signal_routes(Router& router, Site& site);
void add_people_routes(Router& router, Site& site);
void add_topic_routes(Router& router, Site& site);
void add_event_routes(Router& router, Site& site);
void add_work_routes(Router& router, Site& site);
Router all_routes(Site& site);

}  // namespace pawl::serve
