// Who keeps the log from starting anew: every reader of a file locks a byte of the log's index for
// as long as its transaction lasts, and the kernel lists such locks with their processes.
#pragma once

#include <string>

namespace pawl::store::sqlite {

// "process 1234 (sqlite3)", several with commas; empty: nobody is known.
std::string readers_of_log(const std::string& database_path);

}  // namespace pawl::store::sqlite
