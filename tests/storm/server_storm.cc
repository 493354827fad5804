// Nodes are killed about as often as a lease ends. With more kills no node would ever own a lane.
#include <signal.h>

#include <array>
#include <thread>

#include "storm_run.h"

namespace storm {

namespace {

constexpr int kills_while_made = 2;  // before the first node runs long enough to make the store
constexpr std::array<const char*, 3> slots = {"a", "b", "c"};

class ServerStorm final : public StormRun {
 public:
  using StormRun::StormRun;

 private:
  struct Place {
    std::unique_ptr<NodeProcess> node;
    std::optional<Clock::time_point> stands_until;  // it was stopped (SIGSTOP); none: it runs
  };

  Problem storm_until_over() override {
    for (int i = 0; i < kills_while_made; ++i) kill_while_opening(slots[0]);
    while (!over()) {
      if (auto problem = fill()) return problem;
      const int lease = static_cast<int>(options_.lease.count());
      rest(milliseconds(between(lease / 5, lease * 6 / 5)));
      if (options_.crashes && chance(5))
        if (auto problem = crash_server()) return problem;
      if (auto problem = hit()) return problem;
      show();
    }
    return std::nullopt;
  }

  // Waits until all of them are up; sometimes one is killed before.
  Problem fill() {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (places_[i].node) continue;
      if (chance(10)) kill_while_opening(slots[i]);
      places_[i] = {start_and_hear(slots[i], "ready"), std::nullopt};
      if (!places_[i].node) return "a node did not start";
    }
    return std::nullopt;
  }

  // Meanwhile, nodes that were stopped long enough continue.
  void rest(milliseconds time) {
    const auto end = Clock::now() + time;
    while (Clock::now() < end) {
      for (Place& place : places_) {
        if (!place.stands_until || Clock::now() < *place.stands_until) continue;
        place.node->send(SIGCONT);
        place.stands_until.reset();
      }
      std::this_thread::sleep_for(milliseconds(5));
    }
  }

  Problem hit() {
    Place& place = places_[static_cast<std::size_t>(between(0, static_cast<int>(slots.size()) - 1))];
    if (!place.stands_until && chance(20)) {
      stand_still(place);
      return std::nullopt;
    }
    if (!place.stands_until && chance(12)) {
      ++figures_.stops;
      auto problem = stop(*place.node);
      place.node.reset();
      return problem;
    }
    strike(*place.node);  // perhaps while it is stopped
    place = {};
    return std::nullopt;
  }

  // With a lease of 1 s: for up to 60 ms, as on a machine under load; or so long that others have taken its lanes.
  void stand_still(Place& place) {
    const int lease = static_cast<int>(options_.lease.count());
    ++figures_.pauses;
    const bool is_long = chance(70);
    if (is_long) ++figures_.long_pauses;
    place.node->send(SIGSTOP);
    place.stands_until =
        Clock::now() + milliseconds(is_long ? between(lease * 11 / 10, lease * 5 / 2) : between(5, 60));
  }

  Problem stop_all() override {
    for (Place& place : places_) {
      if (!place.node) continue;
      if (auto problem = stop(*place.node)) return problem;
      place = {};
    }
    return std::nullopt;
  }

  std::array<Place, slots.size()> places_;
};

}  // namespace

std::unique_ptr<StormRun> server_storm(const Options& options, StormStore& store) {
  return std::make_unique<ServerStorm>(options, store);
}

}  // namespace storm
