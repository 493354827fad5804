// OutboxRows: messages between lanes as rows, numbered for each source and target, and the number of the last row that
// a lane took from each other lane. If sends go directly into the inbox there are no rows, but deliveries are still
// counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/message.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

class OutboxRows {
 public:
  using Route = std::pair<core::LaneId, core::LaneId>;  // source, target
  void want_taken(core::LaneId target, core::LaneId source) { wanted_taken_.emplace(target, source); }
  void want_route(core::LaneId source, core::LaneId target) { wanted_routes_.emplace(source, target); }

  void ask(Script& script);
  Status take(Done& answers);
  void write(Script& script) const;
  void forget() { *this = OutboxRows(); }

  std::uint64_t last_taken(core::LaneId target, core::LaneId source) const;
  void take_row(core::LaneId target, core::LaneId source, std::uint64_t seq);
  std::uint64_t last_put(core::LaneId source, core::LaneId target) const;
  void put_row(core::LaneId source, core::LaneId target, const core::Envelope& envelope);
  // Whether this group puts such a row.
  bool puts(core::LaneId source, core::LaneId target, const std::string& envelope) const;
  void drop_rows(core::LaneId source, core::LaneId target, std::uint64_t up_to);

 private:
  struct Count {
    bool stored = false;
    std::uint64_t last = 0;
    std::uint64_t dropped = 0;
    bool changed = false;
  };
  struct Row {
    Route route;
    std::uint64_t seq = 0;
    std::string envelope;
  };
  std::set<Route> wanted_taken_, wanted_routes_;
  std::optional<std::size_t> taken_at_, routes_at_;
  std::map<Route, Count> taken_;  // by target and source
  std::map<Route, Count> routes_;
  std::vector<Row> rows_;
  std::map<Route, std::uint64_t> dropped_;
};

// Finds a waiting row with the same envelope, by source, target and bytes.
extern const Statement find_outbox_row;

}  // namespace pawl::store::postgres
