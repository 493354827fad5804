// EventFeed: what happens in the jobs that this process runs, for streams of Server-Sent Events. The last events are
// kept, so that a stream that was cut goes on where it was; one that missed more is told `reset`. What happened is
// durable; that it was told is not: after a restart of the server every stream begins with `reset`.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "pawl/event.h"
#include "serve/exchange.h"

namespace pawl::serve {

struct EventFilter {
  std::string job;  // empty: any, like the others
  std::string name_space;
  RunId run{0};
  std::string graph;
  std::vector<Event::Kind> kinds;
  bool passes(const Event& event) const;
};

class EventFeed {
 public:
  // `server` tells the numbers of this process from those of others.
  explicit EventFeed(std::string server) : server_(std::move(server)) {}
  ~EventFeed() { close(); }

  // On the engine's thread: only keeps it, and only if somebody follows, or did so a short time ago.
  void add(const Event& event);
  // Begins a stream; it is served by the feed's own thread until the client is gone or close().
  void follow(const EventFilter& filter, std::string_view last_seen, const ExchangePointer& exchange);
  void close();
  std::size_t streams() const { return streams_.load(); }
  std::string id_of(std::uint64_t number) const;

 private:
  struct Kept {
    std::uint64_t number;
    Event event;
    bool output_left_out = false;  // it was larger than event_output_bytes_max
  };
  struct Stream {
    EventFilter filter;
    ExchangePointer exchange;
    std::uint64_t seen = 0;  // the number of the last event that it was told, or that did not pass
    bool missed = false;
    std::atomic<bool> gone{false};
    std::chrono::steady_clock::time_point told_at{};
  };

  void run();
  bool is_wanted() const;  // REQUIRES: mutex_ is held, as for the next one
  // What the stream has not been told yet.
  std::vector<Kept> unseen(Stream& stream) const;
  void tell(Stream& stream, const std::vector<Kept>& events);
  std::optional<std::uint64_t> number_in(std::string_view id) const;

  const std::string server_;
  std::atomic<std::size_t> streams_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Kept> kept_;  // the last ones without a gap, up to last_; guarded by mutex_, like the rest
  std::chrono::steady_clock::time_point kept_until_{};  // if nobody follows: for streams that come back
  std::size_t bytes_ = 0;  // of kept_
  std::uint64_t last_ = 0;
  std::list<std::shared_ptr<Stream>> followers_;
  bool closed_ = false;
  std::thread thread_;  // made with the first stream
};

}  // namespace pawl::serve
