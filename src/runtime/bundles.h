// Bundles: the one way of a decision to the store and back, for jobs and for mailboxes.
//
// loaded (Loader) -> decided (Jobs, Mailboxes) -> launch() -> Store::commit -> settle() -> absorbed, read again or
// refused
#pragma once

#include <memory>
#include <string>

#include "core/bundle.h"
#include "store/operation.h"
#include "store/transaction.h"

namespace pawl::runtime {

struct Parts;

// Decides for one kind of entities. It has at most one bundle of an entity on its way.
class Decider {
 public:
  // One of its bundles came back. False: its entity was forgotten meanwhile, or read again.
  virtual bool came_back(const core::Bundle& bundle) = 0;
  // It is committed: only now its consequences may be handed on.
  virtual void absorb(const core::Bundle& bundle) = 0;
  // It is not committed, or the outcome is unknown: what it had reserved is free again.
  virtual void withdraw(const core::Bundle& bundle) = 0;
  // Only the store knows the entity's state: it is read before anything else is decided for it.
  virtual void read_again(core::Bundle bundle) = 0;
  // The store will never accept it.
  virtual void refused(const core::Bundle& bundle, const std::string& reason) = 0;

 protected:
  ~Decider() = default;
};

class Bundles {
 public:
  explicit Bundles(Parts& parts) : parts_(parts) {}

  void launch(core::Bundle bundle, std::shared_ptr<store::OpenTransaction> transaction = nullptr);
  // Each outcome has one reaction.
  void settle(core::Bundle& bundle, const store::Outcome& outcome);

 private:
  Decider& decider_of(const core::Bundle& bundle);

  Parts& parts_;
};

}  // namespace pawl::runtime
