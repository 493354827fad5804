// What the owner of a file writes into `<file>-owner`: its identity, the file it runs on, and the number of
// acknowledged commits. One line of text of fixed length, rewritten after every commit: after a power loss it may be
// behind the file, never ahead. It is synced only before the database file is marked (checkpointer.h).
//
// A file with fewer commits than this line says has lost its log, or is an older copy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/guid.h"
#include "store/sqlite/file_hold.h"

namespace pawl::store::sqlite {

struct OwnerRecord {
  std::uint64_t process = 0;
  FileId file;
  core::Guid store;
  std::uint64_t commits = 0;

  std::string line() const;
  static std::optional<OwnerRecord> parse(const std::string& line);
  // None: there is no such file, or no owner has written to it yet.
  static std::optional<OwnerRecord> read(const std::string& owner_path);
  // A result code of SQLite. Uses the store's file system, so that a test's file system sees the sync.
  static int sync(const std::string& owner_path, const std::string& vfs);
  friend bool operator==(const OwnerRecord&, const OwnerRecord&) = default;
};

}  // namespace pawl::store::sqlite
