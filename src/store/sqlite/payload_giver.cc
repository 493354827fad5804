#include "store/sqlite/payload_giver.h"

namespace pawl::store::sqlite {

namespace {

using Mark = ledger::ActivityLedger::Mark;

// Usually one buffer: then no byte is compared.
bool are_same(const Payload& a, const Payload& b) {
  return a.size() == b.size() && (a.view().data() == b.view().data() || a == b);
}

}  // namespace

// An activity that was concluded before is written again: what it had before is no business of this bundle's payloads.
std::optional<core::ActivitySeq> giver_in(const core::Bundle& bundle, const Payload& payload,
                                          const PayloadLimits& limits) {
  if (payload.size() <= limits.shared()) return std::nullopt;
  for (const core::Write& write : bundle.writes) {
    const auto* put = std::get_if<core::PutActivity>(&write);
    if (put == nullptr || !put->after.ledger.has(Mark::work_done)) continue;
    if (put->before && put->before->has(Mark::work_done)) continue;
    if (are_same(put->after.output, payload)) return put->after.seq;
  }
  return std::nullopt;
}

}  // namespace pawl::store::sqlite
