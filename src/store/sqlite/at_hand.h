// A bundle that is being applied, what is known about it so far, and the row of its entity.
#pragma once

#include <optional>

#include "base/format.h"
#include "core/bundle.h"
#include "store/sqlite/applied.h"

namespace pawl::store::sqlite {

struct AtHand {
  const core::Bundle& bundle;
  bool tokens_checked = false;  // before its first write: no statement has to compare them again
  bool hit = false;             // the step of its semaphore reached the threshold: decided by SQL, not by the bundle
  const core::PutRecord* snapshot = nullptr;  // whose ledger gets the digit then

  RunId run() const { return bundle.entity; }
};

inline bool is_mailbox(const core::Bundle& bundle) { return std::holds_alternative<core::MailboxHead>(bundle.head); }

// What guards an entity of any kind.
struct EntityRow {
  bool there = false;
  core::Rev rev{0};
  core::BundleId bundle{0};
  std::uint64_t next_entry = 0;  // for a mailbox
  std::optional<Applied> failed{};
};

// A refusal unless the bundle was made for this row: this bundle or another one was applied before.
inline Applied check_rev(const EntityRow& row, const core::Bundle& bundle) {
  if (row.rev == core::next(bundle.rev_before) && row.bundle == bundle.id)
    return refused(OutcomeKind::already_done, "");
  if (row.rev != bundle.rev_before)
    return refused(OutcomeKind::conflict, format("rev is {}, expected {}", row.rev.raw(), bundle.rev_before.raw()));
  return {};
}

}  // namespace pawl::store::sqlite
