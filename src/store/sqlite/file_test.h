// Shared by the tests of this folder: a store on a separate file, and direct SQL access to that file.
#pragma once

#include <sqlite3.h>

#include <string>

#include "store/conformance/conformance.h"
#include "store/sqlite/lane_writer.h"
#include "store/sqlite/store.h"

namespace pawl::store::sqlite {

// For a part of the store that is tested alone.
class AlwaysOwner final : public Ownership {
 public:
  Result<bool> try_own() override { return true; }
};

class FileTest : public Bench {
 protected:
  std::string path() const { return (folder_.path() / "pawl.db").string(); }

  void open_bench(Options options = {}) {
    options.clock = &clock_;
    use({"sqlite", [&](const Clock&, const std::filesystem::path&) { return make(options); }});
  }
  std::unique_ptr<pawl::store::Store> make(const Options& options) {
    auto opened = Store::open(path(), options);
    if (opened) return std::move(*opened);
    ADD_FAILURE() << to_string(opened.error());
    return nullptr;
  }
  Store& sqlite() { return static_cast<Store&>(*store_); }

  // Runs SQL on the file without the store; returns the first column of the last row, if any.
  static std::string raw(const std::string& file, const std::string& sql) {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
    sqlite3_busy_timeout(database, 5000);
    std::string last;
    char* error = nullptr;
    const auto keep = [](void* out, int, char** values, char**) {
      *static_cast<std::string*>(out) = values[0] != nullptr ? values[0] : "";
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), keep, &last, &error), SQLITE_OK) << (error != nullptr ? error : "");
    sqlite3_free(error);
    sqlite3_close(database);
    return last;
  }
  std::string raw(const std::string& sql) const { return raw(path(), sql); }

  static Submit a_submit(core::LaneId lane, const std::string& id, Payload input = "{}") {
    return Submit{Namespace("default"),   JobId(id), lane, core::GraphRef{GraphName("graph"), 1, 7}, std::move(input),
                  Instant::from_micros(1)};
  }
};

}  // namespace pawl::store::sqlite
