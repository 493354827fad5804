// The adapter for described types reads and writes JSON as everything else here does.
#include "pawl_boost/text.h"

#include "mapping/json_parse.h"
#include "mapping/json_text.h"

namespace pawl_boost {

pawl::Result<boost::json::value> parse(std::string_view text) { return pawl::mapping::parse_json(text); }
std::string write(const boost::json::value& value) { return pawl::mapping::json_text(value); }

}  // namespace pawl_boost
