#include "serve/announcement_stream.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "base/format.h"
#include "serve/job_json.h"
#include "serve/limits.h"

namespace pawl::serve {

namespace {

using SteadyTime = std::chrono::steady_clock;

// Looks when something was announced here, and every second for what other processes announced.
struct Follower : std::enable_shared_from_this<Follower> {
  Follower(Site& its_site, AnnouncementFilter its_filter, ExchangePointer its_exchange)
      : site(its_site), filter(std::move(its_filter)), exchange(std::move(its_exchange)) {}

  void look_later() {
    site.timers.after(limits::look_every,
                      [self = shared_from_this()] { self->site.crew.finish([self] { self->look(); }); });
  }
  void look() {
    if (gone) return end();
    if (site.stopping) {
      exchange->end();
      return end();
    }
    const auto page = site.runtime.announcements(filter);  // if it fails, it is asked again
    if (page && !page->empty()) return tell(std::make_shared<const std::vector<Announcement>>(*page), 0);
    if (SteadyTime::now() - told_at >= limits::stream_beat && !write(": alive\n\n")) return end();
    look_later();
  }
  // From number `next` on, as many as a connection holds for a slow client; the others when the client took those. So
  // a client may be slow, and an announcement large: nothing is cut off, and little waits in memory.
  void tell(std::shared_ptr<const std::vector<Announcement>> page, std::size_t next) {
    std::string text;
    while (next < page->size()) {
      const Announcement& said = (*page)[next];
      const std::string one = format("id: {}\nevent: announcement\ndata: {}\n\n", said.cursor, announcement_json(said));
      if (!text.empty() && text.size() + one.size() > limits::stream_queue_bytes_max / 2) break;
      text += one;
      filter.after = said.cursor;
      ++next;
    }
    if (gone || !write(std::move(text))) return end();
    exchange->when_written([self = shared_from_this(), page = std::move(page), next] {
      self->site.crew.finish([self, page, next] {
        if (next < page->size() && !self->site.stopping) return self->tell(page, next);
        self->look();
      });
    });
  }
  bool write(std::string text) {
    told_at = SteadyTime::now();
    return exchange->write(std::move(text));
  }
  void end() { --site.work_streams; }

  Site& site;
  AnnouncementFilter filter;
  const ExchangePointer exchange;
  std::atomic<bool> gone{false};
  SteadyTime::time_point told_at = SteadyTime::now();
};

}  // namespace

void follow_announcements(Site& site, AnnouncementFilter filter, const ExchangePointer& exchange) {
  auto follower = std::make_shared<Follower>(site, std::move(filter), exchange);
  ++site.work_streams;
  exchange->on_gone([weak = std::weak_ptr(follower)] {
    if (const auto still = weak.lock()) still->gone = true;
  });
  exchange->begin({200, "text/event-stream", "", {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}});
  exchange->write("retry: 1000\n\n");
  // At once if nothing waits; else the first look would be cut off by its own greeting.
  exchange->when_written([follower] { follower->site.crew.finish([follower] { follower->look(); }); });
}

}  // namespace pawl::serve
