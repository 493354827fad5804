// OwnNames: the tables and views of a file that belong to the store. All others belong to users.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "pawl/result.h"

namespace pawl::store::sqlite {

class OwnNames {
 public:
  // As the layout of this version creates them, in a separate empty database.
  static Result<std::shared_ptr<const OwnNames>> read();

  bool has_table(std::string_view name) const { return tables_.contains(lower(name)); }
  bool has_view(std::string_view name) const { return views_.contains(lower(name)); }
  bool has(std::string_view name) const { return has_table(name) || has_view(name); }

 private:
  static std::string lower(std::string_view name);
  std::set<std::string> tables_;
  std::set<std::string> views_;
};

}  // namespace pawl::store::sqlite
