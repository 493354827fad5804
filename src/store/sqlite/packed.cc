#include "store/sqlite/packed.h"

#include <zstd.h>

#include <string>

#include "base/format.h"
#include "store/sqlite/limits.h"
#include "store/sqlite/statement.h"

namespace pawl::store::sqlite {

namespace {

// Closed however the read ends.
class OpenBlob {
 public:
  OpenBlob(sqlite3* database, std::int64_t row)
      : code_(sqlite3_blob_open(database, "main", "packed_payloads", "body", row, 0, &blob_)) {}
  OpenBlob(const OpenBlob&) = delete;
  OpenBlob& operator=(const OpenBlob&) = delete;
  ~OpenBlob() { sqlite3_blob_close(blob_); }

  int code() const { return code_; }
  int read(std::string& frame) {
    frame.resize(static_cast<std::size_t>(sqlite3_blob_bytes(blob_)));
    return sqlite3_blob_read(blob_, frame.data(), static_cast<int>(frame.size()), 0);
  }

 private:
  sqlite3_blob* blob_ = nullptr;
  int code_;
};

}  // namespace

Unpacked unpack(sqlite3* database, std::int64_t number) {
  std::string frame;
  {
    OpenBlob blob(database, number);
    // SQLite's word for a row that is not there, or has no BLOB.
    if (blob.code() == SQLITE_ERROR) return {SQLITE_CORRUPT, {}};
    if (blob.code() != SQLITE_OK) return {blob.code(), {}};
    if (const int code = blob.read(frame); code != SQLITE_OK) return {code, {}};
  }
  // 0 and the largest numbers are errors.
  const unsigned long long bytes = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (bytes == 0 || bytes > limits::unpacked_bytes_max) return {SQLITE_CORRUPT, {}};
  std::string plain(static_cast<std::size_t>(bytes), '\0');
  const std::size_t got = ZSTD_decompress(plain.data(), plain.size(), frame.data(), frame.size());
  if (ZSTD_isError(got) != 0 || got != plain.size()) return {SQLITE_CORRUPT, {}};
  return {SQLITE_OK, Payload(std::move(plain))};
}

Status check_packed(Connection& connection) {
  Statement places;
  const int rc = places.prepare(connection.handle(),
                                "SELECT run, output FROM activities WHERE typeof(output) = 'integer'"
                                " UNION ALL SELECT run, result FROM jobs WHERE typeof(result) = 'integer'"
                                " UNION ALL SELECT run, data FROM jobs WHERE typeof(data) = 'integer'");
  if (rc != SQLITE_OK) return connection.error(rc, "find the expected tables in");
  std::string problems;
  std::size_t found = 0;
  Rows rows = places.query();
  while (found < limits::problems_max && rows.next()) {
    const std::uint64_t run = rows.word(0);
    const Unpacked read = unpack(connection.handle(), rows.number(1));
    if (read.code == SQLITE_OK) continue;
    if (read.code != SQLITE_CORRUPT) return connection.error(read.code, "read");
    problems += format("\nrun {}: a compressed payload is missing or damaged", run);
    ++found;
  }
  if (rows.failed()) return connection.error(rows.rc(), "read");
  if (found == 0) return {};
  return Error{ErrorCode::corrupt, format("{} is damaged; restore it from a backup{}", connection.path(), problems)};
}

}  // namespace pawl::store::sqlite
