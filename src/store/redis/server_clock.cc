#include "store/redis/server_clock.h"

#include "base/clock.h"
#include "store/redis/keys.h"
#include "store/redis/records.h"

namespace pawl::store::redis {

Status ServerClock::set() {
  for (int i = 0; i < ServerTime::first_questions; ++i)
    if (const auto asked = ask(); !asked) return asked;
  return {};
}

Status ServerClock::ask() {
  Commands commands;
  commands.add({"TIME"});
  const auto replies = servers_.ask(catalogue_tag, commands);
  if (!replies) return Error{ErrorCode::retry_later, replies.error().detail};
  const auto seconds = number_in<std::int64_t>(replies->front()[0].text);
  const auto micros = number_in<std::int64_t>(replies->front()[1].text);
  if (!seconds || !micros) return malformed("the server's time");
  observe(*seconds * 1'000'000 + *micros);
  return {};
}

void ServerClock::observe(std::int64_t server_micros) {
  time_.observe(Instant::from_micros(server_micros), process_clock().monotonic());
}

Instant ServerClock::now() const { return time_.at(process_clock().monotonic()); }

}  // namespace pawl::store::redis
