#include "store/redis/doorbell.h"

#include <algorithm>

#include "base/format.h"
#include "store/redis/limits.h"
#include "store/redis/text.h"

namespace pawl::store::redis {

namespace {

struct Flag {
  char letter;
  bool Change::*field;
};
constexpr Flag flags[] = {{'i', &Change::inboxes},  {'w', &Change::work},   {'d', &Change::times},
                          {'t', &Change::topics},   {'g', &Change::graphs}, {'x', &Change::duplex},
                          {'o', &Change::outboxes}, {'l', &Change::lanes}};

// Changes that are not of one lane alone.
bool is_for_all(const Change& change) { return change.graphs || change.lanes || change.topics; }

}  // namespace

std::string ring_text(const Ring& ring) {
  std::string text = format("{} {} -", ring.sender, ring.lane.raw());
  for (const Flag& flag : flags)
    if (ring.change.*flag.field) text.push_back(flag.letter);
  for (const RunId run : ring.change.runs) text += format(" {}", run.raw());
  return text;
}

std::optional<Ring> parse_ring(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() < 3 || words[2].empty() || words[2].front() != '-') return std::nullopt;
  const auto lane = number_in<std::uint32_t>(words[1]);
  if (!lane) return std::nullopt;
  Ring ring{std::string(words[0]), core::LaneId(*lane), {}};
  for (const Flag& flag : flags)
    if (words[2].find(flag.letter) != std::string_view::npos) ring.change.*flag.field = true;
  for (std::size_t i = 3; i < words.size(); ++i)
    if (const auto run = number_in<std::uint64_t>(words[i])) ring.change.add(RunId(*run));
  return ring;
}

Doorbell::Doorbell(Servers& servers, std::string channel, std::string sender,
                   std::function<bool(core::LaneId)> is_for_us)
    : servers_(servers), channel_(std::move(channel)), sender_(std::move(sender)), is_for_us_(std::move(is_for_us)) {}

Doorbell::~Doorbell() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) {
    // The thread sleeps until something arrives, so a message is sent to wake it. If that is lost it wakes at the next
    // ping.
    Commands commands;
    commands.add({"PUBLISH", channel_, ring_text({sender_, core::LaneId(0), {}})});
    [[maybe_unused]] const auto woken = servers_.ask(channel_, commands);
    thread_.join();
  }
  if (ringer_.joinable()) ringer_.join();
}

void Doorbell::listen(Listener& listener) {
  {
    const std::lock_guard lock(listeners_mutex_);
    if (std::find(listeners_.begin(), listeners_.end(), &listener) == listeners_.end()) listeners_.push_back(&listener);
  }
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  // From now on: every commit after this call is reported. If the server cannot be reached, everything is reported as
  // changed later.
  changed_.wait_for(lock, limits::connect_timeout, [this] { return subscribed_ || over_; });
}

void Doorbell::stop_listening(Listener& listener) {
  const std::lock_guard lock(listeners_mutex_);
  std::erase(listeners_, &listener);
}

void Doorbell::tell(const Change& change) {
  const std::lock_guard lock(listeners_mutex_);
  for (Listener* listener : listeners_) listener->rung(change);
}

// The caller does not wait: a thread sends the notification.
void Doorbell::ring(core::LaneId lane, const Change& change) {
  tell(change);
  const std::lock_guard lock(mutex_);
  if (outgoing_.size() < pawl::limits::changed_runs_max)
    outgoing_.emplace_back(lane, change);
  else
    outgoing_.assign(1, {core::LaneId(0), Change::everything()});
  if (!ringer_.joinable()) ringer_ = std::thread([this] { run_ringer(); });
  changed_.notify_all();
}

void Doorbell::run_ringer() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return over_ || !outgoing_.empty(); });
    if (outgoing_.empty()) return;
    const auto rings = std::exchange(outgoing_, {});
    lock.unlock();
    for (const auto& [lane, change] : rings) {
      Commands commands;
      commands.add({"PUBLISH", channel_, ring_text({sender_, lane, change})});
      if (const auto sent = servers_.ask(channel_, commands); !sent) break;  // a notification may be lost
    }
    lock.lock();
  }
}

void Doorbell::receive(std::string_view text) {
  const auto ring = parse_ring(text);
  if (!ring || ring->sender == sender_) return;
  if (ring->lane != core::LaneId(0) && !is_for_all(ring->change) && !is_for_us_(ring->lane)) return;
  tell(ring->change);
}

bool Doorbell::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return over_; });
}

void Doorbell::run() {
  bool was_heard = false;
  while (!wait(std::chrono::milliseconds(0))) {
    auto connection = servers_.connect_apart();
    Commands subscribe;
    subscribe.add({"SUBSCRIBE", channel_});
    if (!connection || !(*connection)->send(subscribe)) {
      if (wait(limits::bell_retry)) return;
      continue;
    }
    Commands ping;
    ping.add({"PING"});
    bool asked = false;  // a ping was sent and not answered yet
    while (!wait(std::chrono::milliseconds(0))) {
      const auto received = (*connection)->receive(limits::bell_ping);
      if (!received) break;
      if (!*received) {
        if (asked || !(*connection)->send(ping)) break;
        asked = true;
        continue;
      }
      asked = false;
      const Reply& what = **received;
      if (what[0].text == "subscribe") {
        {
          const std::lock_guard lock(mutex_);
          subscribed_ = true;
          changed_.notify_all();
        }
        if (std::exchange(was_heard, true)) tell(Change::everything());
      } else if (what[0].text == "message") {
        receive(what[2].text);
      }
    }
    const std::lock_guard lock(mutex_);
    subscribed_ = false;
  }
}

}  // namespace pawl::store::redis
