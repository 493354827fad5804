#include "store/sqlite/own_names.h"

#include <algorithm>
#include <sstream>

#include "store/sqlite/connection.h"
#include "store/sqlite/schema.h"

namespace pawl::store::sqlite {

std::string OwnNames::lower(std::string_view name) {
  std::string small(name);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return small;
}

Result<std::shared_ptr<const OwnNames>> OwnNames::read() {
  auto empty = Connection::open({":memory:", Connection::Mode::create, "", {}});
  if (!empty) return empty.error();
  if (const auto made = migrate(**empty, migrations()); !made) return made.error();
  auto names = std::make_shared<OwnNames>();
  const auto read_into = [&](const char* sql, std::set<std::string>& into) -> Status {
    const auto text = (*empty)->read_text(sql);
    if (!text) return text.error();
    std::istringstream lines(*text);
    for (std::string name; std::getline(lines, name);) into.insert(lower(name));
    return {};
  };
  if (const auto read = read_into("SELECT name FROM sqlite_schema WHERE type = 'table'", names->tables_); !read)
    return read.error();
  if (const auto read = read_into("SELECT name FROM sqlite_schema WHERE type = 'view'", names->views_); !read)
    return read.error();
  // Every file has these: they are not part of the store's layout.
  std::erase_if(names->tables_, [](const std::string& name) { return name.starts_with("sqlite_"); });
  return std::shared_ptr<const OwnNames>(std::move(names));
}

}  // namespace pawl::store::sqlite
