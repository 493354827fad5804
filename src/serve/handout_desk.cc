#include "serve/handout_desk.h"

#include <algorithm>
#include <iterator>
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
    std::optional<Ending> ending;
    {
      const std::lock_guard lock(mutex_);
      taker->timer = 0;
      ending = end_if_served(taker);
    }
    if (ending) ending->done(std::move(ending->work));
  };
  {
    const std::lock_guard lock(mutex_);
    if (!taker->ended) taker->timer = timers_.after(wait, over);
  }
  ask({taker});
  return number;
}

// What is on its way to it comes first, and it has all of that.
std::optional<HandoutDesk::Ending> HandoutDesk::end_if_served(const TakerPointer& taker) {
  if (taker->ended || taker->is_stream() || taker->asked > 0 || taker->promised > 0) return std::nullopt;
  const bool over = taker->timer == 0 || closed_;
  if (!taker->is_served() && !over) return std::nullopt;
  remove(taker);
  Ending ending{std::move(taker->done)};
  if (taker->got.empty() && taker->error)
    ending.work = *taker->error;
  else
    ending.work = std::move(taker->got);
  return ending;
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
  takers_.emplace(taker->number, taker);
  for (const std::string& topic : taker->request.topics) topics_[topic].takers.push_back(taker);
  begin_asking(*taker, taker->request.items_max);  // the caller asks at once
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
  TakerPointer taker;
  {
    const std::lock_guard lock(mutex_);
    const auto found = takers_.find(number);
    if (found == takers_.end()) return;
    taker = found->second;
    remove(taker);
    // What it was woken for may be for another one.
    for (const std::string& topic : taker->request.topics)
      if (Topic& place = topics_[topic]; !place.takers.empty())
        place.announced = std::max<std::uint64_t>(place.announced, 1);
  }
  for (const TakenWork& one : taker->got) release_(one.facts.token);  // a take that did not get them yet
}

// Takes what is announced off: somebody asks for it now.
void HandoutDesk::begin_asking(Taker& taker, std::size_t most) {
  taker.asked = std::max<std::size_t>(most, 1);
  taker.expected = 0;
  for (const std::string& topic : taker.request.topics) {
    Topic& place = topics_[topic];
    ++place.asking;
    const std::uint64_t taken = std::min<std::uint64_t>(place.announced, taker.asked - taker.expected);
    place.announced -= taken;
    taker.expected += taken;
  }
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
    if (taker->ended || taker->asked > 0 || taker->room() == 0) continue;
    begin_asking(*taker, std::min<std::size_t>(taker->room(), place.announced + limits::claim_spare));
    to_ask.push_back(taker);
  }
  if (place.takers.empty()) place.announced = 0;  // whoever comes asks first anyhow
}

void HandoutDesk::plan_for(const Taker& taker, std::vector<TakerPointer>& to_ask) {
  for (const std::string& topic : taker.request.topics) plan(topic, to_ask);
}

HandoutDesk::Told HandoutDesk::told_of(const Taker& taker) {
  Told told;
  for (const std::string& topic : taker.request.topics) told.push_back(topics_[topic].told);
  return told;
}

void HandoutDesk::ask(const std::vector<TakerPointer>& takers) {
  for (const TakerPointer& taker : takers) {
    runtime::TakeRequest request = taker->request;
    Told told;
    {
      const std::lock_guard lock(mutex_);
      request.items_max = taker->asked;
      told = told_of(*taker);
    }
    take_(request, [this, taker, told = std::move(told)](Result<std::vector<TakenWork>> work) {
      answered(taker, told, std::move(work));
    });
  }
}

void HandoutDesk::end_asking(Taker& taker, std::size_t got, const Told& told) {
  const std::size_t asked = std::exchange(taker.asked, 0);
  for (std::size_t i = 0; i < taker.request.topics.size(); ++i) {
    Topic& place = topics_[taker.request.topics[i]];
    --place.asking;
    if (got == asked)  // it got all that it asked for: there may be more
      place.announced = std::max<std::uint64_t>(place.announced, 2 * asked);
    else  // the store had no more then: what was said before is out of date
      place.announced = std::min<std::uint64_t>(place.announced, place.told - told[i]);
    if (got > taker.expected)
      place.unannounced = true;
    else if (got == 0)
      place.unannounced = false;
  }
}

void HandoutDesk::note_out(Taker& taker, const std::vector<TakenWork>& work) {
  Worker& worker = worker_of(taker.request.worker);
  worker.seen_at = now();
  const auto at = RateMeter::Clock::now();
  const std::string* name = nullptr;  // of the topic before: mostly it is the same
  Topic* its_topic = nullptr;
  for (const TakenWork& one : work) {
    if (name == nullptr || *name != one.facts.topic.raw()) {
      name = &one.facts.topic.raw();
      its_topic = &topics_[*name];
    }
    Topic& topic = *its_topic;
    ++topic.out;
    ++topic.taken;
    topic.rate.add(1, at);
    ++worker.out;
    ++worker.taken;
    if (taker.is_stream()) ++taker.out;
    const auto [place, is_new] = out_.try_emplace(one.facts.token);
    if (!is_new) uncount(place->second);
    place->second = Out{taker.is_stream() ? taker.number : 0, &worker, &topic, one.lease_until};
  }
}

void HandoutDesk::answered(const TakerPointer& taker, const Told& told, Result<std::vector<TakenWork>> work) {
  std::vector<TakerPointer> to_ask;
  std::optional<Ending> ending;
  bool give = false;
  bool unwanted = false;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t got = work ? work->size() : 0;
    end_asking(*taker, got, told);
    unwanted = got > 0 && taker->ended;
    if (got > 0 && !unwanted) note_out(*taker, *work);
    give = !taker->ended && taker->is_stream() && got > 0;
    if (!taker->ended && !taker->is_stream()) {
      if (!work) taker->error = work.error();
      if (work) std::move(work->begin(), work->end(), std::back_inserter(taker->got));
    }
    ending = end_if_served(taker);
    plan_for(*taker, to_ask);
  }
  if (ending) ending->done(std::move(ending->work));
  if (give) pass_on(taker, *work);
  if (unwanted)
    for (const TakenWork& one : *work) release_(one.facts.token);
  ask(to_ask);
}

void HandoutDesk::pass_on(const TakerPointer& stream, std::vector<TakenWork>& work) {
  if (stream->give(work)) return;
  leave(stream->number);
  for (const TakenWork& one : work) release_(one.facts.token);
}

std::optional<runtime::FarTaker> HandoutDesk::find_taker(const std::string& topic, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = topics_.find(topic);
  if (closed_ || found == topics_.end() || found->second.announced > 0) return std::nullopt;
  auto& takers = found->second.takers;
  for (std::size_t left = takers.size(); left > 0; --left) {
    Taker& taker = *takers.front();
    takers.splice(takers.end(), takers, takers.begin());
    const bool fits = taker.promised == 0 || taker.request.bytes_max == 0 ||
                      taker.promised_bytes + bytes <= taker.request.bytes_max;
    if (taker.room() == 0 || !fits) continue;
    ++taker.promised;
    taker.promised_bytes += bytes;
    return runtime::FarTaker{taker.number, taker.request.worker, taker.request.lease};
  }
  return std::nullopt;
}

void HandoutDesk::give(std::vector<Given> work) {
  std::map<Number, std::pair<TakerPointer, std::vector<TakenWork>>> by_taker;
  std::vector<std::string> unwanted;
  std::vector<Ending> endings;
  {
    const std::lock_guard lock(mutex_);
    for (Given& one : work) {
      const auto found = takers_.find(one.taker);
      if (found == takers_.end()) {
        unwanted.push_back(std::move(one.work.facts.token));
        continue;
      }
      auto& [taker, its_work] = by_taker[one.taker];
      taker = found->second;
      if (--taker->promised == 0) taker->promised_bytes = 0;
      its_work.push_back(std::move(one.work));
    }
    for (auto& [number, one] : by_taker) {
      auto& [taker, its_work] = one;
      note_out(*taker, its_work);
      if (taker->is_stream()) continue;
      std::move(its_work.begin(), its_work.end(), std::back_inserter(taker->got));
      its_work.clear();
      if (auto ending = end_if_served(taker)) endings.push_back(std::move(*ending));
    }
  }
  for (auto& [number, one] : by_taker)
    if (!one.second.empty()) pass_on(one.first, one.second);
  for (Ending& ending : endings) ending.done(std::move(ending.work));
  for (const std::string& token : unwanted) release_(token);
}

void HandoutDesk::free_room(Number number) {
  std::optional<Ending> ending;
  std::vector<TakerPointer> to_ask;
  {
    const std::lock_guard lock(mutex_);
    const auto found = takers_.find(number);
    if (found == takers_.end()) return;
    const TakerPointer taker = found->second;
    if (--taker->promised == 0) taker->promised_bytes = 0;
    ending = end_if_served(taker);
    plan_for(*taker, to_ask);
  }
  if (ending) ending->done(std::move(ending->work));
  ask(to_ask);
}

void HandoutDesk::work_waits(const std::string& topic, std::size_t count) {
  std::vector<TakerPointer> to_ask;
  {
    const std::lock_guard lock(mutex_);
    const auto found = topics_.find(topic);
    if (closed_ || found == topics_.end() || found->second.takers.empty()) return;
    found->second.told += count;
    found->second.announced += count;
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
    for (const auto& [name, topic] : topics_) plan(name, to_ask);
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
  if (event.kind != Kind::activity_retried && event.kind != Kind::job_resumed) return;
  {
    const std::lock_guard lock(mutex_);
    if (takers_.empty() || closed_) return;
  }
  if (event.kind == Kind::activity_retried && event.at - now() < limits::look_every)
    wake_all_at(event.at);  // a later one is found by a look
  else if (event.kind == Kind::job_resumed)
    wake_all();
}

void HandoutDesk::uncount(const Out& was) {
  --was.topic->out;
  --was.worker->out;
}

HandoutDesk::TakerPointer HandoutDesk::drop_out(std::unordered_map<std::string, Out>::iterator out) {
  const Out& was = out->second;
  uncount(was);
  TakerPointer stream;
  if (const auto taker = takers_.find(was.taker); taker != takers_.end()) {
    stream = taker->second;
    if (stream->out > 0) --stream->out;
    // It has room again. What others put does not announce itself: it asks without waiting for a sign.
    for (const std::string& topic : stream->request.topics)
      if (Topic& place = topics_[topic]; place.unannounced)
        place.announced = std::max<std::uint64_t>(place.announced, 1);
  }
  out_.erase(out);
  return stream;
}

void HandoutDesk::said(const std::string& token, Said::Kind what, const Status& became, Instant lease_until) {
  using Kind = Said::Kind;
  std::vector<TakerPointer> to_ask;
  {
    const std::lock_guard lock(mutex_);
    const auto found = out_.find(token);
    if (found == out_.end()) return;
    Worker& worker = *found->second.worker;
    worker.seen_at = now();
    const bool stale = !became && became.error().code == ErrorCode::conflict;
    if (!became && !stale) return;  // it may be told again
    if (!stale && what == Kind::pending) return;
    if (!stale && what == Kind::heartbeat) return void(found->second.lease_until = lease_until);
    if (!stale && what == Kind::complete) ++worker.completed;
    if (!stale && (what == Kind::fail || what == Kind::fail_for_good)) ++worker.failed;
    if (const TakerPointer stream = drop_out(found)) plan_for(*stream, to_ask);
  }
  ask(to_ask);
  if (what == Kind::release) wake_all();
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
      // It is answered soon, with what is on its way to it.
      if (!taker->is_stream() && taker->asked + taker->promised > 0) continue;
      if (taker->done) last.push_back(std::move(taker->done));
      if (taker->over) over.push_back(std::move(taker->over));
      remove(taker);
    }
  }
  for (const auto& call : over) call();
  for (const Taken& done : last) done(std::vector<TakenWork>());
}

}  // namespace pawl::serve
