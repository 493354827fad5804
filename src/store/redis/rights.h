// What a user of the server must be allowed to do. A script that is refused a command in the middle would leave half of
// its work behind: so all of it is looked at before anything is done.
#pragma once

#include <string>
#include <vector>

#include "pawl/result.h"
#include "store/redis/keys.h"
#include "store/redis/servers.h"

namespace pawl::store::redis {

// The rules of a user that has the least: every command by its name, the keys and the channel of one store.
std::vector<std::string> least_rights(const std::string& prefix);

// Looks at every master. unsupported: what is missing there. False: there are no scripts there at all.
Result<bool> check_rights(Servers& servers, const Keys& keys);

}  // namespace pawl::store::redis
