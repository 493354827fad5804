// JSON text to a Boost.JSON value and back; numbers keep their value: 99.99 stays 99.99.
//
//   std::string tidy(std::string_view text) {
//     const pawl::Result<boost::json::value> value = pawl_boost::parse(text);
//     return value ? pawl_boost::write(*value) : value.error().detail;
//   }
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "pawl/result.h"

namespace pawl_boost {

// The error tells what is wrong, with line and column.
pawl::Result<boost::json::value> parse(std::string_view text);
std::string write(const boost::json::value& value);

}  // namespace pawl_boost
