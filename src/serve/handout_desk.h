// HandoutDesk: who waits for work, and who has some. It wakes takers when work may be there, keeps the streams of work
// within their concurrency, and remembers workers for people. The store decides who gets what (runtime/handouts.h):
// what is lost here is only a hint.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "pawl/event.h"
#include "pawl/result.h"
#include "pawl/time.h"
#include "runtime/handouts.h"
#include "serve/rate_meter.h"
#include "serve/timers.h"

namespace pawl::serve {

using runtime::Said;
using runtime::TakenWork;

struct TopicFacts {
  std::string topic;
  std::size_t workers = 0;
  std::size_t waiting = 0;
  std::size_t out = 0;
  std::uint64_t taken = 0;
  double rate = 0;  // attempts per second, over the last minute
};
struct WorkerFacts {
  std::string worker;
  std::vector<std::string> topics;
  std::size_t out = 0;
  std::uint64_t taken = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  Instant seen_at;
};

class HandoutDesk {
 public:
  using Take = std::function<void(const runtime::TakeRequest&, std::function<void(Result<std::vector<TakenWork>>)>)>;
  using Taken = std::function<void(Result<std::vector<TakenWork>>)>;
  using Number = std::uint64_t;
  // A stream's next work. False: it is gone.
  using Give = std::function<bool(const std::vector<TakenWork>&)>;

  // Gives an attempt back that its taker did not wait for.
  using Release = std::function<void(const std::string& token)>;

  HandoutDesk(Take take, Release release, Timers& timers)
      : take_(std::move(take)), release_(std::move(release)), timers_(timers) {}

  // Calls `done` once: with what there is, or with nothing when the time is over. Its number, for leave().
  // None: too many wait already.
  std::optional<Number> take(const runtime::TakeRequest& request, Duration wait, Taken done);
  // Gives work as it comes, as long as fewer than `request.items_max` attempts of it are out. `over`: the server stops.
  std::optional<Number> stream(const runtime::TakeRequest& request, Give give, std::function<void()> over);
  void hold(Number stream, bool held);  // held: its client is slow, so it gets nothing more for now
  void leave(Number taker);             // its client is gone: what it was given stays with it until the lease is over

  // Something may be there for a topic; with no topic: for all.
  void wake(const std::string& topic);
  void wake_all();
  void wake_all_at(Instant at);
  void heard(const Event& event);  // on the engine's thread

  // What a worker said of its attempt was carried out (or was in vain).
  void said(const std::string& token, const Said& what, const Status& became, Instant lease_until);

  std::vector<TopicFacts> topics();
  std::vector<WorkerFacts> workers();
  std::size_t out();
  void close();  // all that wait are told that there is nothing

 private:
  struct Taker {
    Number number = 0;
    runtime::TakeRequest request;
    Taken done;  // of a take
    Give give;   // of a stream
    std::function<void()> over;
    bool held = false;
    std::size_t out = 0;  // of a stream
    bool asking = false;  // a claim of it is on its way
    bool again = false;   // something may have come since it was asked
    bool ended = false;
    Timers::Number timer = 0;
    bool is_stream() const { return give != nullptr; }
    std::size_t room() const {
      if (held) return 0;
      return is_stream() ? request.items_max - std::min(request.items_max, out) : request.items_max;
    }
  };
  using TakerPointer = std::shared_ptr<Taker>;
  struct Topic {
    std::list<TakerPointer> takers;  // that wait, in the order they came
    std::uint64_t announced = 0;     // how much may be there that nobody asked for yet
    std::size_t asking = 0;          // claims on their way
    std::size_t out = 0;
    std::uint64_t taken = 0;
    RateMeter rate;
  };
  struct Out {
    Number taker;  // of a stream; 0: a take
    std::string worker;
    std::string topic;
    Instant lease_until;
  };
  struct Worker {
    std::vector<std::string> topics;
    std::size_t out = 0;
    std::uint64_t taken = 0, completed = 0, failed = 0;
    Instant seen_at;
  };

  std::optional<Number> add(TakerPointer taker);
  // The next claims to make for a topic. REQUIRES: mutex_ is held, as for the next ones.
  void plan(const std::string& topic, std::vector<TakerPointer>& to_ask);
  void plan_all(std::vector<TakerPointer>& to_ask);
  bool begin_asking(const TakerPointer& taker);
  void end_asking(const TakerPointer& taker, std::size_t got, std::size_t asked_for);
  void remove(const TakerPointer& taker);
  void note_out(const TakerPointer& taker, const std::vector<TakenWork>& work);
  void drop_out(std::unordered_map<std::string, Out>::iterator out);
  Worker& worker_of(const std::string& name);
  void look_soon();
  void look();

  void ask(const std::vector<TakerPointer>& takers);  // without the lock
  void answered(const TakerPointer& taker, std::size_t asked_for, Result<std::vector<TakenWork>> work);

  const Take take_;
  const Release release_;
  Timers& timers_;
  std::mutex mutex_;
  std::map<std::string, Topic> topics_;  // guarded by mutex_, like the rest
  std::unordered_map<Number, TakerPointer> takers_;
  std::unordered_map<std::string, Out> out_;  // by token
  std::map<std::string, Worker> workers_;
  Number next_ = 1;
  bool looking_ = false;  // a look is set
  bool closed_ = false;
};

}  // namespace pawl::serve
