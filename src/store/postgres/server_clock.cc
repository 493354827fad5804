#include "store/postgres/server_clock.h"

#include "store/postgres/tail.h"

namespace pawl::store::postgres {

namespace {

const Statement read_clock{"read_clock",
                           "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, " PAWL_MARK_COLUMNS};

}  // namespace

Instant ServerClock::now() const {
  if (given_ != nullptr) return given_->now();
  return time_.at(process_clock().monotonic());
}

std::size_t ServerClock::ask(Script& script) const { return script.add(read_clock); }

Instant ServerClock::take(Done& answers, std::size_t at) {
  Rows& rows = answers[at];
  rows.next();
  if (given_ != nullptr) return now();
  const Instant said = rows.instant(0);
  time_.observe(said, process_clock().monotonic());
  return said;
}

}  // namespace pawl::store::postgres
