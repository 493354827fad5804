// Labels by which jobs are found, their measures and their announcements.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/store.h"

namespace pawl::store::memory {

struct LabelTables {
  struct Place {  // in the order that a search reads
    Namespace name_space;
    GraphName graph;
    std::string name;
    std::string value;
    std::string key;
    RunId run;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Slot {
    Namespace name_space;
    GraphName graph;
    std::string key, slice, target;
    std::optional<std::string> value;
    core::LaneId lane;  // each lane has its own row; a reader adds them up
    friend auto operator<=>(const Slot&, const Slot&) = default;
  };
  struct Sum {
    std::uint64_t count = 0;
    double sum = 0, least = 0, most = 0;
  };

  // The rows of all lanes added up, in order.
  std::vector<std::pair<Slot, MeasureRow>> added_up() const;

  std::set<Place> places;
  std::map<Slot, Sum> measures;
  std::map<std::pair<core::LaneId, std::uint64_t>, AnnouncementRow> announcements;
};

}  // namespace pawl::store::memory
