// Statement: one prepared statement, kept as long as its connection. Values are bound, never pasted into the text.
//
// 1. run() binds every parameter again, so no value of an earlier call is left.
// 2. Bound text and blobs are not copied: the arguments must outlive the call (run) or the Rows (query). One thread at
//    a time: the one that uses the connection.
#pragma once

#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/guid.h"
#include "core/secret.h"
#include "pawl/payload.h"
#include "pawl/strong.h"
#include "pawl/time.h"

namespace pawl::store::sqlite {

struct Blob {
  std::string_view bytes;
};
// A guid as 16 bytes, high first: memcmp order is numeric order, hex(guid) is Guid::text().
class GuidBytes {
 public:
  explicit GuidBytes(const core::Guid& guid);
  Blob blob() const { return Blob{std::string_view(bytes_, sizeof bytes_)}; }

 private:
  char bytes_[16];
};
inline std::optional<GuidBytes> stored_secret(const core::JobSecret& secret) {
  return core::is_set(secret) ? std::optional<GuidBytes>(secret.raw()) : std::nullopt;
}

// The rows of one query, one at a time; the statement is free again when this goes out of scope.
class Rows {
 public:
  explicit Rows(sqlite3_stmt* statement, int bound) : statement_(statement), rc_(bound) {}
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  ~Rows() { sqlite3_reset(statement_); }

  bool next();  // false: at the end, or failed()
  bool failed() const { return rc_ != SQLITE_ROW && rc_ != SQLITE_DONE && rc_ != SQLITE_OK; }
  int rc() const { return rc_; }

  // A column of another type than in the schema marks the row as malformed and reads as empty.
  std::int64_t number(int column);
  std::uint64_t word(int column) { return static_cast<std::uint64_t>(number(column)); }
  std::uint32_t small(int column);   // 0 .. 2^32 - 1
  std::int32_t integer(int column);  // -2^31 .. 2^31 - 1
  double real(int column);
  std::string_view text(int column);   // valid until next()
  // NULL is the empty one; a number is a compressed one (packed.h), whose read may fail: then failed() says so.
  Payload payload(int column);
  std::string_view bytes(int column);  // valid until next()
  core::Guid guid(int column);
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  bool malformed() const { return malformed_; }
  void mark_malformed() { malformed_ = true; }  // its bytes hold an impossible value

 private:
  sqlite3_stmt* statement_;
  int rc_;
  bool malformed_ = false;
};

class Statement {
 public:
  static constexpr int failed = -1;

  Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  int prepare(sqlite3* database, const char* sql);  // an SQLite result code

  // The number of changed rows, or `failed`; then code() has the reason.
  template <class... Args>
  int run(const Args&... args) {
    bind_all(args...);
    return step_once();
  }
  // What is bound by its bytes must exist until the last next().
  template <class... Args>
  Rows query(Args&&... args) {
    static_assert((!std::is_same_v<Args, GuidBytes> && ...), "these bytes would be gone before the first row");
    bind_all(args...);
    return Rows(statement_, code_);
  }
  int code() const { return code_; }

 private:
  template <class... Args>
  void bind_all(const Args&... args) {
    code_ = SQLITE_OK;
    int index = 0;
    (note(bind(++index, args)), ...);
  }
  void note(int rc) {
    if (rc != SQLITE_OK) code_ = rc;
  }
  int step_once();

  int bind(int index, std::nullptr_t) { return sqlite3_bind_null(statement_, index); }
  template <std::integral T>
  int bind(int index, T value) {
    return sqlite3_bind_int64(statement_, index, static_cast<std::int64_t>(value));
  }
  template <class T>
  requires std::is_enum_v<T>
  int bind(int index, T value) { return bind(index, static_cast<std::int64_t>(value)); }
  int bind(int index, double value) { return sqlite3_bind_double(statement_, index, value); }
  int bind(int index, Duration time) { return bind(index, std::int64_t{time.count()}); }
  int bind(int index, Instant at) { return bind(index, at.micros()); }
  int bind(int index, std::string_view text) {
    return sqlite3_bind_text64(statement_, index, text.data() == nullptr ? "" : text.data(), text.size(), SQLITE_STATIC,
                               SQLITE_UTF8);
  }
  int bind(int index, const std::string& text) { return bind(index, std::string_view(text)); }
  int bind(int index, Blob blob) {
    return sqlite3_bind_blob64(statement_, index, blob.bytes.data(), blob.bytes.size(), SQLITE_STATIC);
  }
  int bind(int index, const GuidBytes& guid) { return bind(index, guid.blob()); }
  int bind(int index, const Payload& payload) {
    return payload.empty() ? bind(index, nullptr) : bind(index, Blob{payload.view()});
  }
  template <class Tag, class Rep>
  int bind(int index, const Strong<Tag, Rep>& value) {
    return bind(index, value.raw());
  }
  template <class T>
  int bind(int index, const std::optional<T>& value) {
    return value ? bind(index, *value) : bind(index, nullptr);
  }

  sqlite3_stmt* statement_ = nullptr;
  int code_ = SQLITE_OK;
};

}  // namespace pawl::store::sqlite
