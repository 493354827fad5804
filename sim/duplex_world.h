// DuplexWorld: duplex engines, workers and a client over the memory store, on one thread, under virtual time. Every
// operation is a separate commit and has a number; faults strike by that number. A seed repeats a simulation exactly.
//
// Each node is one process. A crashed node comes back under the next epoch and takes over at once. A stalled node stops
// in the middle of an operation. Another process of the same epoch waits for its leases and does all remaining work.
// Only then does the first one continue: it is a zombie. A node that is stopped gracefully takes nothing new, gives
// back what no worker began, finishes the rest and comes back under the next epoch.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "duplex/engine.h"
#include "sim/clock.h"
#include "sim/duplex_scenario.h"
#include "sim/duplex_watch.h"
#include "sim/seeded_duplex.h"
#include "sim/verdict.h"
#include "store/memory/store.h"

namespace pawl::sim {

enum class DuplexFault : std::uint8_t {
  crash_before,    // the process dies; the operation does not reach the store
  crash_after,     // the operation is applied, the process dies before the answer
  reply_lost,      // applied, and the process cannot know
  request_lost,    // not applied, and the process cannot know
  stalled_before,  // the process stops until a second one has done everything; then the operation arrives
  stalled_after,   // the same, with the operation applied and its answer late
  stopped,         // not a fault: the process stops gracefully and comes back
};
inline constexpr DuplexFault all_duplex_faults[] = {
    DuplexFault::crash_before,   DuplexFault::crash_after,   DuplexFault::reply_lost, DuplexFault::request_lost,
    DuplexFault::stalled_before, DuplexFault::stalled_after, DuplexFault::stopped,
};
std::string_view name_of(DuplexFault fault);

// Strikes the operations first, first + 1, ... first + calls - 1.
struct PlannedDuplexFault {
  DuplexFault kind = DuplexFault::crash_before;
  std::uint64_t first = 1;
  std::uint32_t calls = 1;
};

struct DuplexWorldOptions {
  std::uint64_t seed = 0;  // 0: steps in the order they began; otherwise in a random order
  std::vector<PlannedDuplexFault> planned;
  std::uint32_t faults_per_thousand = 0;  // random ones, at most `budget`
  std::uint32_t budget = 0;
};

struct DuplexReport {
  std::optional<Violation> violation;
  std::uint64_t calls = 0;   // operations committed by engines
  std::uint64_t fired = 0;   // of these, struck by a fault
  std::uint64_t broken = 0;  // of these, by a fault other than a stop
  std::uint64_t crashes = 0;
  std::uint64_t runs = 0;  // attempts of workers
  DuplexFigures figures;
  std::string trace;  // the operations by their kinds, to compare two simulations
};

class DuplexWorld {
 public:
  // `scenario` must outlive the world.
  DuplexWorld(const DuplexScenario& scenario, DuplexWorldOptions options);
  ~DuplexWorld();

  DuplexReport run();

 private:
  struct Node;
  struct Work {              // the replies of a worker: pending ones, then the last one
    std::size_t node = 0;    // where it was dispatched
    std::uint64_t life = 0;  // of that node
    duplex::HeldRequest request;
    std::optional<duplex::Deferred> deferred;
    core::WorkToken token{0};
    bool left = false;  // its worker has returned; the holder of the token replies
    std::uint32_t replies = 0;
    // Of a reply from outside: the process that was asked to store it, until that process confirms.
    std::optional<std::size_t> told;
    std::uint64_t told_life = 0;
    std::uint64_t ticket = 0;
  };

  void boot(Node& node);
  void crash(Node& node);
  void come_back(Node& node);
  void stop(Node& node);
  bool end_stops();
  bool step();
  bool work();
  bool can_work(const Work& work);
  bool complete(const Work& work, const DuplexBehaviour& behaviour);  // true: nothing is left to ask
  bool interrupt();
  bool wait();
  bool thaw();
  void commit(Node& node, duplex::Engine::StepId step);
  void read(Node& node, duplex::Engine::StepId step);
  bool receive();
  bool waits_for_reads() const;
  std::optional<DuplexFault> draw_fault();
  Result<store::DuplexOutcome> apply(const store::DuplexOperation& asked);
  void put_from_outside(const store::StreamMessage& message);
  std::size_t add_node(core::Epoch epoch);
  core::LaneId lane_of_job(std::uint32_t number) const;
  void check_end();
  void check_job(const store::DuplexJob& job, const std::string& id);

  const DuplexScenario& scenario_;
  const DuplexWorldOptions options_;
  Random random_;
  std::uint32_t lanes_ = 1;
  VirtualClock clock_;
  Verdict verdict_;
  store::memory::Store memory_;
  SeededDuplexStore duplex_{memory_.duplex()};
  DuplexWatch watch_;
  core::Epoch epoch_{1};
  std::vector<std::unique_ptr<Node>> nodes_;
  std::deque<Work> works_;
  std::uint64_t next_ticket_ = 1'000'000;  // beyond those of the jobs
  std::vector<duplex::HeldRequest> late_;  // requests whose late pending reply is still to be sent
  std::map<std::string, bool> acknowledged_;
  std::map<core::Guid, std::uint32_t> forgotten_;  // how often no reply came to a request that its worker left
  std::uint64_t interrupt_at_ = 0;                 // the interrupt comes before this operation; 0: done, or never
  DuplexReport report_;
};

DuplexReport run_duplex(const DuplexScenario& scenario, const DuplexWorldOptions& options);

}  // namespace pawl::sim
