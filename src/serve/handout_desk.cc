#include "serve/handout_desk.h"

#include <algorithm>
#include <utility>

#include "serve/limits.h"

namespace pawl::serve {

namespace {

Instant now() { return std::chrono::system_clock::now(); }

}  // namespace

std::optional<HandoutDesk::Number> HandoutDesk::take(const runtime::TakeRequest& request, Duration wait, Taken done) {
  auto taker = std::make_shared<Taker>();
  taker->request = request;
  taker->done = std::move(done);
  const auto number = add(taker);
  if (!number) return number;
  const auto over = [this, taker] {
    Taken last;
    {
      const std::lock_guard lock(mutex_);
      // A claim on its way may bring something: it answers, with what it has.
      if (taker->ended || taker->asking) return void(taker->timer = 0);
      remove(taker);
      last = std::move(taker->done);
    }
    last(std::vector<TakenWork>());
  };
  {
    const std::lock_guard lock(mutex_);
    if (!taker->ended) taker->timer = timers_.after(wait, over);
  }
  ask({taker});
  return number;
}

std::optional<HandoutDesk::Number> HandoutDesk::stream(const runtime::TakeRequest& request, Give give,
                                                       std::function<void()> over) {
  auto taker = std::make_shared<Taker>();
  taker->request = request;
  taker->give = std::move(give);
  taker->over = std::move(over);
  const auto number = add(taker);
  if (number) ask({taker});
  return number;
}

void HandoutDesk::hold(Number number, bool held) {
  std::vector<TakerPointer> to_ask;
  {
    const std::lock_guard lock(mutex_);
    const auto found = takers_.find(number);
    if (found == takers_.end() || std::exchange(found->second->held, held) == held || held) return;
    for (const std::string& topic : found->second->request.topics) {
      Topic& place = topics_[topic];
      place.announced = std::max<std::uint64_t>(place.announced, 1);
      plan(topic, to_ask);
    }
  }
  ask(to_ask);
}

std::optional<HandoutDesk::Number> HandoutDesk::add(TakerPointer taker) {
  const std::lock_guard lock(mutex_);
  if (closed_ || takers_.size() >= limits::waiting_max) return std::nullopt;
  if (topics_.size() >= limits::topics_max)
    std::erase_if(topics_, [](const auto& one) {
      // One that is asked for comes back to its count.
      return one.second.takers.empty() && one.second.out == 0 && one.second.asking == 0;
    });
  if (topics_.size() >= limits::topics_max) return std::nullopt;
  taker->number = next_++;
  taker->asking = true;  // the caller asks at once
  takers_.emplace(taker->number, taker);
  for (const std::string& topic : taker->request.topics) {
    topics_[topic].takers.push_back(taker);
    ++topics_[topic].asking;
  }
  Worker& worker = worker_of(taker->request.worker);
  worker.topics = taker->request.topics;
  worker.seen_at = now();
  look_soon();
  return taker->number;
}

void HandoutDesk::remove(const TakerPointer& taker) {
  if (std::exchange(taker->ended, true)) return;
  if (taker->timer != 0) timers_.cancel(std::exchange(taker->timer, 0));
  takers_.erase(taker->number);
  for (const std::string& topic : taker->request.topics) {
    const auto place = topics_.find(topic);
    if (place != topics_.end()) place->second.takers.remove(taker);
  }
}

void HandoutDesk::leave(Number number) {
  const std::lock_guard lock(mutex_);
  const auto found = takers_.find(number);
  if (found == takers_.end()) return;
  const TakerPointer taker = found->second;
  remove(taker);
  // What it was woken for may be for another one.
  for (const std::string& topic : taker->request.topics)
    if (Topic& place = topics_[topic]; !place.takers.empty())
      place.announced = std::max<std::uint64_t>(place.announced, 1);
}

bool HandoutDesk::begin_asking(const TakerPointer& taker) {
  if (taker->ended || taker->room() == 0) return false;
  if (taker->asking) {
    taker->again = true;
    return false;
  }
  taker->asking = true;
  for (const std::string& topic : taker->request.topics) ++topics_[topic].asking;
  return true;
}

void HandoutDesk::plan(const std::string& topic, std::vector<TakerPointer>& to_ask) {
  const auto found = topics_.find(topic);
  if (found == topics_.end()) return;
  Topic& place = found->second;
  // The one that waited longest goes first, and then to the end: streams share what comes.
  for (std::size_t left = place.takers.size(); left > 0 && place.announced > 0; --left) {
    if (place.asking >= limits::claims_at_once_max) return;
    const TakerPointer taker = place.takers.front();
    place.takers.splice(place.takers.end(), place.takers, place.takers.begin());
    if (!begin_asking(taker)) continue;
    place.announced -= std::min<std::uint64_t>(place.announced, taker->room());
    to_ask.push_back(taker);
  }
  if (place.takers.empty()) place.announced = 0;  // whoever comes asks first anyhow
}

void HandoutDesk::plan_all(std::vector<TakerPointer>& to_ask) {
  for (auto& [name, topic] : topics_) plan(name, to_ask);
}

void HandoutDesk::ask(const std::vector<TakerPointer>& takers) {
  for (const TakerPointer& taker : takers) {
    runtime::TakeRequest request = taker->request;
    {
      const std::lock_guard lock(mutex_);
      request.items_max = std::max<std::size_t>(taker->room(), 1);
    }
    take_(request, [this, taker, asked_for = request.items_max](Result<std::vector<TakenWork>> work) {
      answered(taker, asked_for, std::move(work));
    });
  }
}

void HandoutDesk::end_asking(const TakerPointer& taker, std::size_t got, std::size_t asked_for) {
  taker->asking = false;
  for (const std::string& topic : taker->request.topics) {
    Topic& place = topics_[topic];
    --place.asking;
    // It got all that it asked for: there may be more.
    if (got == asked_for) place.announced = std::max<std::uint64_t>(place.announced, 1);
    if (taker->again) place.announced = std::max<std::uint64_t>(place.announced, 1);
  }
  taker->again = false;
}

void HandoutDesk::note_out(const TakerPointer& taker, const std::vector<TakenWork>& work) {
  Worker& worker = worker_of(taker->request.worker);
  worker.seen_at = now();
  for (const TakenWork& one : work) {
    Topic& topic = topics_[one.facts.topic.raw()];
    ++topic.out;
    ++topic.taken;
    topic.rate.add(1, RateMeter::Clock::now());
    ++worker.out;
    ++worker.taken;
    if (taker->is_stream()) ++taker->out;
    out_.insert_or_assign(one.facts.token, Out{taker->is_stream() ? taker->number : 0, taker->request.worker,
                                               one.facts.topic.raw(), one.lease_until});
  }
}

void HandoutDesk::answered(const TakerPointer& taker, std::size_t asked_for, Result<std::vector<TakenWork>> work) {
  std::vector<TakerPointer> to_ask;
  Taken done;
  bool give = false;
  bool unwanted = false;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t got = work ? work->size() : 0;
    end_asking(taker, got, asked_for);
    unwanted = got > 0 && taker->ended;
    if (got > 0 && !unwanted) note_out(taker, *work);
    const bool over = taker->timer == 0 && !taker->is_stream();
    if (!taker->ended && !taker->is_stream() && (got > 0 || !work || over || closed_)) {
      done = std::move(taker->done);
      remove(taker);
    }
    give = !taker->ended && taker->is_stream() && got > 0;
    plan_all(to_ask);
  }
  if (done) done(std::move(work));
  if (give && !taker->give(*work)) {
    leave(taker->number);
    unwanted = true;
  }
  if (unwanted)
    for (const TakenWork& one : *work) release_(one.facts.token);
  ask(to_ask);
}

void HandoutDesk::wake(const std::string& topic) {
  std::vector<TakerPointer> to_ask;
  {
    const std::lock_guard lock(mutex_);
    const auto found = topics_.find(topic);
    if (found == topics_.end() || found->second.takers.empty()) return;
    ++found->second.announced;
    plan(topic, to_ask);
  }
  ask(to_ask);
}

void HandoutDesk::wake_all() {
  std::vector<TakerPointer> to_ask;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, topic] : topics_)
      if (!topic.takers.empty()) topic.announced = std::max<std::uint64_t>(topic.announced, 1);
    plan_all(to_ask);
  }
  ask(to_ask);
}

void HandoutDesk::wake_all_at(Instant at) {
  const Duration left = at - now();
  if (left <= Duration{0})
    wake_all();
  else
    timers_.after(left, [this] { wake_all(); });
}

void HandoutDesk::heard(const Event& event) {
  using Kind = Event::Kind;
  {
    const std::lock_guard lock(mutex_);
    if (takers_.empty() || closed_) return;
  }
  const bool work = event.kind == Kind::activity_opened && event.waits_for && !event.waits_for->topic.empty();
  if (work)
    wake(event.waits_for->topic);
  else if (event.kind == Kind::activity_retried && event.at - now() < limits::look_every)
    wake_all_at(event.at);  // a later one is found by a look
  else if (event.kind == Kind::job_resumed)
    wake_all();
}

void HandoutDesk::drop_out(std::unordered_map<std::string, Out>::iterator out) {
  const Out& was = out->second;
  if (const auto topic = topics_.find(was.topic); topic != topics_.end() && topic->second.out > 0) --topic->second.out;
  if (const auto worker = workers_.find(was.worker); worker != workers_.end() && worker->second.out > 0)
    --worker->second.out;
  if (const auto taker = takers_.find(was.taker); taker != takers_.end()) {
    if (taker->second->out > 0) --taker->second->out;
    // It has room again: it asks without waiting for a sign.
    for (const std::string& topic : taker->second->request.topics)
      topics_[topic].announced = std::max<std::uint64_t>(topics_[topic].announced, 1);
  }
  out_.erase(out);
}

void HandoutDesk::said(const std::string& token, const Said& what, const Status& became, Instant lease_until) {
  using Kind = Said::Kind;
  std::vector<TakerPointer> to_ask;
  {
    const std::lock_guard lock(mutex_);
    const auto found = out_.find(token);
    if (found == out_.end()) return;
    Worker& worker = worker_of(found->second.worker);
    worker.seen_at = now();
    const bool stale = !became && became.error().code == ErrorCode::conflict;
    if (!became && !stale) return;  // it may be told again
    if (!stale && what.kind == Kind::pending) return;
    if (!stale && what.kind == Kind::heartbeat) return void(found->second.lease_until = lease_until);
    if (!stale && what.kind == Kind::complete) ++worker.completed;
    if (!stale && (what.kind == Kind::fail || what.kind == Kind::fail_for_good)) ++worker.failed;
    drop_out(found);
    plan_all(to_ask);
  }
  ask(to_ask);
  if (what.kind == Kind::release) wake_all();
}

HandoutDesk::Worker& HandoutDesk::worker_of(const std::string& name) {
  if (workers_.size() >= limits::workers_max && !workers_.contains(name))
    std::erase_if(workers_, [](const auto& one) { return one.second.out == 0; });
  return workers_[name];
}

// Only while somebody waits or has something.
void HandoutDesk::look_soon() {
  if (looking_ || closed_ || (takers_.empty() && out_.empty())) return;
  looking_ = true;
  timers_.after(limits::look_every, [this] { look(); });
}

void HandoutDesk::look() {
  const Instant at = now();
  {
    const std::lock_guard lock(mutex_);
    looking_ = false;
    for (auto one = out_.begin(); one != out_.end();) {
      const auto next = std::next(one);
      if (one->second.lease_until <= at) drop_out(one);
      one = next;
    }
    std::erase_if(workers_, [&](const auto& one) {
      return one.second.out == 0 && at - one.second.seen_at > limits::worker_remembered;
    });
    look_soon();
  }
  wake_all();
}

std::vector<TopicFacts> HandoutDesk::topics() {
  const std::lock_guard lock(mutex_);
  std::vector<TopicFacts> all;
  for (const auto& [name, topic] : topics_) {
    TopicFacts facts{name, 0, 0, topic.out, topic.taken, topic.rate.per_second(RateMeter::Clock::now())};
    for (const TakerPointer& taker : topic.takers)
      if (taker->room() > 0) ++facts.waiting;
    for (const auto& [worker, known] : workers_)
      if (std::find(known.topics.begin(), known.topics.end(), name) != known.topics.end()) ++facts.workers;
    all.push_back(std::move(facts));
  }
  return all;
}

std::vector<WorkerFacts> HandoutDesk::workers() {
  const std::lock_guard lock(mutex_);
  std::vector<WorkerFacts> all;
  for (const auto& [name, one] : workers_)
    all.push_back({name, one.topics, one.out, one.taken, one.completed, one.failed, one.seen_at});
  return all;
}

std::size_t HandoutDesk::out() {
  const std::lock_guard lock(mutex_);
  return out_.size();
}

void HandoutDesk::close() {
  std::vector<Taken> last;
  std::vector<std::function<void()>> over;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    std::vector<TakerPointer> all;
    for (const auto& [number, taker] : takers_) all.push_back(taker);
    for (const TakerPointer& taker : all) {
      if (taker->asking && !taker->is_stream()) continue;  // it is answered soon
      if (taker->done) last.push_back(std::move(taker->done));
      if (taker->over) over.push_back(std::move(taker->over));
      remove(taker);
    }
  }
  for (const auto& call : over) call();
  for (const Taken& done : last) done(std::vector<TakenWork>());
}

}  // namespace pawl::serve
