#include "store/redis/server_clock.h"

#include <chrono>

#include "base/format.h"
#include "store/redis/keys.h"
#include "store/redis/records.h"

namespace pawl::store::redis {

std::int64_t ServerClock::elapsed() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void ServerClock::observe(std::int64_t server_micros, std::int64_t asked_at) {
  offset_ = server_micros - (asked_at + elapsed()) / 2;
}

Status ServerClock::set() {
  Commands commands;
  commands.add({"TIME"});
  const std::int64_t asked_at = elapsed();
  const auto replies = servers_.ask(catalogue_tag, commands);
  if (!replies) return Error{ErrorCode::retry_later, replies.error().detail};
  const auto seconds = number_in<std::int64_t>(replies->front()[0].text);
  const auto micros = number_in<std::int64_t>(replies->front()[1].text);
  if (!seconds || !micros) return malformed("the server's time");
  observe(*seconds * 1'000'000 + *micros, asked_at);
  return {};
}

Instant ServerClock::now() const {
  const std::int64_t now = elapsed() + offset_;
  std::int64_t latest = latest_;
  while (now > latest && !latest_.compare_exchange_weak(latest, now)) {
  }
  return Instant::from_micros(std::max(now, latest));
}

}  // namespace pawl::store::redis
