// What moving records needs from a SQLite file (transfer/sql_source.h, sql_target.h).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/format.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/start_keys.h"
#include "store/sqlite/statement.h"
#include "store/sqlite/work_rows.h"
#include "store/transfer/sql_target.h"

namespace pawl::store::sqlite {

// Tables that only this store has, or that differ here.
namespace tables {
using transfer::SqlTable;
inline constexpr SqlTable lanes{"lanes", "lane, pool, epoch, owner, next_run, next_announcement"};
inline constexpr SqlTable paused_topics{"paused_topics", "topic"};
inline constexpr SqlTable measures{"measures",
                                   "namespace, graph, key, slice, target, counted, value, count, sum, least, most"};
inline constexpr SqlTable duplex_stream{
    "duplex_stream",
    "id, run, guid, lane, kind, node, place, topic, status, code, number, data, claim, epoch, free_at, claims,"
    " given_back, done"};
inline constexpr SqlTable job_counts{"job_counts", "", "graph, status, jobs"};  // triggers write it with the jobs
inline constexpr SqlTable large_inputs{"large_inputs", "", "run, seq, body"};  // moved with the work items
inline constexpr SqlTable work_list{"work_list",  // written with the work items
                                    "run, seq, topic, priority, position, token, epoch, lease_until, visible_at,"
                                    " held, once, wake_at"};
inline constexpr SqlTable packed_payloads{"packed_payloads", "", "id, run, bytes, body"};  // moved as they were before
inline constexpr SqlTable start_keys{"start_keys", "part, namespace, job_id, run, expires_at"};
inline constexpr SqlTable key_filters{"key_filters", "", "part, filter"};  // made again where they are missing
inline constexpr SqlTable own[] = {lanes,        paused_topics,   measures,    duplex_stream, job_counts,
                                   large_inputs, packed_payloads, key_filters, work_list};
}  // namespace tables

class TransferDatabase {
 public:
  // The connection must outlive it.
  explicit TransferDatabase(Connection& connection) : connection_(connection) {}

  static constexpr const char* lanes_sql =
      "SELECT lane, pool, epoch, next_run, next_announcement FROM lanes ORDER BY lane";
  static constexpr const char* work_sql =
      "SELECT " PAWL_WORK_COLUMNS
      ", seq, run, row_number() OVER (PARTITION BY run >> 47 ORDER BY position, run, seq),"
      " row_number() OVER (ORDER BY position, run, seq) FROM activities WHERE request IS NOT NULL";
  static constexpr int work_columns = sqlite::work_columns + 2;
  static core::WorkItem work_item(Rows& rows) {
    return sqlite::work_item(rows, RunId(rows.word(sqlite::work_columns + 1)),
                             core::ActivitySeq(rows.small(sqlite::work_columns)));
  }
  static constexpr const char* measures_sql =
      "SELECT namespace, graph, key, slice, target, counted, value, count, sum, least, most FROM measures";
  static constexpr const char* position = "id";

  template <class See>
  Status scan(const std::string& sql, const See& see) {
    Statement statement;
    const int rc = statement.prepare(connection_.handle(), sql.c_str());
    if (rc != SQLITE_OK) return connection_.error(rc, "find the expected tables in");
    Rows rows = statement.query();
    while (rows.next())
      if (auto seen = see(rows); !seen) return seen;
    return rows.failed() ? Status{connection_.error(rows.rc(), "read")} : Status{};
  }

  template <class... Values>
  Status put(const transfer::SqlTable& table, const Values&... values) {
    std::unique_ptr<Statement>& statement = statements_[table.name.data()];
    if (!statement) {
      std::string places;
      for (std::size_t i = 1; i <= sizeof...(values); ++i) places += format("{}?{}", i == 1 ? "" : ", ", i);
      if (auto prepared =
              prepare(statement, format("INSERT INTO {} ({}) VALUES ({})", table.name, table.columns, places));
          !prepared)
        return prepared;
    }
    return run(*statement, values...);
  }

  Status put_identity(const core::Guid& id) {
    std::unique_ptr<Statement> statement;
    auto prepared = prepare(statement, "UPDATE store_state SET store_id = ?1");
    return prepared ? run(*statement, id) : prepared;
  }
  Status put_lane(const transfer::Lane& lane) {
    return put(tables::lanes, lane.lane, lane.pool, lane.epoch, std::string(), lane.next_run, lane.next_announcement);
  }
  Status put_start_key(const transfer::StartKey& one) {
    return put(tables::start_keys, part_of(one.run), one.name_space, one.id, one.run, one.expires_at);
  }
  Status put_pause(const Topic& topic) { return put(tables::paused_topics, topic); }
  Status put_measure(const transfer::Measured& one) {
    return put(tables::measures, one.name_space, one.graph, one.key, one.slice, one.target, one.value.has_value(),
               one.value.value_or(""), one.count, one.sum, one.least, one.most);
  }
  // It is stored in its activity's row, and listed.
  Status put_work(const transfer::Work& work) {
    if (!put_work_) {
      auto prepared = prepare(
          put_work_,
          "UPDATE activities SET topic = ?3, request = ?4, token = ?5, worker = ?6, epoch = ?7, lease_until = ?8,"
          " runs = ?9, input = ?10, priority = ?11, visible_at = ?12, held = ?13, once = ?14, life = ?15,"
          " plain_key = ?16, wake_at = ?17, position = ?18 WHERE run = ?1 AND seq = ?2");
      if (!prepared) return prepared;
    }
    last_place_ = std::max(last_place_, work.place);
    const core::WorkItem& item = work.item;
    const StoredLife stored(item);
    if (auto done = put(tables::work_list, item.run, item.activity, item.topic, item.priority, work.place, item.token,
                        item.epoch, item.lease_until, item.visible_at, item.held, stored.once, stored.wake_at);
        !done)
      return done;
    return run(*put_work_, item.run, item.activity, item.topic, item.request, item.token, item.worker, item.epoch,
               item.lease_until, item.runs, item.input, item.priority, item.visible_at, item.held, stored.once,
               stored.life(), item.plain_key, stored.wake_at, work.place);
  }
  Status put_stream(const transfer::DuplexMessage& one, int done) {
    std::optional<std::uint64_t> id;  // for one that is done: any free number, below the others or above
    if (one.position != 0) id = one.position + first_position;
    return put(tables::duplex_stream, id, one.run, one.guid, core::lane_of(one.run), one.kind, one.place.node,
               one.place.at.text(), one.topic, one.status, one.code, one.number, one.data, one.claim, one.epoch,
               one.free_at, one.claims, one.given_back, done);
  }
  static const std::string& mailbox_key(const std::string& key) { return key; }

  std::uint64_t last_place() const { return last_place_; }  // in line

 private:
  template <class Value>
  static const Value& bound(const Value& value) {
    return value;
  }
  static GuidBytes bound(const core::Guid& guid) { return GuidBytes(guid); }
  static std::optional<GuidBytes> bound(const std::optional<core::Guid>& guid) {
    return guid ? std::optional<GuidBytes>(*guid) : std::nullopt;
  }
  static std::optional<GuidBytes> bound(const core::JobSecret& secret) { return stored_secret(secret); }
  static Blob bound(const transfer::Bytes& bytes) { return Blob{bytes.bytes}; }

  Status prepare(std::unique_ptr<Statement>& statement, const std::string& sql) {
    statement = std::make_unique<Statement>();
    const int rc = statement->prepare(connection_.handle(), sql.c_str());
    return rc == SQLITE_OK ? Status{} : Status{connection_.error(rc, "find the expected tables in")};
  }
  template <class... Values>
  Status run(Statement& statement, const Values&... values) {
    const int changed = statement.run(bound(values)...);
    if (changed == Statement::failed) return connection_.error(statement.code(), "write");
    if (changed == 1) return {};
    return Error{ErrorCode::corrupt, "a work item has no activity"};
  }

  static constexpr std::uint64_t first_position = std::uint64_t{1} << 40;

  Connection& connection_;
  std::map<const void*, std::unique_ptr<Statement>> statements_;  // by table
  std::unique_ptr<Statement> put_work_;
  std::uint64_t last_place_ = 0;
};

}  // namespace pawl::store::sqlite
