// Opens a file: the checks before anything is written to it, and the settings of every connection.
#pragma once

#include <memory>
#include <string>

#include "store/sqlite/connection.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/store.h"

namespace pawl::store::sqlite {

// The writer's connection to a file of the newest version, which is created or migrated if needed. The path of the
// connection is the canonical one.
Result<std::unique_ptr<Connection>> open_file(const std::string& path, const Options& options, Migrations steps);

// Another connection to a file that open_file() opened.
enum class Role : std::uint8_t { reader, checkpointer, worker };
Result<std::unique_ptr<Connection>> open_again(const Connection& first, const Options& options, Role role);

}  // namespace pawl::store::sqlite
