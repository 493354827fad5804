// SeededDuplexStore: bugs of jobs under collation duplex, seeded around their store. Only the copy of the sources that
// the bug hunt is built from has it; there duplex/letters.cc defines spawn_rightly(), and spawn() is in
// seeded_duplex.cc.
#pragma once

#include "store/duplex_store.h"

#ifdef PAWL_SEEDED_BUGS
#include <map>
#endif

namespace pawl::sim {

#ifdef PAWL_SEEDED_BUGS

class SeededDuplexStore final : public store::DuplexStore {
 public:
  // `inner` must outlive this store.
  explicit SeededDuplexStore(store::DuplexStore& inner) : inner_(inner) {}

  Result<std::vector<store::DuplexOutcome>> commit(std::span<const store::DuplexOperation> operations) override;
  Instant now() const override { return inner_.now(); }
  Result<std::optional<store::DuplexJob>> read(RunId run) override { return inner_.read(run); }
  Result<std::optional<store::DuplexJob>> read_under_way(RunId run) override { return inner_.read_under_way(run); }
  Result<std::optional<store::DuplexView>> view(RunId run, const store::Place& place) override {
    return inner_.view(run, place);
  }

 private:
  Result<store::DuplexOutcome> run_one(store::DuplexOperation operation);
  void count(const store::DuplexOperation& operation, store::DuplexOutcome& outcome);
  void mistake_closer(const store::NameCloser& name, store::DuplexOutcome& outcome);
  store::ClaimId claim_of(RunId run, const core::Guid& guid);

  store::DuplexStore& inner_;
  std::map<RunId, std::int64_t> obligations_;  // counted here, not stored by address
};

// What a wrong sequence asks for instead of the right operation.
store::DuplexOperation mistaken(store::DuplexOperation operation, store::DuplexStore& store);

#else

using SeededDuplexStore = store::DuplexStore&;
inline const store::DuplexOperation& mistaken(const store::DuplexOperation& operation, store::DuplexStore&) {
  return operation;
}

#endif

}  // namespace pawl::sim
