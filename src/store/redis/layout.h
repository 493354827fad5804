// Layout: the number of how this store is laid out, the field `layout` of the catalogue's hash `store`. It is raised by
// a change that an older program would not notice. A program that opens the store raises the number to its own one, and
// nobody lowers it; a program that finds a higher one does nothing there.
//
// 1: what has no number. 2: work in hand is in its job's hash (docs/decisions/108).
#pragma once

#include <cstdint>
#include <string_view>

#include "store/redis/keys.h"
#include "store/redis/reply.h"
#include "store/redis/servers.h"

namespace pawl::store::redis {

inline constexpr std::uint32_t layout_number = 2;
inline constexpr std::string_view layout_field = "layout";

// Whether this program knows the layout. `stored`: as the field was read.
Status check_layout(const Servers& servers, const Reply& stored);
Status check_layout(Servers& servers, const Keys& keys);
// The same, and raises a lower number.
Status join_layout(Servers& servers, const Keys& keys);

}  // namespace pawl::store::redis
