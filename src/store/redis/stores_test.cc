// The stores of this program: Redis, as it is and with operations over all lanes.
#include <cstdlib>

#include "store/conformance/conformance.h"
#include "store/redis/rights.h"
#include "store/redis/server_test.h"
#include "store/redis/spanning_test.h"
#include "store/redis/store.h"

namespace pawl::store {

namespace {

// The least rights of a user (docs/REDIS.md) are enough for the whole contract: with the right to functions, and when
// asked for, and in a cluster, without it.
void add_user(redis::TestServer& server, bool calls_functions) {
  std::vector<std::string> words = {"ACL", "SETUSER", "pawl", "on", ">word"};
  for (const std::string& rule : redis::least_rights("t*")) words.push_back(rule);  // fresh_prefix()
  if (calls_functions)
    for (const std::string& rule : redis::function_rights()) words.push_back(rule);
  EXPECT_EQ(server.ask(words), "OK");
}
// The same contract on a cluster, when it is asked for.
std::string url() {
  static const bool is_cluster = std::getenv("PAWL_TEST_CLUSTER") != nullptr;
  static const bool prepared = [] {
    if (!is_cluster) add_user(redis::shared_server(), std::getenv("PAWL_TEST_SCRIPTS") == nullptr);
    for (std::size_t i = 0; is_cluster && i < redis::shared_cluster().size(); ++i)
      add_user(redis::shared_cluster().node(i), false);
    return true;
  }();
  EXPECT_TRUE(prepared);
  std::string address = is_cluster ? redis::shared_cluster().url() : redis::shared_server().url();
  return address.insert(address.find("://") + 3, "pawl:word@");
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
      {"redis",
       [](const Clock& clock, const std::filesystem::path&) {
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
