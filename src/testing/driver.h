// Driver: the engine of pawl::Runtime over a store in memory, on the caller's thread, with a clock that moves only when
// the test moves it. It commits one group after the other and counts them; a plan may crash it at one of them. A crash
// destroys the engine and everything in its memory; the store and the clock stay.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pawl/testing.h"
#include "runtime/engine.h"
#include "store/memory/store.h"
#include "testing/virtual_clock.h"

namespace pawl::testing {

// Which fault happens at which commit.
struct PlannedFault {
  std::uint64_t commit = 0;  // from 1; 0: none
  Fault fault = Fault::crash_before;
};

class Driver final : private runtime::EngineEvents {
 public:
  // What the engine reports, once it is durable. A hook must not call the driver.
  struct Hooks {
    std::function<void(const core::WorkItem&)> work;
    std::function<void(const core::WorkItem&)> probe;
    std::function<void(const runtime::WorkRun&)> unwanted;  // this attempt is no longer needed
    std::function<void(const Event&)> event;
    std::function<void(const std::string&)> problem;
    std::function<void()> crashed;  // all attempts are lost, unless the store has their replies
  };
  // `graphs` must outlive it.
  Driver(const TestOptions& options, PlannedFault fault, const runtime::GraphCatalog& graphs, Hooks hooks);

  VirtualClock& clock() { return clock_; }
  const VirtualClock& clock() const { return clock_; }
  store::memory::Store& store() { return store_; }
  const store::PoolInfo& pool() const { return pool_; }
  runtime::Engine& engine() { return *engine_; }
  std::uint64_t life() const { return life_; }  // how often the process was started

  void serve(const Topic& topic);
  void offer_probe(const Topic& topic);
  void graphs_changed() { engine_->graphs_changed(); }

  // Requests of a caller: they return when the result is durable. After a crash, or when the reply was lost, the driver
  // asks again.
  Result<store::Outcome> ask(const store::Operation& operation);
  Result<runtime::Submitted> submit(const runtime::SubmitRequest& request);

  // Decides and commits one group. False: there is nothing to commit.
  bool step();
  // Lets the engine check what is due. False: nothing is due at this time.
  bool look_at_clock();
  std::optional<Duration> next_wake() const;  // monotonic
  void move_clock_to(Duration monotonic);
  void crash();

  std::uint64_t commits() const { return commits_; }
  bool exhausted() const { return commits_ >= options_.commits_max; }
  Error too_many_commits() const;
  const std::map<std::uint64_t, std::string>& told() const { return told_; }  // a description of each commit

 private:
  void dispatch(const core::WorkItem& item) override { hooks_.work(item); }
  void cancel(const runtime::WorkRun& run) override { hooks_.unwanted(run); }
  void withdraw(const runtime::WorkRun& run) override { hooks_.unwanted(run); }
  void probe(const core::WorkItem& item) override { hooks_.probe(item); }
  void answered(runtime::Ticket ticket, Result<store::Outcome> outcome) override;
  void submitted(runtime::Ticket ticket, Result<runtime::Submitted> result) override;
  void committed(const core::JobState& after, const core::Bundle& bundle) override;
  void closed(const core::JobRow&) override {}
  void problem(const std::string& text) override { hooks_.problem(text); }
  void ring(core::LaneId, const store::Change&) override {}  // there is no other process

  void boot();
  void tell(const std::string& what);
  template <class Answer>
  Result<Answer> until_answered(const std::function<void(runtime::Ticket)>& ask,
                                std::map<runtime::Ticket, Result<Answer>>& answers);

  const TestOptions options_;
  const PlannedFault fault_;
  const runtime::GraphCatalog& graphs_;
  const Hooks hooks_;
  VirtualClock clock_;
  store::memory::Store store_;
  store::PoolInfo pool_;
  std::set<std::string> topics_;
  std::set<std::string> probes_;
  std::unique_ptr<runtime::Engine> engine_;
  bool in_engine_ = false;
  std::uint64_t life_ = 0;
  std::uint64_t commits_ = 0;
  Duration looked_at_{-1};   // the time at which the engine last looked,
  std::uint32_t looks_ = 0;  // and how often
  runtime::Ticket tickets_ = 0;
  std::map<runtime::Ticket, Result<store::Outcome>> outcomes_;
  std::map<runtime::Ticket, Result<runtime::Submitted>> submissions_;
  std::map<std::uint64_t, std::string> told_;
};

}  // namespace pawl::testing
