#include "serve/work_json.h"

#include <algorithm>

#include "base/format.h"
#include "base/trace_context.h"
#include "base/utf8.h"
#include "mapping/json_text.h"
#include "serve/job_json.h"
#include "serve/limits.h"

namespace pawl::serve {

namespace {

using Kind = runtime::Said::Kind;

void add_text(std::string& out, std::string_view name, std::string_view value) {
  out += out.size() == 1 ? "\"" : ",\"";
  out += name;
  out += "\":";
  mapping::append_json_string(out, value);
}

template <class Source>
Duration lease_in(Source& fields) {
  const Duration lease = fields.time("lease").value_or(limits::lease_default);
  if (lease < limits::lease_min || lease > limits::lease_max) fields.wrong("lease", "it is between 1s and 1d");
  return lease;
}

runtime::TakeRequest request_in(Fields& fields) {
  runtime::TakeRequest request;
  request.topics = fields.texts("topics", limits::topics_per_take_max);
  if (request.topics.empty()) fields.wrong("topics", "name at least one topic");
  for (const std::string& topic : request.topics)
    if (const auto named = check_name("topic", topic); !named) fields.wrong("topics", named.error().detail);
  std::sort(request.topics.begin(), request.topics.end());
  request.topics.erase(std::unique(request.topics.begin(), request.topics.end()), request.topics.end());
  request.worker = fields.text("worker", "unnamed");
  if (const auto named = check_name("worker", request.worker); !named) fields.wrong("worker", named.error().detail);
  request.lease = lease_in(fields);
  request.bytes_max = limits::take_bytes_max;
  return request;
}

// `retryable` tells the two kinds of failures apart.
Kind kind_of(std::string_view word, bool retryable) {
  if (word == "fail") return retryable ? Kind::fail : Kind::fail_for_good;
  if (word == "pending") return Kind::pending;
  if (word == "heartbeat") return Kind::heartbeat;
  if (word == "release") return Kind::release;
  return Kind::complete;
}

// Unless the worker says another.
std::int32_t code_of(Kind kind) {
  if (kind == Kind::fail || kind == Kind::fail_for_good) return 500;
  return kind == Kind::pending ? 202 : 200;
}

// From the fields of an answer, or from a query.
template <class Source>
runtime::Said read_said(Source& source, std::string_view word) {
  runtime::Said said;
  said.kind = kind_of(word, source.truth("retryable", true));
  said.code = static_cast<std::int32_t>(source.number("code", 100, 999, code_of(said.kind)));
  said.number = static_cast<std::uint64_t>(source.number("number", 1, 1'000'000, 0));
  if (said.kind == Kind::pending && said.number == 0)
    source.wrong("number", "a pending answer has a number: 1, 2, 3 ...");
  said.lease = lease_in(source);
  return said;
}

}  // namespace

std::string work_json(const runtime::TakenWork& work, const JobName& job) {
  std::string out;
  out.reserve(400 + work.facts.input.size() + work.facts.progress.size());
  out = "{";
  add_text(out, "token", work.facts.token);
  add_text(out, "topic", work.facts.topic.raw());
  add_text(out, "key", work.facts.key);
  add_text(out, "run", run_text(work.facts.run));
  add_text(out, "job", job.id);
  add_text(out, "namespace", job.name_space);
  out += ",\"attempt\":" + std::to_string(work.facts.attempt);
  out += ",\"input\":" + payload_json(work.facts.input);
  out += ",\"progress\":" + payload_json(work.facts.progress);
  add_text(out, "lease_until", time_text(work.lease_until));
  if (const auto trace = read_trace(work.facts.trace)) {
    add_text(out, "traceparent", trace->traceparent());
    if (!trace->state.empty()) add_text(out, "tracestate", trace->state);
  }
  return out + "}";
}

Wish wish_in(Fields& fields) {
  Wish wish{request_in(fields), {}};
  wish.request.items_max = static_cast<std::size_t>(fields.number("max", 1, limits::take_max, 1));
  wish.wait = std::min<Duration>(fields.time("wait").value_or(limits::take_wait_default), limits::wait_max);
  return wish;
}

runtime::TakeRequest stream_in(Fields& fields) {
  runtime::TakeRequest request = request_in(fields);
  request.items_max = static_cast<std::size_t>(fields.number("concurrency", 1, limits::stream_work_max, 1));
  return request;
}

runtime::Said said_in(Query& query, std::string_view word) { return read_said(query, word); }

Answer answer_in(Fields& fields) {
  Answer answer;
  answer.token = fields.needed("token");
  const std::string word = fields.one_of("do", {"complete", "fail", "pending", "heartbeat", "release"}, "complete");
  answer.said = read_said(fields, word);
  answer.said.data = fields.payload("data");
  return answer;
}

}  // namespace pawl::serve
