// Bundles of mailboxes, and the answers to a bundle whose entity is missing or of the other kind.
#include "base/format.h"
#include "core/codec.h"
#include "store/rules.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

Applied Writer::apply_head(const core::Bundle& bundle, const core::MailboxHead& head) {
  std::uint64_t next_entry = 0;
  {
    Rows rows = sql_.read_mailbox_guard.query(bundle.entity);
    if (!rows.next()) {
      if (rows.failed()) return Applied{rows.rc(), false, {}};
      return refused_entity(bundle);
    }
    const core::Rev rev(rows.word(0));
    if (rev == core::next(bundle.rev_before) && core::BundleId(rows.word(1)) == bundle.id)
      return refused(OutcomeKind::already_done, "");
    if (rev != bundle.rev_before)
      return refused(OutcomeKind::conflict,
                     format("rev is {}, expected {}", rev.raw(), bundle.rev_before.raw()));
    next_entry = rows.word(2);
  }
  if (head.next_entry < next_entry)
    return refused(OutcomeKind::rejected, "the numbers of entries only grow");
  for (const core::Write& write : bundle.writes) {
    const auto* put = std::get_if<core::PutEntry>(&write);
    if (put == nullptr) continue;
    if (put->entry.seq < next_entry || put->entry.seq >= head.next_entry)
      return refused(OutcomeKind::rejected, format("entry {} is out of turn", put->entry.seq));
    next_entry = put->entry.seq + 1;
  }
  if (sql_.step_mailbox.run(bundle.entity, bundle.rev_before, bundle.id, head.next_entry) ==
      Statement::failed)
    return failed(sql_.step_mailbox);
  return Applied{SQLITE_OK, true, {}};
}

// No row where the bundle's head looks for one.
Applied Writer::refused_entity(const core::Bundle& bundle) {
  Rows rows = is_mailbox(bundle) ? sql_.read_guard.query(bundle.entity)
                                 : sql_.read_mailbox_guard.query(bundle.entity);
  const bool other_kind = rows.next();
  if (rows.failed()) return Applied{rows.rc(), false, {}};
  if (!other_kind && is_mailbox(bundle)) return refused(OutcomeKind::conflict, no_mailbox(bundle.entity));
  if (!other_kind)
    return refused(OutcomeKind::rejected,
                   format("there is no job or mailbox {}", bundle.entity.raw()));
  const core::Rev rev(rows.word(0));
  if (rev != bundle.rev_before)
    return refused(OutcomeKind::conflict,
                   format("rev is {}, expected {}", rev.raw(), bundle.rev_before.raw()));
  return refused(OutcomeKind::rejected, is_mailbox(bundle) ? "a mailbox bundle for a job"
                                                           : "a job's bundle for a mailbox");
}

namespace {

// Who a signal is out to, and the name of the message that tells it.
struct OfferBytes {
  OfferBytes(const core::Guid& signal, const std::optional<core::Guid>& to) {
    if (!to) return;
    taker.emplace(*to);
    meeting.emplace(core::meeting_of(signal, *to));
  }
  std::optional<GuidBytes> taker;
  std::optional<GuidBytes> meeting;
};

}  // namespace

Applied Writer::apply_write(const core::Bundle& bundle, const core::PutEntry& write) {
  const core::MailboxEntry& entry = write.entry;
  const core::Body what = std::visit([](const auto& one) { return core::Body(one); }, entry.what);
  const std::string body = core::encode(what);
  const OfferBytes offer(entry.guid, entry.offered_to);
  if (sql_.put_entry.run(bundle.entity, entry.seq, GuidBytes(entry.guid),
                         std::holds_alternative<core::Signal>(entry.what), entry.expires_at, offer.taker,
                         offer.meeting, Blob{body}) == Statement::failed)
    return failed(sql_.put_entry);
  return {};
}

Applied Writer::apply_write(const core::Bundle& bundle, const core::DropEntry& write) {
  if (sql_.drop_signal.run(bundle.entity, write.seq) == Statement::failed) return failed(sql_.drop_signal);
  const int dropped = sql_.drop_entry.run(bundle.entity, write.seq);
  if (dropped == Statement::failed) return failed(sql_.drop_entry);
  if (dropped == 0) return refused(OutcomeKind::rejected, format("entry {} is missing", write.seq));
  return {};
}

Applied Writer::apply_write(const core::Bundle& bundle, const core::OfferEntry& write) {
  const OfferBytes offer(write.signal, write.to);
  const int offered = sql_.offer_entry.run(bundle.entity, write.seq, GuidBytes(write.signal), offer.taker, offer.meeting);
  if (offered == Statement::failed) return failed(sql_.offer_entry);
  if (offered == 0)
    return refused(OutcomeKind::rejected, format("entry {} is not the signal that is offered", write.seq));
  return {};
}

}  // namespace pawl::store::sqlite
