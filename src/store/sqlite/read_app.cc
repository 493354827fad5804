#include "base/format.h"
#include "store/sqlite/reader.h"

namespace pawl::store::sqlite {

Result<std::optional<std::string>> Reader::read_app(const Namespace& name_space, const std::string& app,
                                                    const std::string& version) {
  Rows rows = app_.query(name_space, app, version);
  if (!rows.next()) {
    if (rows.failed()) return error(rows);
    return std::optional<std::string>();
  }
  std::string body(rows.bytes(0));
  if (rows.malformed())
    return Error{ErrorCode::corrupt, format("app {}, version {}: its body is malformed", app, version)};
  return std::optional<std::string>(std::move(body));
}

Result<std::vector<AppInfo>> Reader::list_apps(const Namespace& name_space) {
  std::vector<AppInfo> found;
  Rows rows = apps_.query(name_space);
  while (rows.next()) {
    found.push_back({std::string(rows.text(0)), std::string(rows.text(1)), rows.number(2) != 0,
                     Instant::from_micros(rows.number(3))});
    if (rows.malformed()) return Error{ErrorCode::corrupt, format("the row of app {} is malformed", found.back().app)};
  }
  if (rows.failed()) return error(rows);
  return found;
}

}  // namespace pawl::store::sqlite
