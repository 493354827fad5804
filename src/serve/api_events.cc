// Routes of events, announcements and measures.
#include <charconv>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"
#include "mapping/json_text.h"
#include "serve/announcement_stream.h"
#include "serve/handlers.h"
#include "serve/job_json.h"
#include "serve/json_fields.h"
#include "serve/limits.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

bool may_stream(const Site& site, const ExchangePointer& exchange) {
  if (site.events.streams() + site.work_streams < limits::streams_max) return true;
  exchange->respond(problem("too_many_streams", "this server has as many streams as it takes (streams_max)"));
  return false;
}

std::string last_seen(const Request& request) {
  const std::string* sent = request.header("last-event-id");
  return sent != nullptr ? *sent : request.asked("last_event_id").value_or("");
}

void events(Site& site, const Request& request, const ExchangePointer& exchange) {
  Query query(request);
  EventFilter filter;
  filter.job = query.text("job");
  filter.name_space = query.text("namespace", filter.job.empty() ? "" : "default");
  filter.graph = query.text("graph");
  filter.run = RunId(static_cast<std::uint64_t>(query.number("run", 1, INT64_MAX, 0)));
  for (const std::string& name : request.asked_all("kind")) {
    if (const auto kind = named_in(name, event_kinds))
      filter.kinds.push_back(*kind);
    else
      query.wrong("kind", format("there is no kind of event {}", printable(name)));
  }
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  if (may_stream(site, exchange)) site.events.follow(filter, last_seen(request), exchange);
}

AnnouncementFilter announcements_in(Query& query) {
  AnnouncementFilter filter;
  filter.topic = query.text("topic");
  filter.name_space = query.text("namespace");
  filter.run = RunId(static_cast<std::uint64_t>(query.number("run", 1, INT64_MAX, 0)));
  filter.after = query.text("after");
  filter.rows_max = static_cast<std::uint32_t>(query.number("limit", 1, limits::page_rows_max, 100));
  return filter;
}

void list_announcements(Site& site, const Request& request, const ExchangePointer& exchange) {
  Query query(request);
  const AnnouncementFilter filter = announcements_in(query);
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  const auto page = site.runtime.announcements(filter);
  if (!page) return exchange->respond(problem(page.error()));
  std::string body = "{\"announcements\":[";
  for (const Announcement& said : *page) body += (body.back() == '[' ? "" : ",") + announcement_json(said);
  body += "],\"next\":";
  if (page->size() < filter.rows_max)
    body += "null";
  else
    mapping::append_json_string(body, page->back().cursor);
  answer(exchange, body + "}");
}

void stream_announcements(Site& site, const Request& request, const ExchangePointer& exchange) {
  Query query(request);
  AnnouncementFilter filter = announcements_in(query);
  if (const std::string seen = last_seen(request); !seen.empty()) filter.after = seen;
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  // A cursor that cannot be read is a mistake of the client, and is said before the stream begins.
  AnnouncementFilter look = filter;
  look.rows_max = 1;
  if (const auto page = site.runtime.announcements(look); !page) return exchange->respond(problem(page.error()));
  if (may_stream(site, exchange)) follow_announcements(site, std::move(filter), exchange);
}

json::value number_of(const std::optional<double>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

json::object object_of(const MeasureView& measure) {
  json::object object{{"key", measure.key},
                      {"slice", measure.slice},
                      {"target", measure.target},
                      {"count", measure.count},
                      {"sum", number_of(measure.sum)},
                      {"min", number_of(measure.least)},
                      {"max", number_of(measure.most)},
                      {"mdn", number_of(measure.median)}};
  json::object values;
  for (const auto& [value, count] : measure.values) values[value] = count;
  object["values"] = std::move(values);
  return object;
}

void measures(Site& site, const Request& request, const ExchangePointer& exchange) {
  Query query(request);
  MeasureFilter filter;
  filter.topic = query.text("topic");
  filter.name_space = query.text("namespace", "default");
  if (const auto key = request.asked("key")) filter.key = *key;
  filter.from = query.text("from");
  filter.to = query.text("to");
  if (filter.topic.empty()) query.wrong("topic", "it is missing");
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  const auto found = site.runtime.measures(filter);
  if (!found) return exchange->respond(problem(found.error()));
  json::array all;
  for (const MeasureView& measure : *found) all.push_back(object_of(measure));
  answer(exchange, printable_json(mapping::json_text(json::object{{"measures", std::move(all)}})));
}

}  // namespace

void add_event_routes(Router& router, Site& site) {
  const auto add = [&](const char* pattern, auto handler) {
    router.add({"GET", pattern, [&site, handler](const Request& request, const ExchangePointer& exchange) {
                  handler(site, request, exchange);
                }});
  };
  add("/v1/events", events);
  add("/v1/announcements", list_announcements);
  add("/v1/announcements/stream", stream_announcements);
  add("/v1/measures", measures);
}

}  // namespace pawl::serve
