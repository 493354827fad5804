#include "store/postgres/stuck.h"

namespace pawl::store::postgres {

namespace {

const Statement end_stuck{
    "end_stuck",
    "SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a WHERE a.datname = current_database()"
    " AND a.usename = current_user AND a.pid <> pg_backend_pid() AND a.xact_start IS NOT NULL"
    " AND a.wait_event IN ('ClientRead', 'ClientWrite')"
    " AND a.state_change < clock_timestamp() - $1::bigint * interval '1 millisecond'"
    " AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.granted AND l.relation = 'lanes'::regclass"
    "  AND l.mode IN ('RowShareLock', 'RowExclusiveLock'))"};  // not sessions that only read, such as pg_dump

}  // namespace

bool is_lock_timeout(const Failure& failure) { return failure.state == "55P03"; }

void end_stuck_sessions(Connection& connection, std::chrono::milliseconds silent_for) {
  if (silent_for.count() > 0 && !connection.is_lost()) connection.run(end_stuck, Params::of(silent_for.count()));
}

}  // namespace pawl::store::postgres
