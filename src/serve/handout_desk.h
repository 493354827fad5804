// HandoutDesk: who waits for work, and who has some. Work of this process's jobs is claimed for those who wait in the
// commit that puts it (runtime/far_desk.h); all other work they take from the store, which decides who gets what
// (runtime/handouts.h). It wakes takers when work may be there, keeps the streams of work within their concurrency, and
// remembers workers for people. What is lost here is only a hint.
//
// Work that waits in the store goes first: as long as some is known there (`announced`), nothing new is given past it.
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
#include "runtime/far_desk.h"
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

class HandoutDesk final : public runtime::FarDesk {
 public:
  using Take = std::function<void(const runtime::TakeRequest&, std::function<void(Result<std::vector<TakenWork>>)>)>;
  using Taken = std::function<void(Result<std::vector<TakenWork>>)>;
  using Number = std::uint64_t;
  // A stream's next work, which it may move from. False: it is gone, and did not.
  using Give = std::function<bool(std::vector<TakenWork>&)>;

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

  // runtime::FarDesk
  std::optional<runtime::FarTaker> find_taker(const std::string& topic, std::size_t bytes) override;
  void give(std::vector<Given> work) override;
  void free_room(Number taker) override;
  void work_waits(const std::string& topic, std::size_t count) override;

  // Something may be there.
  void wake_all();
  void wake_all_at(Instant at);
  void heard(const Event& event);  // on the engine's thread

  // What a worker said of its attempt was carried out (or was in vain).
  void said(const std::string& token, Said::Kind what, const Status& became, Instant lease_until);

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
    std::size_t out = 0;         // of a stream
    std::size_t asked = 0;       // items that a claim on its way may bring; 0: none is on its way
    std::size_t expected = 0;    // of these, how many were announced
    std::size_t promised = 0;    // items that are being committed for it
    std::size_t promised_bytes = 0;
    std::vector<TakenWork> got;  // of a take that waits for the rest
    std::optional<Error> error;  // of a take: why there is nothing
    bool ended = false;
    Timers::Number timer = 0;
    bool is_stream() const { return give != nullptr; }
    bool is_served() const { return !got.empty() || error; }  // a take: it ends as soon as nothing is on its way to it
    std::size_t room() const {
      const std::size_t used = out + asked + promised;
      return held || is_served() || used >= request.items_max ? 0 : request.items_max - used;
    }
  };
  using TakerPointer = std::shared_ptr<Taker>;
  struct Topic {
    std::list<TakerPointer> takers;  // that wait, in the order they came
    std::uint64_t announced = 0;     // how much may be in the store that nobody asked for yet
    std::uint64_t told = 0;          // items of which this process said that they are there, ever
    bool unannounced = false;        // others put work there, too: only a claim finds it
    std::size_t asking = 0;          // claims on their way
    std::size_t out = 0;
    std::uint64_t taken = 0;
    RateMeter rate;
  };
  struct Worker {
    std::vector<std::string> topics;
    std::size_t out = 0;
    std::uint64_t taken = 0, completed = 0, failed = 0;
    Instant seen_at;
  };
  struct Out {
    Number taker;    // of a stream; 0: a take
    Worker* worker;  // these two stay as long as they have something out
    Topic* topic;
    Instant lease_until;
  };

  std::optional<Number> add(TakerPointer taker);
  // The next claims to make for a topic. REQUIRES: mutex_ is held, as for the next ones.
  void plan(const std::string& topic, std::vector<TakerPointer>& to_ask);
  void plan_for(const Taker& taker, std::vector<TakerPointer>& to_ask);
  void begin_asking(Taker& taker, std::size_t most);
  using Told = std::vector<std::uint64_t>;  // Topic::told, of each of a taker's topics
  void end_asking(Taker& taker, std::size_t got, const Told& told);
  Told told_of(const Taker& taker);
  // What a take gets, if it is over. None: something is on its way to it, or it goes on waiting.
  struct Ending {
    Taken done;
    Result<std::vector<TakenWork>> work = std::vector<TakenWork>();
  };
  std::optional<Ending> end_if_served(const TakerPointer& taker);
  void remove(const TakerPointer& taker);
  void note_out(Taker& taker, const std::vector<TakenWork>& work);
  static void uncount(const Out& was);
  TakerPointer drop_out(std::unordered_map<std::string, Out>::iterator out);  // the stream that has room again, if any
  Worker& worker_of(const std::string& name);
  void look_soon();
  void look();

  void ask(const std::vector<TakerPointer>& takers);  // without the lock
  void answered(const TakerPointer& taker, const Told& told, Result<std::vector<TakenWork>> work);
  void pass_on(const TakerPointer& stream, std::vector<TakenWork>& work);

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
