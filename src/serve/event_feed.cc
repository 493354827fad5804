#include "serve/event_feed.h"

#include <pthread.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/format.h"
#include "serve/job_json.h"
#include "serve/limits.h"

namespace pawl::serve {

namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr std::size_t chunk_bytes = 64u << 10;

std::size_t bytes_of(const Event& event) {
  return sizeof(Event) + event.job.raw().size() + event.activity.raw().size() + event.address.size() +
         event.output.size();
}

std::string sse(std::string_view name, std::string_view id, std::string_view data) {
  std::string text;
  if (!id.empty()) text += format("id: {}\n", id);
  return text + format("event: {}\ndata: {}\n\n", name, data);
}

}  // namespace

bool EventFilter::passes(const Event& event) const {
  return (job.empty() || event.job.raw() == job) && (name_space.empty() || event.name_space.raw() == name_space) &&
         (run == RunId(0) || event.run == run) && (graph.empty() || event.graph.raw() == graph) &&
         (kinds.empty() || std::find(kinds.begin(), kinds.end(), event.kind) != kinds.end());
}

std::string EventFeed::id_of(std::uint64_t number) const { return format("{}-{}", server_, number); }

std::optional<std::uint64_t> EventFeed::number_in(std::string_view id) const {
  if (id.size() <= server_.size() || !id.starts_with(server_) || id[server_.size()] != '-') return std::nullopt;
  const std::string_view digits = id.substr(server_.size() + 1);
  std::uint64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
  return number;
}

bool EventFeed::is_wanted() const { return !followers_.empty() || SteadyTime::now() < kept_until_; }

void EventFeed::add(const Event& event) {
  bool anybody = false;
  {
    const std::lock_guard lock(mutex_);
    if (!is_wanted()) {
      ++last_;
      kept_.clear();
      bytes_ = 0;
      return;
    }
    if (kept_.size() >= limits::events_kept_max) {
      // The oldest one becomes the newest: its texts have room already.
      bytes_ -= bytes_of(kept_.front().event);
      Kept oldest = std::move(kept_.front());
      kept_.pop_front();
      oldest.event = event;
      oldest.number = ++last_;
      oldest.output_left_out = false;
      kept_.push_back(std::move(oldest));
    } else {
      kept_.push_back({++last_, event, false});
    }
    // A large output would push out many others, and no stream tells it: whoever wants it reads the job.
    Event& kept = kept_.back().event;
    if (kept.output.size() > limits::event_output_bytes_max) {
      kept.output = {};
      kept_.back().output_left_out = true;
    }
    bytes_ += bytes_of(kept);
    while (bytes_ > limits::events_kept_bytes_max && kept_.size() > 1) {
      bytes_ -= bytes_of(kept_.front().event);
      kept_.pop_front();
    }
    anybody = !followers_.empty();
  }
  if (anybody) changed_.notify_one();
}

void EventFeed::follow(const EventFilter& filter, std::string_view last_seen, const ExchangePointer& exchange) {
  auto stream = std::make_shared<Stream>();
  stream->filter = filter;
  stream->exchange = exchange;
  stream->told_at = SteadyTime::now();
  exchange->on_gone([weak = std::weak_ptr(stream), this] {
    if (const auto still = weak.lock()) still->gone = true;
    changed_.notify_one();
  });
  const std::lock_guard lock(mutex_);  // whoever hears the first words hears all that happens after them
  exchange->begin({200, "text/event-stream", "", {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}});
  exchange->write("retry: 1000\n" + sse("hello", "", format("{{\"server\":\"{}\"}}", server_)));
  if (closed_) return exchange->end();
  const auto number = number_in(last_seen);
  stream->seen = number && *number <= last_ ? *number : last_;
  stream->missed = !last_seen.empty() && (!number || *number > last_);
  followers_.push_back(stream);
  streams_ = followers_.size();
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_one();
}

std::vector<EventFeed::Kept> EventFeed::unseen(Stream& stream) const {
  std::vector<Kept> events;
  if (stream.seen == last_) return events;
  const std::uint64_t first = kept_.empty() ? last_ + 1 : kept_.front().number;
  if (stream.seen + 1 < first) {
    stream.missed = true;
    stream.seen = first - 1;
  }
  if (kept_.empty()) return events;
  for (std::size_t i = stream.seen + 1 - kept_.front().number; i < kept_.size(); ++i)
    if (stream.filter.passes(kept_[i].event)) events.push_back(kept_[i]);
  stream.seen = last_;
  return events;
}

void EventFeed::tell(Stream& stream, const std::vector<Kept>& events) {
  std::string text;
  bool alive = true;
  const auto flush = [&] {
    if (alive && !text.empty()) alive = stream.exchange->write(std::exchange(text, {}));
  };
  const auto now = SteadyTime::now();
  if (std::exchange(stream.missed, false)) text += sse("reset", id_of(stream.seen), "{}");
  for (const Kept& kept : events) {
    const std::string id = id_of(kept.number);
    text += sse(name_of(kept.event.kind), id, event_json(kept.event, id, kept.output_left_out));
    if (text.size() >= chunk_bytes) flush();
  }
  if (text.empty() && now - stream.told_at >= limits::stream_beat) text = ": alive\n\n";
  if (!text.empty()) stream.told_at = now;
  flush();
  if (!alive) stream.gone = true;
}

void EventFeed::run() {
  pthread_setname_np(pthread_self(), "pawl-events");
  std::unique_lock lock(mutex_);
  while (!closed_) {
    std::vector<std::pair<std::shared_ptr<Stream>, std::vector<Kept>>> work;
    if (std::erase_if(followers_, [](const auto& stream) { return stream->gone.load(); }) > 0)
      kept_until_ = SteadyTime::now() + limits::events_kept_for;
    streams_ = followers_.size();
    for (const auto& stream : followers_) work.emplace_back(stream, unseen(*stream));
    lock.unlock();
    for (auto& [stream, events] : work) tell(*stream, events);
    work.clear();
    lock.lock();
    const auto nothing_new = [this] {
      return !closed_ && std::all_of(followers_.begin(), followers_.end(), [this](const auto& stream) {
        return stream->seen == last_ && !stream->missed && !stream->gone;
      });
    };
    if (!nothing_new()) continue;
    if (followers_.empty())
      changed_.wait(lock);
    else
      changed_.wait_for(lock, limits::stream_beat);
  }
}

void EventFeed::close() {
  std::list<std::shared_ptr<Stream>> last;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    last.swap(followers_);
    streams_ = 0;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  for (const auto& stream : last) stream->exchange->end();
}

}  // namespace pawl::serve
