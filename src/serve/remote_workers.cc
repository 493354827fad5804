#include "serve/remote_workers.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <chrono>
#include <utility>

#include "base/entropy.h"
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

std::string json_quoted(std::string_view text) {
  std::string out;
  mapping::append_json_string(out, text);
  return out;
}

std::string seconds(Duration time) { return format("{}", static_cast<double>(time.count()) / 1e6); }

// Which stream is meant must be told apart from those of all other processes.
std::string drawn_name() {
  const auto drawn = draw_entropy();
  return drawn ? format("{:016x}{:016x}", drawn->high, drawn->low) : std::string();
}

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
    : client_(std::move(client)),
      options_(options),
      report_(std::move(report)),
      name_(drawn_name()),
      queue_(options.worker_threads) {}

void RemoteWorkers::serve(const std::string& topic, Worker worker) {
  const std::lock_guard lock(mutex_);
  workers_.insert_or_assign(topic, std::make_shared<const Worker>(std::move(worker)));
  changed_.notify_all();
  words_came_.notify_all();  // a stream with all topics takes the place of the open one
}

void RemoteWorkers::launch() {
  const std::lock_guard lock(mutex_);
  if (!threads_.empty() || closed_) return;
  threads_.emplace_back([this] { run_taker(); });
  for (int i = 0; i < senders; ++i) threads_.emplace_back([this] { run_sender(); });
  for (std::uint32_t i = 0; i < options_.worker_threads; ++i) threads_.emplace_back([this] { run_worker(); });
}

std::size_t RemoteWorkers::most() const {
  if (options_.worker_queue == 0) return queue_.room();
  const std::size_t wanted = std::max<std::size_t>(options_.worker_queue, options_.worker_threads);
  return std::min(wanted, limits::stream_work_max);
}

// The server does not count what it gave out on earlier streams: after a change as much again can wait here, once. A
// stream with only the room that these leave would have to be changed again, and so on.
bool RemoteWorkers::wants_another_stream() const {
  return stopping_ || stream_topics_ != workers_.size() || stream_room_ != most();
}

std::string RemoteWorkers::stream_name() const { return format("{}-{}", name_, stream_); }

void RemoteWorkers::run_taker() {
  pthread_setname_np(pthread_self(), "pawl-take");
  Duration pause = first_pause;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || (!workers_.empty() && attempts_.size() < most()); });
    if (stopping_) break;
    std::string topics;
    for (const auto& [topic, worker] : workers_) topics += (topics.empty() ? "" : ",") + json_quoted(topic);
    ++stream_;
    stream_topics_ = workers_.size();
    stream_room_ = most();
    taking_ = true;
    stream_ending_ = false;
    const HttpClient::Call call{
        .method = "POST",
        .target = work_stream_target,
        .body = format("{{\"topics\":[{}],\"concurrency\":{},\"worker\":{},\"lease\":{},\"stream\":{}}}", topics,
                       stream_room_, json_quoted(options_.worker), seconds(options_.lease), json_quoted(stream_name())),
        .timeout = 2 * limits::stream_beat + std::chrono::seconds(10)};
    lock.unlock();
    std::string text;
    const Status ended = client_->stream(call, [&](std::string_view bytes) {
      text += bytes;
      hear(text);
      return true;  // to its end: whatever was written is known here then
    });
    lock.lock();
    taking_ = false;
    const bool was_open = std::exchange(stream_open_, false);
    changed_.notify_all();
    if (was_open) pause = first_pause;
    if (stopping_ || (was_open && wants_another_stream())) continue;
    lock.unlock();
    report_(ended ? "the server ended the stream of work"
                  : format("the server hands out no work: {}", ended.error().detail));
    lock.lock();
    changed_.wait_for(lock, pause, [this] { return stopping_; });
    pause = std::min<Duration>(2 * pause, longest_pause);
  }
  // Nothing comes any more: what did not begin is for others.
  for (const auto& attempt : waiting_) add_word(release_of(*attempt));
  waiting_.clear();
}

// Without bytes: the stream has begun.
void RemoteWorkers::hear(std::string& text) {
  std::vector<std::shared_ptr<Attempt>> came;
  std::array<unsigned char, 4096> first_bytes;  // enough for most lines
  json::monotonic_resource memory(first_bytes.data(), first_bytes.size());
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) continue;  // a sign of life
    memory.release();
    const auto parsed = mapping::parse_json(line, &memory);
    if (!parsed || !parsed->is_object()) {
      report_("a line of the server's stream of work is no JSON");
      continue;
    }
    auto attempt = std::make_shared<Attempt>();
    attempt->facts = read_work(parsed->get_object());
    attempt->beat_at = SteadyTime::now() + options_.lease / beats_per_lease;
    came.push_back(std::move(attempt));
  }
  text.erase(0, begin);
  std::unique_lock lock(mutex_);
  stream_open_ = true;
  for (std::shared_ptr<Attempt>& attempt : came) {
    next_beat_ = std::min(next_beat_, attempt->beat_at);
    attempts_.emplace(attempt->facts.token, attempt);
    waiting_.push_back(std::move(attempt));
  }
  const bool must_end = must_end_stream();
  lock.unlock();
  if (!came.empty()) came.size() == 1 ? work_came_.notify_one() : work_came_.notify_all();
  if (must_end) words_came_.notify_one();
}

// A server that cannot end it, because a proxy sent this to another one, sees that nobody reads it.
void RemoteWorkers::end_stream(std::unique_lock<std::mutex>& lock) {
  stream_ending_ = true;
  const std::uint64_t number = stream_;
  const std::string name = stream_name();
  lock.unlock();
  const auto reply = client_->send({.method = "POST",
                                    .target = "/v1/work/stream/end",
                                    .body = format("{{\"stream\":{}}}", json_quoted(name)),
                                    .timeout = last_words_max,
                                    .repeatable = true});
  lock.lock();
  const bool is_open = taking_ && stream_ == number;  // not the next one
  if (is_open && (!reply || reply->status != 200)) client_->hang_up(work_stream_target);
}

void RemoteWorkers::run_worker() {
  pthread_setname_np(pthread_self(), "pawl-work");
  std::unique_lock lock(mutex_);
  for (;;) {
    work_came_.wait(lock, [this] { return closed_ || (!waiting_.empty() && !stopping_); });
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
    const auto begun = SteadyTime::now();
    const Reply reply = stale ? Reply::error({}) : runtime::call_user([&] { return (*worker)(work); });
    const auto worked = SteadyTime::now() - begun;
    const bool left = attempt->cancelled && reply.status() != Reply::Status::success;  // as it was told to
    Word word = left ? release_of(*attempt) : word_of(token, reply);
    lock.lock();
    add_word(std::move(word));
    queue_.finished(std::chrono::duration_cast<Duration>(worked));
    if (must_end_stream()) words_came_.notify_one();
    --busy_;
    if (stopping_) changed_.notify_all();
  }
}

void RemoteWorkers::stop(Duration at_most) {
  {
    std::unique_lock lock(mutex_);
    if (closed_) return;
    stopping_ = true;
    changed_.notify_all();
    words_came_.notify_all();  // one of them ends the stream
    const auto idle = [this] { return busy_ == 0; };
    changed_.wait_for(lock, at_most, idle);
    for (auto& [token, attempt] : attempts_) attempt->cancelled = true;
    changed_.wait(lock, idle);  // a worker that does not return keeps this waiting: its thread cannot be ended
    // What the server hands out just now is given back, too: nobody waits for the end of its lease.
    const auto until = SteadyTime::now() + last_words_max;
    if (!changed_.wait_until(lock, until, [this] { return !taking_; })) client_->hang_up(work_stream_target);
    if (!threads_.empty())
      changed_.wait_until(lock, until + first_pause,
                          [this] { return !taking_ && words_.empty() && attempts_.empty(); });
    closed_ = true;
    changed_.notify_all();
    work_came_.notify_all();
    words_came_.notify_all();
  }
  client_->close();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace pawl::serve
