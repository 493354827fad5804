// The stores that need only this process. Those that need a server are in separate programs (postgres/stores_test.cc).
#include "store/conformance/conformance.h"
#include "store/fault/store.h"
#include "store/memory/store.h"
#include "store/sqlite/store.h"

namespace pawl::store {

namespace {

enum class Payloads : std::uint8_t { as_usual, apart, packed };

std::unique_ptr<Store> open_sqlite(const Clock& clock, const std::filesystem::path& folder, bool sends_directly,
                                   Payloads payloads = Payloads::as_usual) {
  sqlite::Options options;
  if (payloads == Payloads::apart) {
    options.payload_in_row_bytes = 0;
    options.unlisted_rows_max = 0;
  }
  if (payloads == Payloads::packed) options.compress_payloads = 1;
  options.compress_all = true;
  options.clock = &clock;
  options.sends_directly = sends_directly;
  auto opened = sqlite::Store::open((folder / "pawl.db").string(), options);
  if (opened) return std::move(*opened);
  ADD_FAILURE() << to_string(opened.error());
  return nullptr;
}
std::unique_ptr<Store> make_sqlite(const Clock& clock, const std::filesystem::path& folder) {
  return open_sqlite(clock, folder, true);
}

}  // namespace

const std::vector<StoreFactory>& outbox_stores() {
  static const std::vector<StoreFactory> stores = {
      {"sqlite",
       [](const Clock& clock, const std::filesystem::path& folder) { return open_sqlite(clock, folder, false); }}};
  return stores;
}

const std::vector<StoreFactory>& all_stores() {
  using Folder = std::filesystem::path;
  static const std::vector<StoreFactory> stores = {
      {"memory", [](const Clock& clock, const Folder&) { return std::make_unique<memory::Store>(clock); },
       [](Store& made) { return &dynamic_cast<memory::Store&>(made).duplex(); }},
      // Without a plan it must behave like the store that it wraps.
      {"fault",
       [](const Clock& clock, const Folder&) {
         auto inner = std::make_unique<memory::Store>(clock);
         DuplexStore& duplex = inner->duplex();
         auto store = std::make_unique<fault::Store>(std::move(inner), fault::Options{});
         store->wrap(duplex);
         return store;
       },
       [](Store& made) { return dynamic_cast<fault::Store&>(made).duplex(); }},
      {"sqlite", make_sqlite, [](Store& made) { return &dynamic_cast<sqlite::Store&>(made).duplex(); }},
      // What it does with large payloads, with all of them; and with work that is open for long, with all of it.
      {"sqlite_apart",
       [](const Clock& clock, const Folder& folder) { return open_sqlite(clock, folder, true, Payloads::apart); },
       [](Store& made) { return &dynamic_cast<sqlite::Store&>(made).duplex(); }},
      {"sqlite_packed",
       [](const Clock& clock, const Folder& folder) { return open_sqlite(clock, folder, true, Payloads::packed); },
       [](Store& made) { return &dynamic_cast<sqlite::Store&>(made).duplex(); }},
  };
  return stores;
}

const std::vector<StoreFactory>& island_stores() {
  static const std::vector<StoreFactory> stores = {
      {"memory",
       [](const Clock& clock, const std::filesystem::path&) {
         return std::make_unique<memory::Store>(clock, memory::Lanes::islands);
       },
       {},
       [](const Store& store) { return dynamic_cast<const memory::Store&>(store).violation(); }},
  };
  return stores;
}

}  // namespace pawl::store
