#include "store/postgres/tail.h"

#include <algorithm>
#include <vector>

#include "base/format.h"

namespace pawl::store::postgres {

const Statement read_commit_mark{"read_commit_mark", "SELECT " PAWL_MARK_COLUMNS};

namespace {

// A replica has no current log position, so it is not asked for it. A server knows where its last recovery ended until
// it is restarted.
const Statement look_at_server{
    "look_at_server",
    "SELECT pg_is_in_recovery(), (SELECT system_identifier::text FROM pg_control_system()),"
    " CASE WHEN NOT pg_is_in_recovery() THEN ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, "
    "8))::bit(32)::bigint END,"
    " CASE WHEN NOT pg_is_in_recovery() THEN (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint END,"
    " (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint,"
    " ARRAY(SELECT CASE WHEN u.x >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint THEN 'never begun'"
    "  ELSE coalesce(pg_xact_status(u.x::text::xid8), 'long ago') END"
    "  FROM unnest($1::bigint[]) WITH ORDINALITY AS u(x, n) ORDER BY u.n)"};

struct Server {
  std::string system;
  std::uint64_t timeline = 0;
  std::uint64_t position = 0;
  std::optional<std::uint64_t> recovered_to;
};

// Why that server does not have the commit. Empty: it has it.
std::string missing(const CommitMark& mark, const std::string& status, const Server& server) {
  const bool has_other_history = server.timeline != mark.timeline;
  if (has_other_history && server.recovered_to && *server.recovered_to < mark.position)
    return format("it took over at {:X} of the log, and {:X} was acknowledged", *server.recovered_to, mark.position);
  if (server.position < mark.position)
    return format("its log ends at {:X}, and {:X} was acknowledged", server.position, mark.position);
  if (status != "committed" && status != "long ago")
    return format("transaction {} was acknowledged, and there it is {}", mark.transaction, status);
  return {};
}

Error lost(const std::string& what) {
  return Error{ErrorCode::corrupt, format("PostgreSQL came back without commits that it had acknowledged: {}. A "
                                          "standby took over that was behind, or an "
                                          "older copy was brought back. This process does nothing more: bring the data "
                                          "back, or start it again to go on "
                                          "with what is there",
                                          what)};
}

}  // namespace

std::optional<CommitMark> mark_in(Rows& rows, int first, const Connection& connection) {
  if (rows.is_null(first)) return std::nullopt;
  return CommitMark{connection.timeline(), rows.word(first), rows.word(first + 1)};
}

void Tail::acknowledged(const CommitMark& mark) {
  const std::lock_guard lock(mutex_);
  marks_.push_back(mark);
  if (marks_.size() > size_) marks_.pop_front();
}

Status Tail::check() const {
  const std::lock_guard lock(mutex_);
  if (lost_) return *lost_;
  return {};
}

Status Tail::admit(Connection& connection) {
  std::vector<CommitMark> marks;
  {
    const std::lock_guard lock(mutex_);
    if (lost_) return *lost_;
    marks.assign(marks_.begin(), marks_.end());
  }
  std::vector<std::uint64_t> transactions;
  for (const CommitMark& mark : marks) transactions.push_back(mark.transaction);
  Done done = connection.run(look_at_server, Params::of(transactions));
  if (!done) return error_of(done.failure());
  Rows& rows = done[0];
  rows.next();
  if (rows.flag(0))
    return Error{ErrorCode::retry_later, "the server is a replica now, which takes no writes; name its primary"};
  Server server{std::string(rows.text(1)), rows.word(2), rows.word(3), std::nullopt};
  if (!rows.is_null(4)) server.recovered_to = rows.word(4);
  const auto statuses = rows.array(5);
  if (rows.malformed() || statuses.size() != marks.size())
    return Error{ErrorCode::corrupt, "what the server says of its log is malformed"};
  connection.set_timeline(server.timeline);
  std::unique_lock lock(mutex_);
  if (lost_) return *lost_;
  if (system_.empty()) system_ = server.system;
  if (system_ != server.system) lost_ = lost(format("it is another one, with the system identifier {}", server.system));
  for (std::size_t i = 0; i < marks.size() && !lost_; ++i)
    if (const std::string what = missing(marks[i], std::string(statuses[i]), server); !what.empty()) lost_ = lost(what);
  if (!lost_) return {};
  const Error error = *lost_;
  const auto report = report_;
  lock.unlock();
  if (report) report(to_string(error));
  return error;
}

void Tail::on_loss(std::function<void(const std::string&)> report) {
  const std::lock_guard lock(mutex_);
  report_ = std::move(report);
}

}  // namespace pawl::store::postgres
