// One mailbox: all of it, or only what its next decision needs; each from one snapshot.
#include "base/format.h"
#include "core/codec.h"
#include "store/mailbox_page.h"
#include "store/postgres/reader.h"

namespace pawl::store::postgres {

namespace {

const Statement read_mailbox_row{
    "read_mailbox_row", "SELECT namespace, topic, key, rev, bundle, next_entry FROM mailboxes WHERE run = $1::bigint"};
const Statement list_mailbox_rows{
    "list_mailbox_rows",
    "SELECT run, namespace, topic, key, signals FROM mailboxes WHERE run > $1::bigint AND signals > 0"
    " AND ($2::text IS NULL OR namespace = $2::text) AND ($3::text IS NULL OR topic = $3::text)"
    " ORDER BY run LIMIT $4::bigint"};
// Uses the indexes that begin with the mailbox's run (schema_tables.h).
#define PAWL_ENTRIES "SELECT seq, guid, expires_at, taker, body FROM mailbox_entries WHERE run + 0 = $1::bigint"
#define PAWL_HEADS "SELECT seq, guid, expires_at, taker, NULL::bytea FROM mailbox_entries WHERE run + 0 = $1::bigint"
const Statement read_all_entries{
    "read_all_entries",
    "SELECT seq, guid, expires_at, taker, body FROM mailbox_entries WHERE run = $1::bigint ORDER BY seq"};
const Statement read_mailbox_inbox{
    "read_mailbox_inbox",
    "SELECT guid, redeliveries, body, 0::bigint FROM inbox WHERE run = $1::bigint ORDER BY position LIMIT $2::bigint"};
// Rows up to the one that exceeds the byte limit. The size does not count the few bytes beside the data, and is
// computed without reading a body.
#define PAWL_WITHIN(rows, order, bytes)                                              \
  " FROM (SELECT *, sum(greatest(octet_length(body) - 64, 0)) OVER (ORDER BY " order \
  ") - greatest(octet_length(body) - 64, 0)"                                         \
  " AS before FROM (" rows ") r) s WHERE before < " bytes " ORDER BY " order
const Statement page_messages{
    "page_messages",
    "SELECT guid, redeliveries, body, 0::bigint" PAWL_WITHIN(
        "SELECT * FROM inbox WHERE run + 0 = $1::bigint ORDER BY position LIMIT $2::bigint", "position", "$3::bigint")};
const Statement read_mailbox_timers{
    "read_mailbox_timers",
    "SELECT guid, redeliveries, body, due FROM timers WHERE run = $1::bigint ORDER BY due, guid"};
const Statement page_registrations{"page_registrations",
                                   PAWL_ENTRIES " AND kind = 0 AND taker IS NULL ORDER BY seq LIMIT $2::bigint"};
const Statement page_heads{"page_heads", PAWL_HEADS " AND kind = 1 AND taker IS NULL ORDER BY seq LIMIT $2::bigint"};
const Statement page_signals{
    "page_signals",
    "SELECT seq, guid, expires_at, taker, body" PAWL_WITHIN(
        PAWL_ENTRIES " AND kind = 1 AND taker IS NULL AND seq >= $2::bigint ORDER BY seq LIMIT $3::bigint", "seq",
        "$4::bigint")};
const Statement page_offers{
    "page_offers", "SELECT seq, guid, expires_at, taker, body" PAWL_WITHIN(
                       PAWL_ENTRIES " AND taker = $2::bytea ORDER BY seq LIMIT $3::bigint", "seq", "$4::bigint")};
const Statement page_registration{"page_registration", PAWL_ENTRIES " AND guid = $2::bytea AND kind = 0"};
const Statement page_offer{"page_offer", PAWL_HEADS " AND taker = $2::bytea AND meeting = $3::bytea"};
#undef PAWL_ENTRIES
#undef PAWL_HEADS
#undef PAWL_WITHIN

Error corrupt(const core::MailboxState& state, std::string_view what) {
  return Error{ErrorCode::corrupt, format("mailbox {}/{}/{} (run {}): {}", state.key.name_space.raw(),
                                          state.key.topic.raw(), state.key.key, state.run.raw(), what)};
}

// A mailbox holds only registrations and signals.
bool take(core::Body body, core::MailboxEntry& entry) {
  if (auto* registration = std::get_if<core::Register>(&body)) {
    entry.what = std::move(*registration);
    return true;
  }
  if (auto* signal = std::get_if<core::Signal>(&body)) {
    entry.what = std::move(*signal);
    return true;
  }
  return false;
}

// Columns: seq, guid, expires_at, taker, body (NULL: a signal without its data).
Result<core::MailboxEntry> entry_of(Rows& rows, const core::MailboxState& state) {
  core::MailboxEntry entry;
  entry.seq = rows.word(0);
  entry.guid = rows.guid(1);
  entry.expires_at = rows.instant(2);
  if (!rows.is_null(3)) entry.offered_to = rows.guid(3);
  bool good = true;
  if (rows.is_null(4)) {
    entry.what = core::Signal{};
  } else {
    auto body = core::decode_body(rows.bytes(4));
    good = body && take(std::move(*body), entry);
  }
  if (!good || rows.malformed()) return corrupt(state, format("entry {} is malformed", entry.seq));
  return entry;
}

Result<std::optional<core::MailboxState>> mailbox_state(Rows& rows, RunId run) {
  if (!rows.next()) return std::optional<core::MailboxState>();
  core::MailboxState state;
  state.run = run;
  state.key = core::MailboxKey{Namespace(std::string(rows.text(0))), Topic(std::string(rows.text(1))),
                               std::string(rows.text(2))};
  state.rev = core::Rev(rows.word(3));
  state.bundle = core::BundleId(rows.word(4));
  state.next_entry = rows.word(5);
  if (rows.malformed()) return corrupt(state, "its row is malformed");
  return std::optional<core::MailboxState>(std::move(state));
}

}  // namespace

// Each call is a round trip within the transaction that reads the page.
class Reader::MailboxSource final : public MailboxRows {
 public:
  // The first of these are read whatever their size.
  struct Bytes {
    std::size_t messages, signals;
  };
  MailboxSource(Connection& connection, const core::MailboxState& state, Bytes bytes_max)
      : connection_(connection), state_(state), bytes_max_(bytes_max) {}

  Status read_messages(std::size_t rows_max, const SeeMessage& see) override {
    Done done = connection_.run(page_messages, Params::of(state_.run, rows_max, bytes_max_.messages));
    if (!done) return error_of(done.failure());
    while (done[0].next()) {
      auto message = inbox_message(done[0]);
      if (!message) return corrupt(state_, message.error().detail);
      if (!see(std::move(*message))) return {};
    }
    return {};
  }
  Status read_registrations(std::size_t rows_max, const See& see) override {
    return see_all(page_registrations, Params::of(state_.run, rows_max), see);
  }
  Status read_heads(std::size_t rows_max, const See& see) override {
    return see_all(page_heads, Params::of(state_.run, rows_max), see);
  }
  Status read_signals(std::uint64_t from_seq, std::size_t rows_max, const See& see) override {
    return see_all(page_signals, Params::of(state_.run, from_seq, rows_max, bytes_max_.signals), see);
  }
  Status read_offers(const core::Guid& registration, std::size_t rows_max, const See& see) override {
    return see_all(page_offers, Params::of(state_.run, registration, rows_max, bytes_max_.signals), see);
  }
  Status find_registration(const core::Guid& registration, const See& see) override {
    return see_all(page_registration, Params::of(state_.run, registration), see);
  }
  Status find_offer(const core::Taken& taken, const See& see) override {
    return see_all(page_offer, Params::of(state_.run, taken.registration, taken.resume), see);
  }

 private:
  Status see_all(const Statement& statement, Params params, const See& see) {
    Done done = connection_.run(statement, std::move(params));
    if (!done) return error_of(done.failure());
    while (done[0].next()) {
      auto entry = entry_of(done[0], state_);
      if (!entry) return entry.error();
      if (!see(std::move(*entry))) return {};
    }
    return {};
  }

  Connection& connection_;
  const core::MailboxState& state_;
  const Bytes bytes_max_;
};

Result<std::optional<StoredMailbox>> Reader::read_mailbox(RunId run) {
  Script script = reading();
  script.add(read_mailbox_row, Params::of(run));
  script.add(read_all_entries, Params::of(run));
  script.add(read_mailbox_inbox, Params::of(run, std::numeric_limits<std::int64_t>::max()));
  script.add(read_mailbox_timers, Params::of(run));
  Done done = read_together(script);
  if (!done) return error_of(done.failure());
  auto row = mailbox_state(done[1], run);
  if (!row) return row.error();
  if (!*row) return std::optional<StoredMailbox>();
  StoredMailbox stored;
  stored.state = std::move(**row);
  while (done[2].next()) {
    auto entry = entry_of(done[2], stored.state);
    if (!entry) return entry.error();
    stored.state.entries.push_back(std::move(*entry));
  }
  for (const auto& [at, into] : {std::pair(3, &stored.inbox), std::pair(4, &stored.timers)}) {
    Rows& rows = done[static_cast<std::size_t>(at)];
    while (rows.next()) {
      auto message = inbox_message(rows);
      if (!message) return corrupt(stored.state, message.error().detail);
      into->push_back(std::move(*message));
    }
  }
  return std::optional<StoredMailbox>(std::move(stored));
}

Result<std::optional<MailboxPage>> Reader::read_mailbox_page(RunId run, const MailboxPageSize& size, Instant now) {
  Script script = reading();
  script.add(read_mailbox_row, Params::of(run));
  Done done = connection_.run(script);
  const auto read = [&]() -> Result<std::optional<MailboxPage>> {
    if (!done) return error_of(done.failure());
    auto row = mailbox_state(done[1], run);
    if (!row) return row.error();
    if (!*row) return std::optional<MailboxPage>();
    MailboxPage page;
    page.state = std::move(**row);
    MailboxSource source(connection_, page.state, {size.bytes, size.bytes});
    if (const auto filled = fill_page(source, size, now, page); !filled) return filled.error();
    return std::optional<MailboxPage>(std::move(page));
  };
  auto page = read();
  if (!connection_.is_lost()) connection_.run(rollback_statement);
  return page;
}

Result<std::vector<MailboxInfo>> Reader::list_mailboxes(const MailboxQuery& query) {
  Done done =
      connection_.run(list_mailbox_rows, Params::of(query.after, query.name_space, query.topic, query.rows_max));
  if (!done) return error_of(done.failure());
  std::vector<MailboxInfo> found;
  Rows& rows = done[0];
  while (rows.next())
    found.push_back(
        {RunId(rows.word(0)),
         {Namespace(std::string(rows.text(1))), Topic(std::string(rows.text(2))), std::string(rows.text(3))},
         rows.word(4)});
  if (rows.malformed()) return Error{ErrorCode::corrupt, "the row of a mailbox is malformed"};
  return found;
}

Result<std::optional<KeptSignals>> Reader::read_kept(const KeptQuery& query) {
  Script script = reading();
  script.add(read_mailbox_row, Params::of(query.mailbox));
  Done done = connection_.run(script);
  const auto read = [&]() -> Result<std::optional<KeptSignals>> {
    if (!done) return error_of(done.failure());
    const auto row = mailbox_state(done[1], query.mailbox);
    if (!row) return row.error();
    if (!*row) return std::optional<KeptSignals>();
    KeptSignals kept{(*row)->key, {}, {}, {}, {}};
    MailboxSource source(connection_, **row, {pawl::limits::early_signal_bytes_per_mailbox_max, query.bytes_max});
    if (const auto filled = fill_kept(source, query, kept); !filled) return filled.error();
    return std::optional<KeptSignals>(std::move(kept));
  };
  auto kept = read();
  if (!connection_.is_lost()) connection_.run(rollback_statement);
  return kept;
}

}  // namespace pawl::store::postgres
