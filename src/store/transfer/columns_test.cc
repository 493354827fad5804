// A column that a move does not know would be missing in a moved store.
#include <set>
#include <sstream>

#include "store/postgres/schema_test.h"
#include "store/postgres/transfer_database.h"
#include "store/sqlite/store.h"
#include "store/sqlite/transfer_database.h"
#include "store/transfer/kinds_test.h"

namespace pawl::store::transfer {

namespace {

using Columns = std::set<std::string>;  // "table.column"

void add(Columns& to, std::string_view table, std::string_view columns) {
  std::istringstream words{std::string(columns)};
  for (std::string word; words >> word;) {
    if (word.back() == ',') word.pop_back();
    to.insert(std::string(table) + "." + word);
  }
}

// In these tables a store has each column that is written, and no others than those that are left out.
void expect_known(const Columns& stored, std::initializer_list<std::span<const SqlTable>> lists) {
  Columns written, known;
  for (const auto& list : lists)
    for (const SqlTable& table : list) {
      add(written, table.name, table.columns);
      add(known, table.name, table.columns);
      add(known, table.name, table.left_out);
    }
  for (const std::string& column : stored) EXPECT_TRUE(known.contains(column)) << column << " is moved by nobody";
  for (const std::string& column : written)
    EXPECT_TRUE(stored.contains(column)) << column << " is written, and is not there";
}

TEST(MovedColumns, are_all_that_a_file_has) {
  TemporaryFolder folder;
  const std::string path = (folder.path() / "pawl.db").string();
  ASSERT_TRUE(sqlite::Store::open(path, {}));
  auto file = sqlite::Connection::open({path});
  ASSERT_TRUE(file);
  const auto text = (*file)->read_text(
      "SELECT m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'"
      " AND m.name NOT LIKE 'sqlite_%'");
  ASSERT_TRUE(text);
  Columns stored;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) stored.insert(line);
  EXPECT_GT(stored.size(), 100u);
  expect_known(stored, {tables::common, sqlite::tables::own});
}

TEST(MovedColumns, are_all_that_a_schema_has) {
  const postgres::TestSchema schema;
  ASSERT_NE(schema.open({}), nullptr);
  const auto connection = postgres::SharedServer::get().connect(schema.name());
  const auto text = connection->ask(format(
      "SELECT string_agg(c.table_name || '.' || c.column_name, ' ') FROM information_schema.columns c JOIN pg_tables t"
      " ON t.tablename = c.table_name AND t.schemaname = c.table_schema WHERE c.table_schema = '{}'",
      schema.name()));
  ASSERT_TRUE(text);
  Columns stored;
  std::istringstream words(*text);
  for (std::string word; words >> word;) stored.insert(word);
  EXPECT_GT(stored.size(), 100u);
  expect_known(stored, {tables::common, postgres::tables::own});
}

}  // namespace

}  // namespace pawl::store::transfer
