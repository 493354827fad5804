// FarStore: another store with simulated network delays. Every read call takes one round trip, every commit one round
// trip and a sync; several may be in progress at once.
#pragma once

#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "store/forward_store.h"

namespace pawl::bench {

class FarStore final : public store::ForwardStore {
 public:
  struct Way {
    Duration read{0};
    Duration commit{0};
    std::size_t connections = 8;
    bool islands = false;  // no transaction reaches two lanes
  };
  FarStore(store::Store& inner, Way way) : ForwardStore(inner), way_(way) {}

  std::size_t connections() const override { return way_.connections; }
  bool spans_lanes() const override { return !way_.islands; }
  Result<std::vector<store::Outcome>> commit(std::span<const store::Operation> group) override {
    std::this_thread::sleep_for(way_.commit);
    const std::lock_guard lock(commits_);  // the file behind it takes one at a time
    return ForwardStore::commit(group);
  }
  std::vector<store::ReadAnswer> read(std::span<const store::Read> reads) override {
    std::this_thread::sleep_for(way_.read);
    return ForwardStore::read(reads);
  }

 private:
  const Way way_;
  std::mutex commits_;
};

}  // namespace pawl::bench
