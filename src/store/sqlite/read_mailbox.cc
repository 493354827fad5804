// One mailbox, read whole within one snapshot.
#include "base/format.h"
#include "core/codec.h"
#include "store/sqlite/reader.h"

namespace pawl::store::sqlite {

namespace {

Error corrupt(const core::MailboxState& state, std::string_view what) {
  return Error{ErrorCode::corrupt,
               format("mailbox {}/{}/{} (run {}): {}", state.key.name_space.raw(),
                      state.key.topic.raw(), state.key.key, state.run.raw(), what)};
}

// A mailbox holds registrations or signals, nothing else.
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

}  // namespace

Result<std::optional<StoredMailbox>> Reader::read_mailbox_rows(RunId run) {
  StoredMailbox stored;
  core::MailboxState& state = stored.state;
  state.run = run;
  {
    Rows rows = mailbox_.query(run);
    if (!rows.next()) {
      if (rows.failed()) return error(rows);
      return std::optional<StoredMailbox>();
    }
    state.key = core::MailboxKey{Namespace(std::string(rows.text(0))),
                                 Topic(std::string(rows.text(1))), std::string(rows.text(2))};
    state.rev = core::Rev(rows.word(3));
    state.bundle = core::BundleId(rows.word(4));
    state.next_entry = rows.word(5);
    if (rows.malformed()) return corrupt(state, "its row is malformed");
  }
  Rows rows = entries_.query(run);
  while (rows.next()) {
    core::MailboxEntry entry;
    entry.seq = rows.word(0);
    entry.guid = rows.guid(1);
    auto body = core::decode_body(rows.bytes(2));
    if (rows.malformed() || !body || !take(std::move(*body), entry))
      return corrupt(state, format("entry {} is malformed", entry.seq));
    state.entries.push_back(std::move(entry));
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

}  // namespace pawl::store::sqlite
