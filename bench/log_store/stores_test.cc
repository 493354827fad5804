// The stores of this program: the prototype, and the same one when it is opened anew again and again.
#include "log_store/store.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

// Plays the log again after each of the first commits and some of the later ones: what the contract reads then was
// recovered, not remembered.
class Recovered final : public ForwardStore {
 public:
  explicit Recovered(std::unique_ptr<log_store::Store> log) : ForwardStore(*log), log_(std::move(log)) {}

  Result<std::vector<Outcome>> commit(std::span<const Operation> group) override {
    auto outcomes = log_->commit(group);
    if (++commits_ < each_of_the_first || commits_ % and_every == 0) {
      const auto before = log_->dump();
      const auto done = log_->recover();
      EXPECT_TRUE(done) << to_string(done.error());
      EXPECT_TRUE(before == log_->dump()) << "the log did not give the same state again";
    }
    return outcomes;
  }

 private:
  static constexpr std::uint64_t each_of_the_first = 32;
  static constexpr std::uint64_t and_every = 128;
  std::unique_ptr<log_store::Store> log_;
  std::uint64_t commits_ = 0;
};

std::unique_ptr<log_store::Store> open_log(const Clock& clock, const std::filesystem::path& folder) {
  auto opened = log_store::Store::open((folder / "log.db").string(), {.clock = &clock, .syncs = false});
  if (opened) return std::move(*opened);
  ADD_FAILURE() << to_string(opened.error());
  return nullptr;
}

}  // namespace

const std::vector<StoreFactory>& all_stores() {
  static const std::vector<StoreFactory> stores = {
      {"log", open_log},
      {"recovered",
       [](const Clock& clock, const std::filesystem::path& folder) {
         return std::make_unique<Recovered>(open_log(clock, folder));
       }},
  };
  return stores;
}

const std::vector<StoreFactory>& outbox_stores() {
  static const std::vector<StoreFactory> none;
  return none;
}

const std::vector<StoreFactory>& island_stores() {
  static const std::vector<StoreFactory> none;
  return none;
}

}  // namespace pawl::store
