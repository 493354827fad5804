// Routes of workers: take work, say what became of it.
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "base/format.h"
#include "mapping/json_parse.h"
#include "mapping/json_text.h"
#include "serve/handlers.h"
#include "serve/limits.h"
#include "serve/work_json.h"
#include "serve/work_stream.h"

namespace pawl::serve {

namespace {

std::string list_of(Site& site, const std::vector<TakenWork>& work) {
  std::string list = "[";
  for (const TakenWork& one : work) list += (list.size() == 1 ? "" : ",") + work_text(site, one);
  return list + "]";
}

Response stale_or(const Error& error) {
  return error.code == ErrorCode::conflict ? problem("stale_token", error.detail) : problem(error);
}
std::string stale_or_json(const Error& error) {
  return error.code == ErrorCode::conflict ? problem_json("stale_token", error.detail) : problem_json(error);
}

// Waits for work, and gives it to `then` on a thread of the crew.
void take_then(Site& site, const Wish& wish, const ExchangePointer& exchange,
               std::function<void(Result<std::vector<TakenWork>>)> then) {
  const auto number = site.desk.take(wish.request, wish.wait, [&site, then](Result<std::vector<TakenWork>> work) {
    site.crew.finish([then, work = std::move(work)]() mutable { then(std::move(work)); });
  });
  if (!number) return then(Error{ErrorCode::retry_later, "too many workers wait already (waiting_max, topics_max)"});
  exchange->on_gone([&site, number] { site.desk.leave(*number); });
}

void take(Site& site, const Request& request, const ExchangePointer& exchange) {
  Fields fields(request.body);
  const Wish wish = wish_in(fields);
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  take_then(site, wish, exchange, [&site, exchange](Result<std::vector<TakenWork>> work) {
    if (!work) return exchange->respond(problem(work.error()));
    answer(exchange, "{\"work\":" + list_of(site, *work) + "}");
  });
}

void stream(Site& site, const Request& request, const ExchangePointer& exchange) {
  Fields fields(request.body);
  const runtime::TakeRequest wish = stream_in(fields);
  const std::string name = fields.text("stream");
  if (name.size() > limits::stream_name_bytes_max)
    fields.wrong("stream", format("it has at most {} bytes", limits::stream_name_bytes_max));
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  if (site.events.streams() + site.work_streams >= limits::streams_max)
    return exchange->respond(problem("too_many_streams", "this server has as many streams as it takes (streams_max)"));
  stream_work(site, wish, name, exchange);
}

void end_stream(Site& site, const Request& request, const ExchangePointer& exchange) {
  Fields fields(request.body);
  const std::string name = fields.needed("stream");
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  if (!site.named_streams.end(name)) return exchange->respond(problem("not_found", "this server has no such stream"));
  answer_ok(exchange);
}

void say(Site& site, const std::string& token, Said said, std::function<void(const Status&)> done) {
  const Instant lease_until = Instant(std::chrono::system_clock::now()) + said.lease;
  const Said::Kind kind = said.kind;
  site.runtime.handouts().say(token, std::move(said),
                              [&site, token, kind, lease_until, done = std::move(done)](const Status& became) {
                                site.desk.said(token, kind, became, lease_until);
                                done(became);
                              });
}

void say_one(Site& site, const Request& request, std::string_view word, const ExchangePointer& exchange) {
  Query query(request);
  Said said = said_in(query, word);
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  if (!request.body.empty()) {
    const auto data = mapping::parse_json(request.body);
    if (!data) return exchange->respond(problem("invalid", "the body must be JSON: " + data.error().detail));
    said.data = Payload(mapping::json_text(*data));
  }
  say(site, request.captured_as("token"), std::move(said), [exchange](const Status& became) {
    if (!became) return exchange->respond(stale_or(became.error()));
    answer_ok(exchange);
  });
}

// Several answers, each alone; the response is sent when the last of them is durable.
struct Answers {
  std::vector<Answer> answers;
  std::vector<std::string> problems;  // of each; empty: it was taken
  std::atomic<std::size_t> left{0};
  std::function<void()> done;

  // On the engine's thread, mostly: the text of all is made later.
  void note(std::size_t i, const Status& became) { set(i, became ? "" : stale_or_json(became.error())); }
  void set(std::size_t i, std::string problem) {
    problems[i] = std::move(problem);
    if (--left == 0) std::exchange(done, {})();  // it holds this object
  }
  std::string results_json() const {
    std::string list = "[";
    for (std::size_t i = 0; i < answers.size(); ++i) {
      list += i == 0 ? "{\"token\":" : ",{\"token\":";
      mapping::append_json_string(list, answers[i].token);
      list += problems[i].empty() ? ",\"ok\":true}" : ",\"ok\":false,\"problem\":" + problems[i] + "}";
    }
    return list + "]";
  }
};

// What is wrong with an answer is its own problem: the others count.
std::string read_answer(const boost::json::value& value, std::size_t i, Answer& answer) {
  if (!value.is_object())
    return problem_json("invalid", "an answer is an object with token and do", format("answers[{}]", i));
  Fields fields(value.get_object());
  answer = answer_in(fields);
  const auto& mistake = fields.mistake();
  return mistake ? problem_json("invalid", mistake->error.detail, format("answers[{}].{}", i, mistake->field)) : "";
}

void say_many(Site& site, const Request& request, const ExchangePointer& exchange) {
  boost::json::monotonic_resource memory;  // for all values of a large body at once
  Fields fields(request.body, &memory);
  const boost::json::array* list = fields.list("answers", limits::answers_max);
  const boost::json::object* more = fields.object("take");
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  std::optional<Wish> wish;
  if (more != nullptr) {
    Fields its_fields(*more);
    wish = wish_in(its_fields);
    if (const auto& mistake = its_fields.mistake())
      return exchange->respond(problem(mistake->error, "take." + mistake->field));
  }
  const std::size_t count = list == nullptr ? 0 : list->size();
  auto all = std::make_shared<Answers>();
  all->answers.resize(count);
  all->problems.resize(count);
  all->left = count;
  const auto finish = [&site, all, wish, exchange] {
    const std::string body = "{\"results\":" + all->results_json();
    if (!wish) return answer(exchange, body + "}");
    take_then(site, *wish, exchange, [&site, exchange, body](Result<std::vector<TakenWork>> work) {
      // The answers are durable: that nothing could be taken now is no reason to hide it.
      answer(exchange, body + ",\"work\":" + (work ? list_of(site, *work) : "[]") + "}");
    });
  };
  if (count == 0) return finish();
  all->done = [&site, finish] { site.crew.finish(finish); };
  for (std::size_t i = 0; i < count; ++i) {
    std::string wrong = read_answer((*list)[i], i, all->answers[i]);
    if (!wrong.empty())
      all->set(i, std::move(wrong));
    else
      say(site, all->answers[i].token, std::move(all->answers[i].said),
          [all, i](const Status& became) { all->note(i, became); });
  }
}

}  // namespace

void add_work_routes(Router& router, Site& site) {
  const auto add = [&](const char* pattern, auto handler) {
    router.add({"POST", pattern, [&site, handler](const Request& request, const ExchangePointer& exchange) {
                  handler(site, request, exchange);
                }});
  };
  add("/v1/work/take", take);
  add("/v1/work/stream", stream);
  add("/v1/work/stream/end", end_stream);
  add("/v1/work/answers", say_many);
  for (const char* word : {"complete", "fail", "pending", "heartbeat", "release"})
    router.add({"POST", format("/v1/work/{{token}}/{}", word),
                [&site, word](const Request& request, const ExchangePointer& exchange) {
                  say_one(site, request, word, exchange);
                }});
}

}  // namespace pawl::serve
