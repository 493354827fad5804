#include "store/sqlite/user_statement.h"

#include <charconv>
#include <string>

#include "base/format.h"
#include "base/invariant.h"
#include "base/limits.h"

namespace pawl::store::sqlite {

namespace {

SqlValue column_of(sqlite3_stmt* statement, int column) {
  const auto size = [&] { return static_cast<std::size_t>(sqlite3_column_bytes(statement, column)); };
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return text == nullptr ? std::string() : std::string(text, size());
    }
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
      return SqlValue::Bytes{bytes == nullptr ? std::string() : std::string(bytes, size())};
    }
    default:
      return nullptr;
  }
}

std::size_t bytes_of(const SqlValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.any())) return text->size();
  if (const auto* blob = std::get_if<SqlValue::Bytes>(&value.any())) return blob->bytes.size();
  return 0;
}

// The number in "$2" or "?2"; 0: it has none.
std::size_t number_in(std::string_view name) {
  std::size_t number = 0;
  if (name.size() > 1) std::from_chars(name.data() + 1, name.data() + name.size(), number);
  return number;
}

}  // namespace

int UserStatement::prepare(sqlite3* database, std::string_view sql) {
  database_ = database;
  const char* end = nullptr;
  code_ = sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement_, &end);
  if (end != nullptr) rest_ = sql.substr(static_cast<std::size_t>(end - sql.data()));
  return code_;
}

Status UserStatement::is_one() const {
  if (statement_ == nullptr) return Error{ErrorCode::invalid, "the text holds no statement"};
  sqlite3_stmt* next = nullptr;
  const int code = sqlite3_prepare_v2(database_, rest_.data(), static_cast<int>(rest_.size()), &next, nullptr);
  sqlite3_finalize(next);
  if (next == nullptr && code == SQLITE_OK) return {};
  return Error{ErrorCode::invalid, "execute() takes one statement at a time: call it once for each"};
}

Status UserStatement::bind(std::span<const SqlValue> params) {
  const int places = sqlite3_bind_parameter_count(statement_);
  std::size_t used = 0;
  for (int place = 1; place <= places; ++place) {
    const char* name = sqlite3_bind_parameter_name(statement_, place);
    const std::size_t number = name == nullptr ? static_cast<std::size_t>(place) : number_in(name);
    if (number == 0) return Error{ErrorCode::invalid, format("parameter {} has no number: write $1, $2 ...", name)};
    if (number > params.size())
      return Error{ErrorCode::invalid,
                   format("the statement has a parameter ${}, and {} were given", number, params.size())};
    used = std::max(used, number);
    code_ = std::visit(
        Overloaded{
            [&](std::monostate) { return sqlite3_bind_null(statement_, place); },
            [&](std::int64_t value) { return sqlite3_bind_int64(statement_, place, value); },
            [&](double value) { return sqlite3_bind_double(statement_, place, value); },
            [&](const std::string& text) {
              return sqlite3_bind_text64(statement_, place, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
            },
            [&](const SqlValue::Bytes& blob) {
              return sqlite3_bind_blob64(statement_, place, blob.bytes.data(), blob.bytes.size(), SQLITE_STATIC);
            },
        },
        params[number - 1].any());
    if (code_ != SQLITE_OK) return Error{ErrorCode::invalid, format("parameter ${} is too large for SQLite", number)};
  }
  if (used < params.size())
    return Error{ErrorCode::invalid, format("{} parameters were given, and the statement has {}", params.size(), used)};
  return {};
}

Status UserStatement::run(SqlRows& rows) {
  const int columns = sqlite3_column_count(statement_);
  for (int i = 0; i < columns; ++i) rows.columns.emplace_back(sqlite3_column_name(statement_, i));
  const std::int64_t changes_before = sqlite3_total_changes64(database_);
  std::size_t bytes = 0;
  while ((code_ = sqlite3_step(statement_)) == SQLITE_ROW) {
    auto& row = rows.rows.emplace_back();
    for (int i = 0; i < columns; ++i) bytes += bytes_of(row.emplace_back(column_of(statement_, i)));
    if (rows.rows.size() > pawl::limits::sql_rows_max || bytes > pawl::limits::sql_bytes_max)
      return Error{ErrorCode::over_limit,
                   format("the statement answers more than {} rows or {} bytes (sql_rows_max, sql_bytes_max)",
                          pawl::limits::sql_rows_max, pawl::limits::sql_bytes_max)};
  }
  if (code_ != SQLITE_DONE) return Error{ErrorCode::invalid, ""};
  const bool changed = sqlite3_total_changes64(database_) != changes_before;
  if (changed) rows.changed = static_cast<std::uint64_t>(sqlite3_changes64(database_));
  return {};
}

}  // namespace pawl::store::sqlite
