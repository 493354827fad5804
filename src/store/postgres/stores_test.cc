// The PostgreSQL store in the conformance suite, with a role that may run it and owns nothing.
#include "store/conformance/conformance.h"
#include "store/forward_store.h"
#include "store/postgres/schema_test.h"

namespace pawl::store {

namespace {

// Its schema is given back with it.
class SchemaStore final : public ForwardStore {
 public:
  SchemaStore(const Clock& clock, bool sends_directly) : SchemaStore(open(clock, sends_directly)) {}
  std::vector<ReadAnswer> read(std::span<const Read> reads) override { return inner_.read(reads); }
  DuplexStore& duplex() { return store_->duplex(); }

 private:
  struct Made {
    std::unique_ptr<postgres::TestSchema> schema;
    std::unique_ptr<postgres::Store> store;
  };
  explicit SchemaStore(Made made)
      : ForwardStore(*made.store), schema_(std::move(made.schema)), store_(std::move(made.store)) {}
  static Made open(const Clock& clock, bool sends_directly) {
    postgres::Options options;
    options.clock = &clock;
    options.sends_directly = sends_directly;
    Made made;
    made.schema = std::make_unique<postgres::TestSchema>();
    made.store = made.schema->open_as_runner(options);
    return made;
  }

  std::unique_ptr<postgres::TestSchema> schema_;  // must outlive the store
  std::unique_ptr<postgres::Store> store_;
};

std::unique_ptr<Store> make_postgres(const Clock& clock, bool sends_directly) {
  return std::make_unique<SchemaStore>(clock, sends_directly);
}

}  // namespace

const std::vector<StoreFactory>& all_stores() {
  static const std::vector<StoreFactory> stores = {
      {"postgres", [](const Clock& clock, const std::filesystem::path&) { return make_postgres(clock, true); },
       [](Store& made) { return &dynamic_cast<SchemaStore&>(made).duplex(); }}};
  return stores;
}

const std::vector<StoreFactory>& outbox_stores() {
  static const std::vector<StoreFactory> stores = {
      {"postgres", [](const Clock& clock, const std::filesystem::path&) { return make_postgres(clock, false); }}};
  return stores;
}

const std::vector<StoreFactory>& island_stores() {
  static const std::vector<StoreFactory> none;
  return none;
}

}  // namespace pawl::store
