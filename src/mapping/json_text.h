// JSON as JavaScript writes it: shortest numbers, no space unless asked for. Boost.JSON's own serializer writes 1.5 as
// 1.5E0, which is correct but hard to read.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>

namespace pawl::mapping {

// Adds the JSON text of a string, with its quotes.
void append_json_string(std::string& out, std::string_view text);

// `indent` is what each level adds; empty means one line. A number that is not finite is written as
// null.
std::string json_text(const boost::json::value& value, std::string_view indent = {});

}  // namespace pawl::mapping
