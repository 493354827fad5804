// What a store with tables holds besides whole jobs, as records. Written once for the SQL stores, whose tables have the
// same names; a `Database` provides what differs (sqlite/transfer_database.h, postgres/transfer_database.h):
//
//   scan(sql, see)       calls see(rows) for each row, however many there are; see returns a Status
//   lanes_sql, ...       statements that differ
//   work_item(rows)      the item whose columns `work_sql` begins with
#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/format.h"
#include "core/codec.h"
#include "store/transfer/whole.h"

namespace pawl::store::transfer {

template <class Database>
class SqlReader {
 public:
  // The references must outlive it.
  SqlReader(Database& database, Store& store, const See& see) : database_(database), store_(store), see_(see) {}

  Status read() {
    for (const auto part :
         {&SqlReader::read_catalogue, &SqlReader::read_jobs, &SqlReader::read_of_jobs, &SqlReader::read_mailboxes,
          &SqlReader::read_said, &SqlReader::read_outboxes, &SqlReader::read_duplex})
      if (const auto done = (this->*part)(); !done) return done;
    return {};
  }

 private:
  static constexpr std::size_t jobs_at_once = 64;

  static std::string text(auto& rows, int column) { return std::string(rows.text(column)); }
  static Instant instant(auto& rows, int column) { return Instant::from_micros(rows.number(column)); }
  static core::LaneId lane(auto& rows, int column) { return core::LaneId(rows.small(column)); }
  static Error damaged(const char* what) {
    return Error{ErrorCode::corrupt, format("the row of {} is malformed", what)};
  }

  // One record for each row.
  template <class Make>
  Status each(const char* what, const std::string& sql, const Make& make) {
    return database_.scan(sql, [&](auto& rows) -> Status {
      auto record = make(rows);
      if (rows.malformed()) return damaged(what);
      return see_(std::move(record));
    });
  }

  Status read_catalogue() {
    if (const auto done = see_(Identity{store_.id()}); !done) return done;
    auto done = each("a pool", "SELECT pool, first_lane, lanes FROM pools ORDER BY first_lane", [](auto& rows) {
      return PoolLanes{Pool(text(rows, 0)), lane(rows, 1), rows.small(2)};
    });
    if (!done) return done;
    done = each("a lane", Database::lanes_sql, [&](auto& rows) {
      lanes_.push_back(lane(rows, 0));
      return Lane{lanes_.back(), Pool(text(rows, 1)), core::Epoch(rows.word(2)), rows.word(3), rows.word(4)};
    });
    if (done)
      done = each("a paused topic", "SELECT DISTINCT topic FROM paused_topics",
                  [](auto& rows) { return PausedTopic{Topic(text(rows, 0))}; });
    if (done)
      done = each("an app", "SELECT namespace, app, version, body, deployed_at FROM apps", [](auto& rows) {
        return App{Namespace(text(rows, 0)), text(rows, 1), text(rows, 2), std::string(rows.bytes(3)),
                   instant(rows, 4)};
      });
    if (!done) return done;
    return each("an active app", "SELECT namespace, app, version FROM active_apps", [](auto& rows) {
      return ActiveApp{Namespace(text(rows, 0)), text(rows, 1), text(rows, 2)};
    });
  }

  Status read_jobs() {
    std::vector<JobToRead> page;
    auto done = database_.scan(
        "SELECT j.run, CASE WHEN d.run IS NULL THEN 0 ELSE 1 END FROM jobs j LEFT JOIN duplex_jobs d ON d.run = j.run"
        " ORDER BY j.run",
        [&](auto& rows) -> Status {
          page.push_back({RunId(rows.word(0)), rows.number(1) != 0});
          if (rows.malformed()) return damaged("a job");
          if (page.size() < jobs_at_once) return {};
          return transfer::read_jobs(store_, std::exchange(page, {}), see_);
        });
    if (done) done = transfer::read_jobs(store_, page, see_);
    if (!done) return done;
    // Rows without a job would be lost silently.
    for (const char* table : {"activities", "message_ledgers", "labels", "announcements"}) {
      done = database_.scan(
          format("SELECT t.run FROM {} t WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.run = t.run) LIMIT 1", table),
          [&](auto& rows) -> Status {
            return Error{ErrorCode::corrupt, format("{} has a row of run {}, which is no job", table, rows.word(0))};
          });
      if (!done) return done;
    }
    return {};
  }

  Status read_of_jobs() {
    auto done = database_.scan(Database::work_sql, [&](auto& rows) -> Status {
      Work work{Database::work_item(rows)};
      work.rank = rows.word(Database::work_columns);
      work.place = rows.word(Database::work_columns + 1);
      if (rows.malformed()) return damaged("a work item");
      return see_(std::move(work));
    });
    if (done)
      done = each("a start key", "SELECT namespace, job_id, run, expires_at FROM start_keys", [](auto& rows) {
        return StartKey{Namespace(text(rows, 0)), JobId(text(rows, 1)), RunId(rows.word(2)), instant(rows, 3)};
      });
    if (!done) return done;
    return each("a label", "SELECT run, namespace, graph, key, name, value FROM labels", [](auto& rows) {
      return JobLabel{RunId(rows.word(0)),
                      Namespace(text(rows, 1)),
                      GraphName(text(rows, 2)),
                      {text(rows, 3), text(rows, 4), text(rows, 5)}};
    });
  }

  Status read_mailboxes() {
    auto done =
        database_.scan("SELECT run, signals, signal_bytes FROM mailboxes ORDER BY run", [&](auto& rows) -> Status {
          const MailboxToRead mailbox{RunId(rows.word(0)), rows.word(1), rows.word(2)};
          if (rows.malformed()) return damaged("a mailbox");
          return read_mailbox(store_, mailbox, see_);
        });
    if (!done) return done;
    return each("a signal's id", "SELECT lane, guid, until FROM signal_ids ORDER BY lane, seq", [](auto& rows) {
      return SignalId{lane(rows, 0), rows.guid(1), instant(rows, 2)};
    });
  }

  // Measures, by lane: the rows of one measure follow each other.
  Status read_said() {
    std::optional<Measured> sum;
    const auto same = [](const Measured& a, const Measured& b) {
      return std::tie(a.name_space, a.graph, a.key, a.slice, a.target, a.value) ==
             std::tie(b.name_space, b.graph, b.key, b.slice, b.target, b.value);
    };
    auto done = database_.scan(Database::measures_sql, [&](auto& rows) -> Status {
      Measured row{Namespace(text(rows, 0)),
                   GraphName(text(rows, 1)),
                   text(rows, 2),
                   text(rows, 3),
                   text(rows, 4),
                   std::nullopt,
                   rows.word(7),
                   rows.real(8),
                   rows.real(9),
                   rows.real(10)};
      if (rows.number(5) != 0) row.value = text(rows, 6);
      if (rows.malformed()) return damaged("a measure");
      if (sum && same(*sum, row)) {
        add_to(*sum, row);
        return {};
      }
      std::optional<Measured> before = std::exchange(sum, std::move(row));
      return before ? see_(std::move(*before)) : Status{};
    });
    if (done && sum) done = see_(std::move(*sum));
    for (const core::LaneId lane : lanes_)
      if (done) done = transfer::read_announcements(store_, lane, see_);
    return done;
  }

  Status read_outboxes() {
    auto done = each(
        "a route",
        "SELECT r.source, r.target, r.last_seq, coalesce((SELECT min(o.seq) - 1 FROM outbox o WHERE o.source = r.source"
        " AND o.target = r.target), r.last_seq) FROM outbox_routes r",
        [](auto& rows) {
          return OutboxRoute{lane(rows, 0), lane(rows, 1), rows.word(2), rows.word(3)};
        });
    if (done)
      done = database_.scan("SELECT source, target, seq, envelope FROM outbox ORDER BY source, target, seq",
                            [&](auto& rows) -> Status {
                              auto envelope = core::decode_envelope(rows.bytes(3));
                              if (!envelope) return envelope.error();
                              OutboxEntry entry{lane(rows, 0), lane(rows, 1), rows.word(2), std::move(*envelope)};
                              if (rows.malformed()) return damaged("a message on its way");
                              return see_(std::move(entry));
                            });
    if (!done) return done;
    return each("a count of an outbox", "SELECT target, source, last_seq FROM outbox_taken", [](auto& rows) {
      return OutboxTaken{lane(rows, 0), lane(rows, 1), rows.word(2)};
    });
  }

  // Rows that a removed duplex job left behind belong to no job.
#define PAWL_OF_JOBS(table) " FROM " table " t WHERE EXISTS (SELECT 1 FROM jobs j WHERE j.run = t.run)"
  Status read_duplex() {
    RunId of(0);
    std::uint32_t order = 0;
    auto done = database_.scan(
        format("SELECT run, node, place, state, opened_at, closer, status, code, closed_at, output" PAWL_OF_JOBS(
                   "duplex_cells") " ORDER BY run, {}",
               Database::position),
        [&](auto& rows) -> Status {
          const RunId run(rows.word(0));
          order = run == std::exchange(of, run) ? order + 1 : 0;
          auto cell = cell_of(rows);
          if (!cell) return cell.error();
          return see_(DuplexCellAt{run, order, std::move(*cell)});
        });
    if (done)
      done = each("a mark", "SELECT run, mark" PAWL_OF_JOBS("duplex_marks"), [](auto& rows) {
        return DuplexMark{RunId(rows.word(0)), rows.guid(1)};
      });
    if (done)
      done = database_.scan(
          "SELECT run, node, place, CASE WHEN open THEN 1 ELSE 0 END" PAWL_OF_JOBS("duplex_addresses"),
          [&](auto& rows) -> Status {
            auto at = ledger::Dimensions::parse(rows.text(2));
            if (!at) return at.error();
            DuplexAddress address{RunId(rows.word(0)), {rows.small(1), std::move(*at)}, rows.number(3) != 0};
            return rows.malformed() ? Status{damaged("an address")} : see_(std::move(address));
          });
    if (done)
      done = each("a message of a stream", "SELECT run, guid" PAWL_OF_JOBS("duplex_stream") " AND done = 1",
                  [](auto& rows) {
                    return DuplexDone{RunId(rows.word(0)), rows.guid(1)};
                  });
    return done ? read_streams() : done;
  }

  Status read_streams() {
    std::pair<std::int64_t, std::string> of;
    std::uint32_t rank = 0;
    return database_.scan(
        format("SELECT run, guid, kind, node, place, topic, status, code, number, data, claim, epoch, free_at, claims, "
               "given_back,"
               " done, {0}, lane" PAWL_OF_JOBS("duplex_stream") " AND done <> 1 ORDER BY lane, topic, {0}",
               Database::position),
        [&](auto& rows) -> Status {
          const std::pair here{rows.number(17), text(rows, 5)};
          rank = here == std::exchange(of, here) ? rank + 1 : 1;
          auto message = message_of(rows);
          if (!message) return message.error();
          message->rank = rank;
          return see_(std::move(*message));
        });
  }

#undef PAWL_OF_JOBS

  static Result<DuplexCell> cell_of(auto& rows) {
    DuplexCell cell;
    auto at = ledger::Dimensions::parse(rows.text(2));
    if (!at) return at.error();
    cell.place = {rows.small(1), std::move(*at)};
    cell.value = rows.number(3);
    cell.opened_at = instant(rows, 4);
    if (!rows.is_null(5)) cell.closer = rows.guid(5);
    const std::int64_t status = rows.number(6);
    cell.code = rows.integer(7);
    cell.closed_at = instant(rows, 8);
    cell.output = rows.payload(9);
    if (rows.malformed() || status < 0 || status > static_cast<std::int64_t>(core::ActivityStatus::skipped))
      return damaged("a cell");
    cell.status = static_cast<core::ActivityStatus>(status);
    return cell;
  }

  static Result<DuplexMessage> message_of(auto& rows) {
    DuplexMessage message;
    message.run = RunId(rows.word(0));
    message.guid = rows.guid(1);
    message.kind = rows.number(2);
    auto at = ledger::Dimensions::parse(rows.text(4));
    if (!at) return at.error();
    message.place = {rows.small(3), std::move(*at)};
    message.topic = Topic(text(rows, 5));
    const std::int64_t status = rows.number(6);
    message.code = rows.integer(7);
    message.number = rows.small(8);
    message.data = rows.payload(9);
    message.claim = ClaimId(rows.word(10));
    message.epoch = core::Epoch(rows.word(11));
    message.free_at = instant(rows, 12);
    message.claims = rows.small(13);
    message.given_back = rows.small(14);
    const std::int64_t done = rows.number(15);
    message.position = rows.word(16);
    if (rows.malformed() || status < 0 || status > static_cast<std::int64_t>(core::ReplyStatus::fatal) ||
        message.kind < 0 || message.kind >= static_cast<std::int64_t>(std::variant_size_v<stream::Body>))
      return damaged("a message of a stream");
    message.status = static_cast<core::ReplyStatus>(status);
    using Shelf = DuplexMessage::Shelf;
    if (done == 2)
      message.shelf = Shelf::parked;
    else if (message.free_at == Instant())
      message.shelf = Shelf::free;
    else
      message.shelf = message.epoch == core::Epoch(0) ? Shelf::later : Shelf::claimed;
    return message;
  }

  Database& database_;
  Store& store_;
  const See& see_;
  std::vector<core::LaneId> lanes_;
};

}  // namespace pawl::store::transfer
