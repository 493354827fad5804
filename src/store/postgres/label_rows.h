// LabelRows: the labels, the measured values and the announcements of jobs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/bundle.h"
#include "store/postgres/connection.h"
#include "store/postgres/job_rows.h"

namespace pawl::store::postgres {

class LabelRows {
 public:
  void write(Script& script) const;
  void forget() { *this = LabelRows(); }

  void put(RunId run, const JobGuard& job, const core::Label& label);
  void drop(RunId run, const core::Label& label);
  void add(RunId run, const JobGuard& job, const core::Measure& measure);
  // The reference must stay valid until the commit.
  void announce(RunId run, std::uint64_t number, const core::Announce& said);

 private:
  struct Names {
    Namespace name_space{""};
    GraphName graph{""};
  };
  struct Sum {
    std::uint64_t count = 0;
    double sum = 0, least = 0, most = 0;
  };
  using LabelKey = std::tuple<RunId, std::string, std::string, std::string>;  // name, value, key
  using Slot =
      std::tuple<Namespace, GraphName, std::string, std::string, std::string, std::optional<std::string>, core::LaneId>;
  struct Said {
    RunId run{0};
    std::uint64_t number = 0;
    const core::Announce* said;
  };
  std::map<LabelKey, std::optional<Names>> labels_;  // none: the label is deleted
  std::map<Slot, Sum> sums_;
  std::vector<Said> said_;
};

}  // namespace pawl::store::postgres
