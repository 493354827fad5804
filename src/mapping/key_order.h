// The order of an object's keys in JavaScript: whole numbers first, by size, then the others in the order they were
// set. Values here keep the order in which keys were set; under compat_hotmesh every iteration over an object, and
// every result, uses JavaScript's order.
#pragma once

#include "mapping/budget.h"

#include <boost/json/object.hpp>

#include <vector>

namespace pawl::mapping {

// The members in that order. Linear when no key is out of place.
std::vector<const boost::json::key_value_pair*> in_javascript_order(const boost::json::object& object);

// Puts a value into that order, objects inside it too. False when the budget is spent.
bool order_keys(boost::json::value& value, Budget& budget);

}  // namespace pawl::mapping
