// SpanExporter: jobs and activities as spans of OpenTelemetry, sent by OTLP (HTTP and JSON) to a collector when they
// end. A span is reported once, by the process that ended what it stands for; one that waits when the process dies, or
// that a collector does not take in time, is lost. What happened is in the store.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/trace_context.h"
#include "pawl/event.h"
#include "pawl/result.h"
#include "serve/http_client.h"

namespace pawl::serve {

struct SpanOptions {
  std::string endpoint{};  // http://HOST:PORT of the collector; spans go to /v1/traces there. Empty: none
  std::string service = "pawl";
};

struct Span {
  TraceContext trace;
  std::uint64_t id = 0;
  std::uint64_t parent = 0;  // 0: it has none
  Event event;               // the end of a job or an activity
};

// The span that an event ends. None: it ends none, or its trace is not sampled.
std::optional<Span> span_of(const Event& event);
// The body of one request to a collector.
std::string spans_json(const std::vector<Span>& spans, const std::string& service, const std::string& version);

class SpanExporter {
 public:
  static Result<std::unique_ptr<SpanExporter>> start(const SpanOptions& options, std::string version,
                                                     std::function<void(const std::string&)> report);
  ~SpanExporter() { close(); }
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  void add(const Event& event);  // on the engine's thread: only keeps it
  void close();                  // tries once to send what waits
  std::uint64_t sent() const { return sent_.load(); }
  std::uint64_t dropped() const { return dropped_.load(); }

 private:
  SpanExporter(std::shared_ptr<HttpClient> client, SpanOptions options, std::string version,
               std::function<void(const std::string&)> report);
  void run();
  bool send(const std::vector<Span>& batch);

  const std::shared_ptr<HttpClient> client_;
  const SpanOptions options_;
  const std::string version_;
  const std::function<void(const std::string&)> report_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Span> waiting_;  // guarded by mutex_
  bool closing_ = false;      // guarded by mutex_
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::thread thread_;
};

}  // namespace pawl::serve
