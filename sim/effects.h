// What workers with a transaction write: a table beside the memory store, a row for each activity that one of them did.
//
// As in a store with SQL, a row is written in the transaction that commits the bundle of its reply, or not at all.
// Oracle `effects`: no activity has two rows; at the end each activity that such a worker completed has one, and no
// other activity has any.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "store/forward_store.h"
#include "store/transaction.h"

namespace pawl::sim {

using Effect = std::pair<RunId, core::ActivitySeq>;

// Holds what is to be written; the world commits it.
class SimTransaction final : public store::OpenTransaction {
 public:
  explicit SimTransaction(Effect effect) : effect_(effect) {}
  const Effect& effect() const { return effect_; }

  Result<SqlRows> execute(std::string_view, std::span<const SqlValue>) override { return SqlRows{}; }
  Kind kind() const override { return Kind::postgres; }
  void* handle() override { return nullptr; }
  Status sound() override { return {}; }
  Result<store::Outcome> commit(const core::Bundle&) override {
    return Error{ErrorCode::unsupported, "the world commits it"};
  }
  void roll_back() override {}
  void expire() override {}
  bool is_over() const override { return false; }

 private:
  const Effect effect_;
};

class EffectStore final : public store::ForwardStore {
 public:
  using store::ForwardStore::ForwardStore;

  // This bundle carries an effect until it has arrived.
  void attach(core::BundleId bundle, Effect effect) { attached_.emplace(bundle, effect); }
  void detach(core::BundleId bundle) { attached_.erase(bundle); }
  void write(core::BundleId bundle);

  Result<std::vector<store::Outcome>> commit(std::span<const store::Operation> group) override;

  const std::set<Effect>& rows() const { return rows_; }
  const std::optional<std::string>& violation() const { return violation_; }

 private:
  std::map<core::BundleId, Effect> attached_;
  std::set<Effect> rows_;
  std::optional<std::string> violation_;
};

}  // namespace pawl::sim
