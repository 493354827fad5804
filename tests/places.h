// Where the tests of the public API keep their jobs. A program defines its stores: api_test those of this process
// (local_places.cc), api_servers_test those of a server (server_places.cc); the tests are the same.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace pawl::testing {

// An empty store. Its content is removed with it.
class Place {
 public:
  virtual ~Place() = default;
  virtual std::string address() const = 0;
};
// A kind of place, by name. A program has at most one place of a server's kind at a time.
struct PlaceKind {
  std::string name;
  std::unique_ptr<Place> (*make)();
  bool outlives = true;  // a second runtime finds what the first one left
  bool is_server = false;
};
const std::vector<PlaceKind>& place_kinds();

// A store, fused or step by step, for tests that depend on neither.
struct Setting {
  std::string name;
  PlaceKind place;
  bool fusion = true;
  friend void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }
};
inline std::string setting_name(const ::testing::TestParamInfo<Setting>& info) { return info.param.name; }

enum class Outlives : bool { any, yes };
enum class Ways : std::uint8_t { fused, both };
inline std::vector<Setting> settings(Outlives outlives, Ways ways) {
  std::vector<Setting> all;
  for (const PlaceKind& kind : place_kinds()) {
    if (outlives == Outlives::yes && !kind.outlives) continue;
    all.push_back({kind.name, kind, true});
    if (ways == Ways::both) all.push_back({kind.name + "_step_by_step", kind, false});
  }
  return all;
}
inline const auto every_setting = ::testing::ValuesIn(settings(Outlives::any, Ways::both));
inline const auto every_store = ::testing::ValuesIn(settings(Outlives::any, Ways::fused));
// For tests that open a store a second time.
inline const auto every_lasting_setting = ::testing::ValuesIn(settings(Outlives::yes, Ways::both));
inline const auto every_lasting_store = ::testing::ValuesIn(settings(Outlives::yes, Ways::fused));

}  // namespace pawl::testing
