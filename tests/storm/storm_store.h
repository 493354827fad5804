// StormStore: where the jobs of a storm are: a SQLite file, or a server that the storm starts. No code of the engine:
// the rows are read with the store's own tools.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace storm {

class StormStore {
 public:
  virtual ~StormStore() = default;
  virtual std::string address() const = 0;  // what nodes open
  // Ends a server as a crash would, and starts it again. None: it is up; otherwise the problem.
  virtual std::optional<std::string> crash() { return "a file has no server"; }
  // Writes the stored rows into `dir`/dump.txt, in the lines that the checker reads. A server is crashed and started
  // again before: only what survives that counts. None: done; otherwise the problem.
  virtual std::optional<std::string> dump(const std::string& dir) = 0;
};

std::unique_ptr<StormStore> sqlite_store(const std::string& dir);
// Null: the server does not start; the reason is on standard error.
std::unique_ptr<StormStore> postgres_store();
std::unique_ptr<StormStore> redis_store(const std::string& dir);

void write_text(const std::string& path, const char* text);

}  // namespace storm
