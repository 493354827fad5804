#include "serve/span_exporter.h"

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>
#include <optional>
#include <utility>

#include "base/format.h"
#include "serve/job_json.h"
#include "serve/limits.h"

namespace pawl::serve {

namespace json = boost::json;

namespace {

constexpr int kind_internal = 1;
constexpr int status_error = 2;
constexpr Duration send_timeout = std::chrono::seconds(5);
constexpr std::chrono::milliseconds pause_first{500};
constexpr std::chrono::milliseconds pause_longest{10'000};

json::object value_of(const json::value& value) {
  switch (value.kind()) {
    case json::kind::string:
      return {{"stringValue", value}};
    case json::kind::bool_:
      return {{"boolValue", value}};
    case json::kind::int64:  // 64-bit numbers are texts in OTLP's JSON
    case json::kind::uint64:
      return {{"intValue", json::serialize(value)}};
    case json::kind::double_:
      return {{"doubleValue", value}};
    default:
      return {{"stringValue", json::serialize(value)}};
  }
}

void add_attribute(json::array& attributes, std::string_view key, const json::value& value) {
  attributes.push_back(json::object{{"key", key}, {"value", value_of(value)}});
}

json::array attributes_of(const Span& span) {
  const Event& event = span.event;
  json::array attributes;
  add_attribute(attributes, "pawl.job", json::value(event.job.raw()));
  add_attribute(attributes, "pawl.namespace", json::value(event.name_space.raw()));
  add_attribute(attributes, "pawl.run", json::value(run_text(event.run)));
  add_attribute(attributes, "pawl.graph", json::value(event.graph.raw()));
  if (event.status) add_attribute(attributes, "pawl.status", json::string(name_of(*event.status)));
  if (event.activity_kind) {
    add_attribute(attributes, "pawl.activity", json::value(event.activity.raw()));
    add_attribute(attributes, "pawl.activity.kind", json::string(name_of(*event.activity_kind)));
    add_attribute(attributes, "pawl.address", json::value(event.address));
  }
  if (event.code != 0) add_attribute(attributes, "pawl.code", json::value(std::int64_t{event.code}));
  if (event.telemetry.empty()) return attributes;
  boost::system::error_code wrong;
  const json::value own = json::parse(event.telemetry.view(), wrong);
  if (!wrong && own.is_object())
    for (const auto& [key, value] : own.get_object()) add_attribute(attributes, key, value);
  return attributes;
}

json::object span_json(const Span& span) {
  const Event& event = span.event;
  const bool is_job = event.kind == Event::Kind::job_closed;
  json::object object{{"traceId", span.trace.trace_text()},
                      {"spanId", span_text(span.id)},
                      {"name", is_job ? event.graph.raw() : event.activity.raw()},
                      {"kind", kind_internal},
                      {"startTimeUnixNano", format("{}000", event.began.micros())},
                      {"endTimeUnixNano", format("{}000", std::max(event.at, event.began).micros())},
                      {"attributes", attributes_of(span)}};
  if (span.parent != 0) object["parentSpanId"] = span_text(span.parent);
  if (!span.trace.state.empty()) object["traceState"] = span.trace.state;
  const bool failed = is_job ? event.status && *event.status != JobStatus::completed : event.failed;
  if (failed) object["status"] = json::object{{"code", status_error}, {"message", format("code {}", event.code)}};
  return object;
}

}  // namespace

std::optional<Span> span_of(const Event& event) {
  const bool is_job = event.kind == Event::Kind::job_closed;
  if (!is_job && event.kind != Event::Kind::activity_closed) return std::nullopt;
  const std::uint64_t run = event.run.raw();
  const auto given = read_trace(event.trace);
  Span span{given ? *given : own_trace(run), 0, 0, event};
  if (!span.trace.sampled()) return std::nullopt;
  span.event.output = {};
  span.id = is_job ? span_of_job(run) : span_of_activity(run, event.number);
  if (!is_job)
    span.parent = span_of_job(run);
  else if (event.parent)
    span.parent = span_of_activity(event.parent->run.raw(), event.parent->number);
  else if (given && given->has_caller())
    span.parent = given->span;
  return span;
}

std::string spans_json(const std::vector<Span>& spans, const std::string& service, const std::string& version) {
  json::array written;
  for (const Span& span : spans) written.push_back(span_json(span));
  json::array about;
  add_attribute(about, "service.name", json::value(service));
  return json::serialize(json::object{
      {"resourceSpans",
       json::array{json::object{
           {"resource", json::object{{"attributes", std::move(about)}}},
           {"scopeSpans", json::array{json::object{{"scope", json::object{{"name", "pawl"}, {"version", version}}},
                                                   {"spans", std::move(written)}}}}}}}});
}

Result<std::unique_ptr<SpanExporter>> SpanExporter::start(const SpanOptions& options, std::string version,
                                                          std::function<void(const std::string&)> report) {
  ClientOptions client;
  client.url = options.endpoint;
  auto made = HttpClient::make(client);
  if (!made) return Error{made.error().code, format("--otlp: {}", made.error().detail)};
  return std::unique_ptr<SpanExporter>(
      new SpanExporter(std::move(*made), options, std::move(version), std::move(report)));
}

SpanExporter::SpanExporter(std::shared_ptr<HttpClient> client, SpanOptions options, std::string version,
                           std::function<void(const std::string&)> report)
    : client_(std::move(client)),
      options_(std::move(options)),
      version_(std::move(version)),
      report_(std::move(report)),
      thread_([this] { run(); }) {}

void SpanExporter::add(const Event& event) {
  auto span = span_of(event);
  if (!span) return;
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= limits::spans_waiting_max) {
    ++dropped_;
    return;
  }
  waiting_.push_back(std::move(*span));
  // One waits a second for others; a full batch does not.
  if (waiting_.size() == 1 || waiting_.size() == limits::spans_per_batch_max) wake_.notify_one();
}

void SpanExporter::close() {
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    closing_ = true;
  }
  wake_.notify_one();
  thread_.join();
  client_->close();
}

bool SpanExporter::send(const std::vector<Span>& batch) {
  HttpClient::Call call;
  call.method = "POST";
  call.target = "/v1/traces";
  call.body = spans_json(batch, options_.service, version_);
  call.timeout = send_timeout;
  call.repeatable = true;
  const auto reply = client_->send(call);
  if (reply && reply->status < 300) {
    sent_ += batch.size();
    return true;
  }
  const std::string why = reply ? format("it answers {}", reply->status) : reply.error().detail;
  report_(format("spans do not reach the collector {}: {}", options_.endpoint, why));
  // What a collector refuses, it refuses again.
  const bool again = !reply || reply->status == 429 || reply->status >= 500;
  if (!again) dropped_ += batch.size();
  return !again;
}

void SpanExporter::run() {
  std::vector<Span> batch;
  std::uint64_t told_dropped = 0;
  auto pause = pause_first;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    if (!closing_)
      wake_.wait_for(lock, limits::spans_every,
                     [this] { return closing_ || waiting_.size() >= limits::spans_per_batch_max; });
    const std::size_t count = std::min(waiting_.size(), limits::spans_per_batch_max);
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
    batch.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    const bool last = closing_;
    lock.unlock();
    bool sent = batch.empty() || send(batch);
    lock.lock();
    while (!sent && !closing_) {  // later ones wait meanwhile, as far as there is room
      wake_.wait_for(lock, pause, [this] { return closing_; });
      if (closing_) break;
      pause = std::min(pause * 2, pause_longest);
      lock.unlock();
      sent = send(batch);
      lock.lock();
    }
    if (sent) pause = pause_first;
    if (!sent) dropped_ += batch.size();
    if (const std::uint64_t dropped = dropped_.load(); dropped > told_dropped) {
      told_dropped = dropped;
      report_(format("{} spans were dropped", dropped));
    }
    if (last && (waiting_.empty() || !sent)) {
      dropped_ += waiting_.size();
      return;
    }
  }
}

}  // namespace pawl::serve
