// OwnNames: which tables and views of a file are the store's own. All others are the users'.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "pawl/result.h"

namespace pawl::store::sqlite {

class OwnNames {
 public:
  // As the layout of this version makes them, in an empty database of its own.
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
