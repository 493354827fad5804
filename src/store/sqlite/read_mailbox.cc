// One mailbox: whole, or only what its next decision needs; each within one snapshot.
#include "base/format.h"
#include "core/codec.h"
#include "store/mailbox_page.h"
#include "store/sqlite/reader.h"

namespace pawl::store::sqlite {

namespace {

Error corrupt(const core::MailboxState& state, std::string_view what) {
  return Error{ErrorCode::corrupt, format("mailbox {}/{}/{} (run {}): {}", state.key.name_space.raw(),
                                          state.key.topic.raw(), state.key.key, state.run.raw(), what)};
}

// A mailbox contains registrations or signals, nothing else.
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
  entry.expires_at = Instant::from_micros(rows.number(2));
  if (!rows.is_null(3)) entry.offered_to = rows.guid(3);
  if (rows.is_null(4)) {
    entry.what = core::Signal{};
    return rows.malformed() ? Result<core::MailboxEntry>(corrupt(state, format("entry {} is malformed", entry.seq)))
                            : entry;
  }
  auto body = core::decode_body(rows.bytes(4));
  if (rows.malformed() || !body || !take(std::move(*body), entry))
    return corrupt(state, format("entry {} is malformed", entry.seq));
  return entry;
}

}  // namespace

Status Reader::prepare_mailbox() {
  const struct {
    Statement* statement;
    const char* sql;
  } statements[] = {
      {&mailbox_, "SELECT namespace, topic, key, rev, bundle, next_entry FROM mailboxes WHERE run = ?1"},
      {&entries_, "SELECT seq, guid, expires_at, taker, body FROM mailbox_entries WHERE run = ?1 ORDER BY seq"},
      {&mailbox_list_,
       "SELECT run, namespace, topic, key, signals FROM mailboxes WHERE run > ?1 AND signals > 0"
       " AND (?2 IS NULL OR namespace = ?2) AND (?3 IS NULL OR topic = ?3) ORDER BY run LIMIT ?4"},
      // The ids come from the index alone, so that only the messages of the page are read.
      {&page_inbox_,
       "SELECT guid, redeliveries, body, 0 FROM inbox WHERE id IN"
       " (SELECT id FROM inbox INDEXED BY inbox_by_run WHERE run = ?1 ORDER BY id LIMIT ?2) ORDER BY id"},
      {&page_registrations_,
       "SELECT seq, guid, expires_at, taker, body FROM mailbox_entries INDEXED BY mailbox_waiting"
       " WHERE run = ?1 AND kind = 0 AND taker IS NULL ORDER BY seq LIMIT ?2"},
      {&page_heads_,
       "SELECT seq, guid, expires_at, taker, NULL FROM mailbox_entries INDEXED BY mailbox_waiting"
       " WHERE run = ?1 AND kind = 1 AND taker IS NULL ORDER BY seq LIMIT ?2"},
      {&page_signals_,
       "SELECT seq, guid, expires_at, taker, body FROM mailbox_entries INDEXED BY mailbox_waiting"
       " WHERE run = ?1 AND kind = 1 AND taker IS NULL AND seq >= ?2 ORDER BY seq LIMIT ?3"},
      // Sorted by the index first: a body is read only for a row of the page.
      {&page_offers_,
       "SELECT seq, guid, expires_at, taker, body FROM mailbox_entries WHERE run = ?1 AND seq IN"
       " (SELECT seq FROM mailbox_entries INDEXED BY mailbox_offers WHERE run = ?1 AND taker = ?2"
       " ORDER BY seq LIMIT ?3) ORDER BY seq"},
      {&page_registration_,
       "SELECT seq, guid, expires_at, taker, body FROM mailbox_entries INDEXED BY mailbox_registrations"
       " WHERE run = ?1 AND guid = ?2 AND kind = 0"},
      {&page_offer_,
       "SELECT seq, guid, expires_at, taker, NULL FROM mailbox_entries INDEXED BY mailbox_offers"
       " WHERE run = ?1 AND taker = ?2 AND meeting = ?3"},
  };
  for (const auto& one : statements) {
    const int rc = one.statement->prepare(connection_->handle(), one.sql);
    if (rc != SQLITE_OK) return connection_->error(rc, "find the expected tables in");
  }
  return {};
}

class Reader::MailboxSource final : public MailboxRows {
 public:
  MailboxSource(Reader& reader, const core::MailboxState& state) : reader_(reader), state_(state) {}

  Status read_messages(std::size_t rows_max, const SeeMessage& see) override {
    Rows rows = reader_.page_inbox_.query(state_.run, rows_max);
    while (rows.next()) {
      auto message = take_message(rows);
      if (!message) return corrupt(state_, message.error().detail);
      if (!see(std::move(*message))) return {};
    }
    return rows.failed() ? Status{reader_.error(rows)} : Status{};
  }
  Status read_registrations(std::size_t rows_max, const See& see) override {
    return see_all(reader_.page_registrations_.query(state_.run, rows_max), see);
  }
  Status read_heads(std::size_t rows_max, const See& see) override {
    return see_all(reader_.page_heads_.query(state_.run, rows_max), see);
  }
  Status read_signals(std::uint64_t from_seq, std::size_t rows_max, const See& see) override {
    return see_all(reader_.page_signals_.query(state_.run, from_seq, rows_max), see);
  }
  Status read_offers(const core::Guid& registration, std::size_t rows_max, const See& see) override {
    const GuidBytes taker(registration);
    return see_all(reader_.page_offers_.query(state_.run, taker, rows_max), see);
  }
  Status find_registration(const core::Guid& registration, const See& see) override {
    const GuidBytes guid(registration);
    return see_all(reader_.page_registration_.query(state_.run, guid), see);
  }
  Status find_offer(const core::Taken& taken, const See& see) override {
    const GuidBytes taker(taken.registration);
    const GuidBytes meeting(taken.resume);
    return see_all(reader_.page_offer_.query(state_.run, taker, meeting), see);
  }

 private:
  Status see_all(Rows rows, const See& see) {
    while (rows.next()) {
      auto entry = entry_of(rows, state_);
      if (!entry) return entry.error();
      if (!see(std::move(*entry))) return {};
    }
    return rows.failed() ? Status{reader_.error(rows)} : Status{};
  }

  Reader& reader_;
  const core::MailboxState& state_;
};

Result<std::optional<core::MailboxState>> Reader::read_mailbox_row(RunId run) {
  core::MailboxState state;
  state.run = run;
  Rows rows = mailbox_.query(run);
  if (!rows.next()) {
    if (rows.failed()) return error(rows);
    return std::optional<core::MailboxState>();
  }
  state.key = core::MailboxKey{Namespace(std::string(rows.text(0))), Topic(std::string(rows.text(1))),
                               std::string(rows.text(2))};
  state.rev = core::Rev(rows.word(3));
  state.bundle = core::BundleId(rows.word(4));
  state.next_entry = rows.word(5);
  if (rows.malformed()) return corrupt(state, "its row is malformed");
  return std::optional<core::MailboxState>(std::move(state));
}

Result<std::optional<StoredMailbox>> Reader::read_mailbox_rows(RunId run) {
  auto row = read_mailbox_row(run);
  if (!row) return row.error();
  if (!*row) return std::optional<StoredMailbox>();
  StoredMailbox stored;
  core::MailboxState& state = stored.state;
  state = std::move(**row);
  Rows rows = entries_.query(run);
  while (rows.next()) {
    auto entry = entry_of(rows, state);
    if (!entry) return entry.error();
    state.entries.push_back(std::move(*entry));
  }
  if (rows.failed()) return error(rows);
  auto inbox = read_inbox(run);
  if (!inbox) return Error{inbox.error().code, corrupt(state, inbox.error().detail).detail};
  stored.inbox = std::move(*inbox);
  auto timers = read_timers(run);
  if (!timers) return Error{timers.error().code, corrupt(state, timers.error().detail).detail};
  stored.timers = std::move(*timers);
  return std::optional<StoredMailbox>(std::move(stored));
}

Result<std::optional<StoredMailbox>> Reader::read_mailbox(RunId run) {
  const Snapshot snapshot(begin_, end_);
  if (snapshot.code() != SQLITE_OK) return connection_->error(snapshot.code(), "read");
  return read_mailbox_rows(run);
}

Result<std::optional<MailboxPage>> Reader::read_mailbox_page(RunId run, const MailboxPageSize& size, Instant now) {
  const Snapshot snapshot(begin_, end_);
  if (snapshot.code() != SQLITE_OK) return connection_->error(snapshot.code(), "read");
  auto row = read_mailbox_row(run);
  if (!row) return row.error();
  if (!*row) return std::optional<MailboxPage>();
  MailboxPage page;
  page.state = std::move(**row);
  MailboxSource source(*this, page.state);
  if (const auto filled = fill_page(source, size, now, page); !filled) return filled.error();
  return std::optional<MailboxPage>(std::move(page));
}

Result<std::vector<MailboxInfo>> Reader::list_mailboxes(const MailboxQuery& query) {
  std::vector<MailboxInfo> found;
  Rows rows = mailbox_list_.query(query.after, query.name_space, query.topic, query.rows_max);
  while (rows.next()) {
    found.push_back(
        {RunId(rows.word(0)),
         {Namespace(std::string(rows.text(1))), Topic(std::string(rows.text(2))), std::string(rows.text(3))},
         rows.word(4)});
    if (rows.malformed()) return Error{ErrorCode::corrupt, "the row of a mailbox is malformed"};
  }
  if (rows.failed()) return error(rows);
  return found;
}

Result<std::optional<KeptSignals>> Reader::read_kept(const KeptQuery& query) {
  const Snapshot snapshot(begin_, end_);
  if (snapshot.code() != SQLITE_OK) return connection_->error(snapshot.code(), "read");
  const auto row = read_mailbox_row(query.mailbox);
  if (!row) return row.error();
  if (!*row) return std::optional<KeptSignals>();
  KeptSignals kept{(*row)->key, {}, {}, {}, {}};
  MailboxSource source(*this, **row);
  if (const auto filled = fill_kept(source, query, kept); !filled) return filled.error();
  return std::optional<KeptSignals>(std::move(kept));
}

}  // namespace pawl::store::sqlite
