#include "serve/remote_workers.h"

#include <pthread.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <utility>

#include "base/format.h"
#include "mapping/json_parse.h"
#include "mapping/json_text.h"
#include "runtime/user_call.h"
#include "serve/job_json.h"
#include "serve/limits.h"
#include "serve/read_json.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

using SteadyTime = std::chrono::steady_clock;

constexpr std::chrono::seconds last_words_max{2};  // of a stop: until all is given back
const std::string take_target = "/v1/work/take";

std::string json_quoted(std::string_view text) {
  std::string out;
  mapping::append_json_string(out, text);
  return out;
}

std::string seconds(Duration time) { return format("{}", static_cast<double>(time.count()) / 1e6); }

// A payload as it is if it is JSON, else as a text.
std::string data_of(const Payload& payload) { return payload.empty() ? "null" : payload_json(payload); }

}  // namespace

class RemoteWorkers::Line final : public detail::WorkLine {
 public:
  Line(RemoteWorkers& workers, Attempt& attempt) : workers_(workers), attempt_(attempt) {}
  void pending(Payload data, std::int32_t code) override {
    const std::uint64_t number = ++attempt_.pending;
    workers_.say(
        {attempt_.facts.token, format("{{\"token\":{},\"do\":\"pending\",\"number\":{},\"code\":{},\"data\":{}}}",
                                      json_quoted(attempt_.facts.token), number, code, data_of(data))});
  }
  void heartbeat(Payload progress) override {
    workers_.say(heartbeat_of(attempt_.facts.token, workers_.options_.lease, progress));
  }
  bool cancelled() const override { return attempt_.cancelled; }

 private:
  RemoteWorkers& workers_;
  Attempt& attempt_;
};

RemoteWorkers::Word RemoteWorkers::release_of(const Attempt& attempt) {
  const std::string& token = attempt.facts.token;
  return {token, format("{{\"token\":{},\"do\":\"release\"}}", json_quoted(token)), Word::Kind::last};
}

RemoteWorkers::Word RemoteWorkers::heartbeat_of(const std::string& token, Duration lease, const Payload& progress) {
  std::string json = format("{{\"token\":{},\"do\":\"heartbeat\",\"lease\":{}", json_quoted(token), seconds(lease));
  if (!progress.empty()) json += ",\"data\":" + data_of(progress);
  return {token, json + "}", Word::Kind::heartbeat};
}

RemoteWorkers::Word RemoteWorkers::word_of(const std::string& token, const Reply& reply) {
  if (reply.status() == Reply::Status::later) {
    Word word = heartbeat_of(token, std::min<Duration>(reply.within(), limits::lease_max));
    word.kind = Word::Kind::last;
    return word;
  }
  return {token,
          format("{{\"token\":{},\"do\":\"{}\",\"retryable\":{},\"code\":{},\"data\":{}}}", json_quoted(token),
                 reply.status() == Reply::Status::success ? "complete" : "fail", reply.status() != Reply::Status::fatal,
                 reply.code(), data_of(reply.data())),
          Word::Kind::last};
}

RemoteWorkers::RemoteWorkers(std::shared_ptr<HttpClient> client, const ConnectOptions& options, Report report)
    : client_(std::move(client)), options_(options), report_(std::move(report)) {}

void RemoteWorkers::serve(const std::string& topic, Worker worker) {
  const std::lock_guard lock(mutex_);
  workers_.insert_or_assign(topic, std::make_shared<const Worker>(std::move(worker)));
  changed_.notify_all();
}

void RemoteWorkers::launch() {
  const std::lock_guard lock(mutex_);
  if (!threads_.empty() || closed_) return;
  threads_.emplace_back([this] { run_taker(); });
  threads_.emplace_back([this] { run_sender(); });
  for (std::uint32_t i = 0; i < options_.worker_threads; ++i) threads_.emplace_back([this] { run_worker(); });
}

std::size_t RemoteWorkers::room() const {
  const std::size_t most = std::max<std::size_t>(options_.worker_queue, options_.worker_threads);
  return attempts_.size() >= most ? 0 : most - attempts_.size();
}

void RemoteWorkers::run_taker() {
  pthread_setname_np(pthread_self(), "pawl-take");
  Duration pause = first_pause;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || (!workers_.empty() && room() > 0); });
    if (stopping_) break;
    std::string topics;
    for (const auto& [topic, worker] : workers_) topics += (topics.empty() ? "" : ",") + json_quoted(topic);
    const std::size_t most = std::min(room(), limits::take_max);
    taking_ = true;
    lock.unlock();
    const auto reply =
        client_->send({.method = "POST",
                       .target = take_target,
                       .body = format("{{\"topics\":[{}],\"max\":{},\"worker\":{},\"lease\":{},\"wait\":20}}", topics,
                                      most, json_quoted(options_.worker), seconds(options_.lease)),
                       .timeout = std::chrono::seconds(40)});
    const bool taken = reply && reply->status == 200;
    if (taken) {
      take_in(reply->body);
      pause = first_pause;
    }
    lock.lock();
    taking_ = false;
    changed_.notify_all();
    if (taken || stopping_) continue;
    lock.unlock();
    report_(reply ? format("the server hands out no work: {} {}", reply->status, reply->body) : reply.error().detail);
    lock.lock();
    changed_.wait_for(lock, pause, [this] { return stopping_; });
    pause = std::min<Duration>(2 * pause, longest_pause);
  }
}

void RemoteWorkers::take_in(const std::string& body) {
  const auto parsed = mapping::parse_json(body);
  if (!parsed || !parsed->is_object()) return report_("the server's answer is no JSON");
  const json::value* work = parsed->get_object().if_contains("work");
  if (work == nullptr || !work->is_array()) return;
  const std::lock_guard lock(mutex_);
  for (const json::value& one : work->get_array()) {
    if (!one.is_object()) continue;
    auto attempt = std::make_shared<Attempt>();
    attempt->facts = read_work(one.get_object());
    attempt->beat_at = SteadyTime::now() + options_.lease / beats_per_lease;
    attempts_.emplace(attempt->facts.token, attempt);
    if (stopping_)
      words_.push_back(release_of(*attempt));
    else
      waiting_.push_back(std::move(attempt));
  }
  changed_.notify_all();
}

void RemoteWorkers::run_worker() {
  pthread_setname_np(pthread_self(), "pawl-work");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closed_ || (!waiting_.empty() && !stopping_); });
    if (closed_) return;
    const std::shared_ptr<Attempt> attempt = waiting_.front();
    waiting_.pop_front();
    const auto worker = workers_.at(attempt->facts.topic.raw());
    ++busy_;
    lock.unlock();
    const std::string& token = attempt->facts.token;
    Line line(*this, *attempt);
    Work work(attempt->facts, line);
    const bool stale = attempt->cancelled;
    const Reply reply = stale ? Reply::error({}) : runtime::call_user([&] { return (*worker)(work); });
    const bool left = attempt->cancelled && reply.status() != Reply::Status::success;  // as it was told to
    say(left ? release_of(*attempt) : word_of(token, reply));
    lock.lock();
    --busy_;
    changed_.notify_all();
  }
}

void RemoteWorkers::stop(Duration at_most) {
  {
    std::unique_lock lock(mutex_);
    if (closed_) return;
    stopping_ = true;
    for (const auto& attempt : waiting_) words_.push_back(release_of(*attempt));
    waiting_.clear();
    changed_.notify_all();
    const auto idle = [this] { return busy_ == 0; };
    changed_.wait_for(lock, at_most, idle);
    for (auto& [token, attempt] : attempts_) attempt->cancelled = true;
    changed_.wait(lock, idle);  // a worker that does not return keeps this waiting: its thread cannot be ended
    // What the server hands out just now is given back, too: nobody waits for the end of its lease.
    const auto until = SteadyTime::now() + last_words_max;
    while (taking_ && SteadyTime::now() < until) {
      client_->hang_up(take_target);
      changed_.wait_for(lock, first_pause, [this] { return !taking_; });
    }
    if (!threads_.empty()) changed_.wait_until(lock, until, [this] { return words_.empty() && attempts_.empty(); });
    closed_ = true;
    changed_.notify_all();
  }
  client_->close();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace pawl::serve
