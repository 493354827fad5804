#include "store/sqlite/statement.h"

#include <limits>
#include <utility>

#include "store/sqlite/packed.h"

namespace pawl::store::sqlite {

namespace {

void put_word(char* at, std::uint64_t word) {
  for (int i = 7; i >= 0; --i) {
    at[i] = static_cast<char>(word & 0xff);
    word >>= 8;
  }
}

std::uint64_t get_word(const char* at) {
  std::uint64_t word = 0;
  for (int i = 0; i < 8; ++i) word = word << 8 | static_cast<unsigned char>(at[i]);
  return word;
}

}  // namespace

GuidBytes::GuidBytes(const core::Guid& guid) {
  put_word(bytes_, guid.high);
  put_word(bytes_ + 8, guid.low);
}

bool Rows::next() {
  if (rc_ != SQLITE_OK && rc_ != SQLITE_ROW) return false;
  malformed_ = false;
  rc_ = sqlite3_step(statement_);
  return rc_ == SQLITE_ROW;
}

std::int64_t Rows::number(int column) {
  if (sqlite3_column_type(statement_, column) != SQLITE_INTEGER) malformed_ = true;
  return sqlite3_column_int64(statement_, column);
}

double Rows::real(int column) {
  if (sqlite3_column_type(statement_, column) != SQLITE_FLOAT) malformed_ = true;
  return sqlite3_column_double(statement_, column);
}

std::uint32_t Rows::small(int column) {
  const std::int64_t wide = number(column);
  if (wide < 0 || wide > std::numeric_limits<std::uint32_t>::max()) malformed_ = true;
  return static_cast<std::uint32_t>(wide);
}

std::int32_t Rows::integer(int column) {
  const std::int64_t wide = number(column);
  if (wide < std::numeric_limits<std::int32_t>::min() || wide > std::numeric_limits<std::int32_t>::max())
    malformed_ = true;
  return static_cast<std::int32_t>(wide);
}

std::string_view Rows::text(int column) {
  if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) {
    malformed_ = true;
    return {};
  }
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view Rows::bytes(int column) {
  if (sqlite3_column_type(statement_, column) != SQLITE_BLOB) {
    malformed_ = true;
    return {};
  }
  const auto* blob = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (blob == nullptr) return {};
  return {blob, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Payload Rows::payload(int column) {
  if (is_null(column)) return {};
  if (sqlite3_column_type(statement_, column) != SQLITE_INTEGER) return Payload(bytes(column));
  Unpacked unpacked = unpack(sqlite3_db_handle(statement_), sqlite3_column_int64(statement_, column));
  if (unpacked.code == SQLITE_CORRUPT)
    malformed_ = true;
  else if (unpacked.code != SQLITE_OK)
    rc_ = unpacked.code;
  return std::move(unpacked.payload);
}

core::Guid Rows::guid(int column) {
  const std::string_view stored = bytes(column);
  if (stored.size() != sizeof(core::Guid)) {
    malformed_ = true;
    return {};
  }
  return core::Guid{get_word(stored.data()), get_word(stored.data() + 8)};
}

int Statement::prepare(sqlite3* database, const char* sql) {
  return sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
}

int Statement::step_once() {
  if (code_ != SQLITE_OK) return failed;
  int rc = sqlite3_step(statement_);
  while (rc == SQLITE_ROW) rc = sqlite3_step(statement_);
  code_ = sqlite3_reset(statement_);
  if (rc != SQLITE_DONE) {
    if (code_ == SQLITE_OK) code_ = rc;
    return failed;
  }
  return sqlite3_changes(sqlite3_db_handle(statement_));
}

}  // namespace pawl::store::sqlite
