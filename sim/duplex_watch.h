// DuplexWatch: sees every applied operation and keeps its own shadow. It checks at each commit:
//
//   digits      an add leads from one legal state to another, and only where the cell was set before
//   preset      a child is set before its message is enqueued
//   closing     an activity is closed once
//   empty       the set is empty only when no activity is open
//   identity    an id names one job
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ledger/duplex_state.h"
#include "sim/verdict.h"
#include "store/duplex_operation.h"

namespace pawl::sim {

struct DuplexFigures {
  std::uint64_t reruns = 0;    // verdict 799: leg 1 entered again, not left before
  std::uint64_t verified = 0;  // verdict 789: leg 1 entered again, left before
  std::uint64_t undone = 0;    // entries taken back

  DuplexFigures& operator+=(const DuplexFigures& other) {
    reruns += other.reruns;
    verified += other.verified;
    undone += other.undone;
    return *this;
  }
};

class DuplexWatch {
 public:
  explicit DuplexWatch(Verdict& verdict) : verdict_(verdict) {}

  void note(const store::DuplexOperation& operation, const store::DuplexOutcome& outcome);
  const DuplexFigures& figures() const { return figures_; }
  // How many leg-2 entries of this place were deliveries.
  std::uint64_t deliveries(RunId run, const store::Place& place) const;

 private:
  struct Job {
    std::map<store::Place, std::int64_t> cells;
    std::map<store::Place, std::uint64_t> deliveries;
    std::map<store::Place, int> closings;
  };
  void note_add(const store::AddToCell& add, std::int64_t answered);

  Verdict& verdict_;
  std::map<RunId, Job> jobs_;
  std::map<std::string, RunId> ids_;
  DuplexFigures figures_;
};

}  // namespace pawl::sim
