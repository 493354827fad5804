// JSON text to a value. Boost.JSON 1.81 rounds some numbers to the neighbour of the nearest double (99.99 may come back
// as another number); this parser reads them exactly, so that a value stays the same when it is written and read.
#pragma once

#include "pawl/result.h"

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace pawl::mapping {

// Errors: `invalid` with line and column; also for a number too large for a double, which JSON
// allows and no result may contain. `over_limit`: it nests deeper than json_depth_max (limits.h).
Result<boost::json::value> parse_json(std::string_view text);
// The same with the memory of `storage`: many small values cost less there.
Result<boost::json::value> parse_json(std::string_view text, boost::json::storage_ptr storage);

// The same rules for text that comes in parts, without building a value: parse_json accepts what this accepts.
class JsonCheck {
 public:
  JsonCheck();
  ~JsonCheck();
  // How much of `part` belongs to the value that is being read.
  Result<std::size_t> take(std::string_view part);
  bool done() const;  // the value is complete
  void reset();       // for the next value

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace pawl::mapping
