#include "serve/work_stream.h"

#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "serve/job_json.h"
#include "serve/limits.h"
#include "serve/problem.h"
#include "serve/work_json.h"

namespace pawl::serve {

namespace {

// How a job is called. One that is gone has no name: its work is taken back in a moment.
JobName name_of_job(Site& site, RunId run) {
  if (auto known = site.names.find(run)) return std::move(*known);
  const auto view = site.runtime.read(run);
  if (!view) return {run_text(run), "default"};
  site.names.put(run, view->id.raw(), view->name_space.raw());
  return {view->id.raw(), view->name_space.raw()};
}

class WorkStream : public std::enable_shared_from_this<WorkStream> {
 public:
  WorkStream(Site& site, std::string name, ExchangePointer exchange)
      : site_(site), name_(std::move(name)), exchange_(std::move(exchange)) {
    ++site_.work_streams;
  }

  // On the engine's thread. False: nobody reads it any more.
  bool give(std::vector<TakenWork>& work) {
    {
      const std::lock_guard lock(mutex_);
      if (gone_) return false;
    }
    site_.crew.finish([self = shared_from_this(), work = std::move(work)] { self->add(work); });
    return true;
  }
  void begin(HandoutDesk::Number number) {
    exchange_->begin({200, "application/x-ndjson", "", {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}});
    bool left = false;
    {
      const std::lock_guard lock(mutex_);
      number_ = number;
      left = left_;
    }
    if (left) {  // the server stopped meanwhile, or its client did
      site_.desk.leave(number);
      pump();  // gives back what came
      return exchange_->end();
    }
    exchange_->on_gone([self = shared_from_this()] { self->leave(); });
    pump();
    beat();
  }
  // What was written arrives, and nothing is written after it.
  void end() {
    leave();
    exchange_->end();
  }

  void leave() {
    HandoutDesk::Number number = 0;
    {
      const std::lock_guard lock(mutex_);
      gone_ = true;
      if (std::exchange(left_, true)) return;
      number = number_;
    }
    --site_.work_streams;
    if (!name_.empty()) site_.named_streams.remove(name_);
    if (number == 0) return;
    site_.desk.leave(number);
    site_.crew.finish([self = shared_from_this()] { self->pump(); });
  }

 private:
  struct Line {
    std::string token;
    std::string text;
  };

  void add(const std::vector<TakenWork>& work) {
    std::vector<Line> lines;
    lines.reserve(work.size());
    for (const TakenWork& one : work) lines.push_back({one.facts.token, work_text(site_, one) + "\n"});
    {
      const std::lock_guard lock(mutex_);
      for (Line& line : lines) {
        waiting_bytes_ += line.text.size();
        waiting_.push_back(std::move(line));
      }
    }
    pump();
  }

  // Writes what waits, up to what a connection holds for a slow client; the rest when the client took that.
  void pump() {
    HandoutDesk::Number number = 0;
    bool held = false;
    std::vector<Line> back;
    {
      const std::lock_guard lock(mutex_);
      if (number_ == 0) return;  // it has not begun
      std::string text;
      std::size_t unwritten = waiting_.empty() ? 0 : exchange_->unwritten();
      while (!gone_ && !waiting_.empty()) {
        const std::size_t size = waiting_.front().text.size();
        if (unwritten > 0 && unwritten + size > limits::stream_queue_bytes_max / 2) break;
        unwritten += size;
        waiting_bytes_ -= size;
        text += waiting_.front().text;
        waiting_.pop_front();
      }
      if (!text.empty() && !exchange_->write(std::move(text))) gone_ = true;
      if (gone_) {
        back.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.end()));
        waiting_.clear();
        waiting_bytes_ = 0;
      }
      number = number_;
      held = waiting_bytes_ > 0;
    }
    site_.desk.hold(number, held);
    if (held) wait_for_client();
    // What was not sent is for another one at once; what was written comes back with its lease.
    for (const Line& line : back)
      site_.runtime.handouts().say(line.token, Said{.kind = Said::Kind::release}, [](const Status&) {});
  }
  void wait_for_client() {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(waits_, true)) return;
    }
    exchange_->when_written([self = shared_from_this()] {
      self->site_.crew.finish([self] {
        {
          const std::lock_guard lock(self->mutex_);
          self->waits_ = false;
        }
        self->pump();
      });
    });
  }
  // A line as a sign of life while nothing comes; it finds clients that are gone, too.
  void beat() {
    site_.timers.after(limits::stream_beat, [self = shared_from_this()] {
      {
        const std::lock_guard lock(self->mutex_);
        if (self->gone_) return;
      }
      if (self->exchange_->write("\n")) self->beat();
    });
  }

  Site& site_;
  const std::string name_;  // that its client gave it, to end it; empty: none
  const ExchangePointer exchange_;
  std::mutex mutex_;
  HandoutDesk::Number number_ = 0;  // 0: not begun; guarded by mutex_, like the rest
  std::deque<Line> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool waits_ = false;  // for the client to take what was written
  bool gone_ = false;
  bool left_ = false;
};

}  // namespace

std::string work_text(Site& site, const TakenWork& work) {
  return work_json(work, work.job ? *work.job : name_of_job(site, work.facts.run));
}

void stream_work(Site& site, const runtime::TakeRequest& wish, const std::string& name,
                 const ExchangePointer& exchange) {
  auto stream = std::make_shared<WorkStream>(site, name, exchange);
  const auto end = [weak = std::weak_ptr(stream)] {
    if (const auto open = weak.lock()) open->end();
  };
  if (!name.empty() && !site.named_streams.add(name, end)) {
    --site.work_streams;
    return exchange->respond(problem("already_exists", "another stream of work has this name"));
  }
  const auto number = site.desk.stream(
      wish, [stream](std::vector<TakenWork>& work) { return stream->give(work); }, [stream] { stream->end(); });
  if (!number) {
    stream->leave();
    return exchange->respond(
        problem("too_many_streams", "too many workers wait already, or this server stops (waiting_max, topics_max)"));
  }
  stream->begin(*number);
}

}  // namespace pawl::serve
