// The processes that keep the log from restarting: every reader of a file locks a byte of the log's index during its
// transaction, and the kernel lists such locks with their processes.
#pragma once

#include <string>

namespace pawl::store::sqlite {

// "process 1234 (sqlite3)", several with commas; empty: none is known.
std::string readers_of_log(const std::string& database_path);

}  // namespace pawl::store::sqlite
