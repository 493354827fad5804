#include "store/postgres/server_clock.h"

#include "store/postgres/tail.h"

namespace pawl::store::postgres {

namespace {

const Statement read_clock{"read_clock",
                           "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, " PAWL_MARK_COLUMNS};

}  // namespace

Instant ServerClock::now() const {
  if (given_ != nullptr) return given_->now();
  return Instant::from_micros(offset_.load() + elapsed().count());
}

std::size_t ServerClock::ask(Script& script) const { return script.add(read_clock); }

// The server's time was read at some moment before now. So the difference to now is at most too small: the clock is
// behind, and a later answer can correct it. A difference to the time of the question would make the clock ahead by up
// to a round trip.
Instant ServerClock::take(Done& answers, std::size_t at) {
  Rows& rows = answers[at];
  rows.next();
  if (given_ != nullptr) return now();
  const Instant said = rows.instant(0);
  const std::int64_t offset = said.micros() - elapsed().count();
  std::int64_t known = offset_.load();
  while (known < offset && !offset_.compare_exchange_weak(known, offset)) {
  }
  return said;
}

}  // namespace pawl::store::postgres
