#include "places.h"
#include "testing.h"

namespace pawl::testing {

namespace {

struct Memory final : Place {
  std::string address() const override { return ":memory:"; }
};
struct File final : Place {
  std::string address() const override { return dir / "store.db"; }
  TempDir dir;
};

}  // namespace

const std::vector<PlaceKind>& place_kinds() {
  static const std::vector<PlaceKind> kinds = {
      {"sqlite", [] { return std::unique_ptr<Place>(std::make_unique<File>()); }},
      {"memory", [] { return std::unique_ptr<Place>(std::make_unique<Memory>()); }, false}};
  return kinds;
}

}  // namespace pawl::testing
