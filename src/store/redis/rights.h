// What a user of the server must be allowed to do. If a command in the middle of a script were refused, half of the
// script's work would stay: so all rights are checked before anything is done.
#pragma once

#include <string>
#include <vector>

#include "pawl/result.h"
#include "store/redis/keys.h"
#include "store/redis/servers.h"

namespace pawl::store::redis {

// The rules of a user with the least rights: every command by its name, the keys and the channel of one store.
std::vector<std::string> least_rights(const std::string& prefix);
// In addition, for calls that cost less: the lane's script as a function of the server.
std::vector<std::string> function_rights();

// Checks every master. unsupported: what is missing there. False: the servers have no scripts.
Result<bool> check_rights(Servers& servers, const Keys& keys);

}  // namespace pawl::store::redis
