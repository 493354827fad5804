// What the records of a move need of a PostgreSQL schema (transfer/sql_source.h, sql_target.h).
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/format.h"
#include "store/postgres/connection.h"
#include "store/postgres/work_columns.h"
#include "store/transfer/sql_target.h"

namespace pawl::store::postgres {

// Tables that only this store has, or that differ in it.
namespace tables {
using transfer::SqlTable;
inline constexpr SqlTable lanes{"lanes", "lane, pool, epoch, owner", "lease_until"};
inline constexpr SqlTable lane_numbers{"lane_numbers", "lane, next_run, next_announcement, next_signal"};
inline constexpr SqlTable paused_topics{"paused_topics", "lane, topic"};
inline constexpr SqlTable measures{
    "measures", "namespace, graph, key, slice, target, counted, value, lane, count, sum, least, most"};
inline constexpr SqlTable work{
    "work",
    "run, seq, position, token, epoch, lease_until, visible_at, wake_at, runs, priority, held, once, plain_key, topic,"
    " worker, request, life, input"};
inline constexpr SqlTable duplex_stream{
    "duplex_stream",
    "run, guid, position, lane, kind, node, place, topic, status, code, number, data, claim, epoch, free_at, claims,"
    " given_back, done"};
inline constexpr SqlTable schema_version{"schema_version", "", "id, version, readable_from"};
inline constexpr SqlTable own[] = {lanes, lane_numbers, paused_topics, measures, work, duplex_stream, schema_version};
}  // namespace tables

class TransferDatabase {
 public:
  // The connection must outlive it.
  explicit TransferDatabase(Connection& connection) : connection_(connection) {}

  static constexpr const char* lanes_sql =
      "SELECT l.lane, l.pool, l.epoch, n.next_run, n.next_announcement FROM lanes l JOIN lane_numbers n ON n.lane = "
      "l.lane ORDER BY l.lane";
  static constexpr const char* work_sql =
      "SELECT " PAWL_ITEM_COLUMNS("w") ", w.input,"
      " row_number() OVER (PARTITION BY w.run >> 47 ORDER BY w.position, w.run, w.seq),"
      " row_number() OVER (ORDER BY w.position, w.run, w.seq) FROM work w";
  static constexpr int work_columns = postgres::work_columns + 1;
  static core::WorkItem work_item(Rows& rows) {
    core::WorkItem item = postgres::work_item(rows);
    item.input = rows.payload(postgres::work_columns);
    return item;
  }
  static constexpr const char* measures_sql =
      "SELECT namespace, graph, key, slice, target, CASE WHEN counted THEN 1 ELSE 0 END, value, count, sum, least, most"
      " FROM measures ORDER BY namespace, graph, key, slice, target, counted, value, lane";
  static constexpr const char* position = "position";

  // REQUIRES: a transaction is open. The rows are read through a cursor, a page at a time.
  template <class See>
  Status scan(const std::string& sql, const See& see) {
    const std::string cursor = format("moved_rows_{}", ++cursors_);
    if (auto declared = connection_.execute(format("DECLARE {} NO SCROLL CURSOR FOR {}", cursor, sql)); !declared)
      return declared;
    const Statement& fetch = remember(format("fetch_{}", cursor), format("FETCH {} FROM {}", rows_per_fetch, cursor));
    for (;;) {
      Done done = connection_.run(fetch);
      if (!done) return error_of(done.failure());
      Rows& rows = done[0];
      const int count = rows.count();
      while (rows.next())
        if (auto seen = see(rows); !seen) return seen;
      if (count < rows_per_fetch) return connection_.execute(format("CLOSE {}", cursor));
    }
  }

  // Rows are collected until flush().
  template <class... Values>
  Status put(const transfer::SqlTable& table, const Values&... values) {
    Gathered& to = gathered_[table.name.data()];
    if (to.statement == nullptr) {
      std::string types;
      int number = 0;
      for (const wire::Type type : {wire::Codec<Bound<Values>>::type...}) {
        types += format("{}${}::{}[]", number == 0 ? "" : ", ", number + 1, type_name(type));
        ++number;
      }
      to.statement = &remember(format("move_{}", table.name), format("INSERT INTO {} ({}) SELECT * FROM unnest({})",
                                                                     table.name, table.columns, types));
    }
    to.rows.row(bound(values)...);
    return {};
  }
  // Writes them in one transaction.
  Status flush() {
    Script script;
    script.add(begin_statement);
    for (auto& [table, gathered] : gathered_) {
      if (gathered.rows.empty()) continue;
      script.add(*gathered.statement, Params::of_rows(gathered.rows));
      gathered.rows = Batch();
    }
    if (script.size() == 1) return {};
    script.add(commit_statement);
    Done done = connection_.run(script);
    return done ? Status{} : Status{error_of(done.failure())};
  }

  Status put_identity(const core::Guid& id) {
    Done done =
        connection_.run(remember("move_identity", "UPDATE store_state SET store_id = $1::bytea"), Params::of(id));
    return done ? Status{} : Status{error_of(done.failure())};
  }
  Status put_start_key(const transfer::StartKey& one) {
    return put(transfer::tables::start_keys, one.name_space, one.id, one.run, one.expires_at);
  }
  Status put_lane(const transfer::Lane& lane) {
    auto done = put(tables::lanes, lane.lane, lane.pool, lane.epoch, std::string());
    return done ? put(tables::lane_numbers, lane.lane, lane.next_run, lane.next_announcement, 1) : done;
  }
  Status put_pause(const Topic& topic) { return put(tables::paused_topics, 0, topic); }
  Status put_measure(const transfer::Measured& one) {
    return put(tables::measures, one.name_space, one.graph, one.key, one.slice, one.target, one.value.has_value(),
               one.value.value_or(""), 1, one.count, one.sum, one.least, one.most);
  }
  Status put_work(const transfer::Work& work) {
    const core::WorkItem& item = work.item;
    const std::optional<std::string> life = stored_life(item);
    std::optional<transfer::Bytes> bytes;
    if (life) bytes = transfer::Bytes{*life};
    return put(tables::work, item.run, item.activity, work.place, item.token, item.epoch, item.lease_until,
               item.visible_at, core::wake_of(item), item.runs, item.priority, item.held, item.life.at_most_once,
               item.plain_key, item.topic, item.worker, item.request, bytes, item.input);
  }
  Status put_stream(const transfer::DuplexMessage& one, int done) {
    return put(tables::duplex_stream, one.run, one.guid, one.position, core::lane_of(one.run), one.kind, one.place.node,
               one.place.at.text(), one.topic, one.status, one.code, one.number, one.data, one.claim, one.epoch,
               one.free_at, one.claims, one.given_back, done);
  }
  static transfer::Bytes mailbox_key(const std::string& key) { return transfer::Bytes{key}; }

 private:
  static constexpr int rows_per_fetch = 1000;

  template <class Value>
  static const Value& bound(const Value& value) {
    return value;
  }
  static Blob bound(const transfer::Bytes& bytes) { return Blob{bytes.bytes}; }
  static std::optional<Blob> bound(const std::optional<transfer::Bytes>& bytes) {
    return bytes ? std::optional(Blob{bytes->bytes}) : std::nullopt;
  }
  template <class Value>
  using Bound = std::remove_cvref_t<decltype(bound(std::declval<const Value&>()))>;

  static const char* type_name(wire::Type type) {
    switch (type) {
      case wire::Type::boolean:
        return "boolean";
      case wire::Type::bytea:
        return "bytea";
      case wire::Type::bigint:
        return "bigint";
      case wire::Type::text:
        return "text";
      case wire::Type::real:
        return "double precision";
    }
    return "?";
  }

  // A connection identifies statements by their address, so they must live as long as this object.
  struct Remembered {
    Remembered(std::string its_name, std::string its_sql)
        : name(std::move(its_name)),
          sql(std::move(its_sql)),
          statement(name.c_str(), sql.c_str(), Statement::Listed::no) {}
    const std::string name, sql;
    const Statement statement;
  };
  const Statement& remember(std::string name, std::string sql) {
    return remembered_.emplace_back(std::move(name), std::move(sql)).statement;
  }

  struct Gathered {
    const Statement* statement = nullptr;
    Batch rows;
  };
  Connection& connection_;
  std::deque<Remembered> remembered_;
  std::map<const void*, Gathered> gathered_;  // by table
  int cursors_ = 0;
};

}  // namespace pawl::store::postgres
