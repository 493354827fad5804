// The layout of the file, as a list of steps that only grows. A file of an older version is migrated step by step when
// it is opened.
#pragma once

#include <cstdint>
#include <span>

#include "pawl/result.h"
#include "store/sqlite/connection.h"

namespace pawl::store::sqlite {

inline constexpr std::uint32_t application_id = 0x5061776c;  // "Pawl", at byte 68 of the file

// Step n (from 1) takes a file of version n - 1 to version n.
using Migrations = std::span<const char* const>;
Migrations migrations();

// Runs the missing steps, each in its own transaction; refuses a newer file.
Status migrate(Connection& connection, Migrations steps);

}  // namespace pawl::store::sqlite
