// The stores of this program: Redis, as it is and with a word for all lanes.
#include <cstdlib>

#include "store/conformance/conformance.h"
#include "store/redis/spanning_test.h"
#include "store/redis/store.h"
#include "store/redis/server_test.h"

namespace pawl::store {

namespace {

// The same contract on a cluster, when it is asked for.
std::string url() {
  return std::getenv("PAWL_TEST_CLUSTER") == nullptr ? redis::shared_server().url() : redis::shared_cluster().url();
}

std::unique_ptr<Store> open_redis(const Clock& clock) {
  redis::Options options;
  options.clock = &clock;
  options.prefix = redis::fresh_prefix();
  options.accept_weaker = true;
  auto opened = redis::Store::open(url(), options);
  if (opened) return std::move(*opened);
  ADD_FAILURE() << to_string(opened.error());
  return nullptr;
}

}  // namespace

const std::vector<StoreFactory>& outbox_stores() {
  static const std::vector<StoreFactory> none;
  return none;
}

const std::vector<StoreFactory>& all_stores() {
  static const std::vector<StoreFactory> stores = {
      {"redis", [](const Clock& clock, const std::filesystem::path&) {
         return std::make_unique<redis::SpanningStore>(open_redis(clock));
       },
       [](Store& made) {
         return &dynamic_cast<redis::Store&>(dynamic_cast<redis::SpanningStore&>(made).islands()).duplex();
       }}};
  return stores;
}

const std::vector<StoreFactory>& island_stores() {
  static const std::vector<StoreFactory> stores = {
      {"redis", [](const Clock& clock, const std::filesystem::path&) { return open_redis(clock); }}};
  return stores;
}

}  // namespace pawl::store
