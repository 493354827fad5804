// StormStore: where the jobs of a storm are: a SQLite file, or a server that the storm starts for itself. No code of
// the engine: what is stored is read with the store's own tools.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace storm {

class StormStore {
 public:
  virtual ~StormStore() = default;
  virtual std::string address() const = 0;  // what nodes open
  // Ends a server as a crash would, and starts it again. None: it is up; else what went wrong.
  virtual std::optional<std::string> crash() { return "a file has no server"; }
  // Writes what is stored into `dir`/dump.txt, in the lines that the checker reads. A server is crashed and started
  // again before: what counts is what survives that. None: it is done; else what went wrong.
  virtual std::optional<std::string> dump(const std::string& dir) = 0;
};

std::unique_ptr<StormStore> sqlite_store(const std::string& dir);
// Null: the server does not start; it said why on standard error.
std::unique_ptr<StormStore> postgres_store();
std::unique_ptr<StormStore> redis_store(const std::string& dir);

void write_text(const std::string& path, const char* text);

}  // namespace storm
