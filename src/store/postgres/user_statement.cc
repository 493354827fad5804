#include "store/postgres/user_statement.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/invariant.h"
#include "base/limits.h"

namespace pawl::store::postgres {

namespace {

constexpr std::array<std::string_view, 15> refused_words{"BEGIN",     "START",   "COMMIT",  "END",    "ROLLBACK",
                                                         "ABORT",     "RELEASE", "PREPARE", "SET",    "RESET",
                                                         "SAVEPOINT", "DISCARD", "COPY",    "LISTEN", "UNLISTEN"};

// Skips spaces and comments, which may be nested.
std::string_view without_lead(std::string_view sql) {
  for (;;) {
    const std::size_t text = sql.find_first_not_of(" \t\r\n\f\v;(");
    sql = text == std::string_view::npos ? std::string_view() : sql.substr(text);
    if (sql.starts_with("--")) {
      const std::size_t line = sql.find('\n');
      sql = line == std::string_view::npos ? std::string_view() : sql.substr(line);
    } else if (sql.starts_with("/*")) {
      std::size_t depth = 0;
      std::size_t at = 0;
      do {
        if (sql.substr(at, 2) == "/*")
          ++depth, at += 2;
        else if (sql.substr(at, 2) == "*/")
          --depth, at += 2;
        else
          ++at;
      } while (depth > 0 && at < sql.size());
      sql = sql.substr(std::min(at, sql.size()));
    } else {
      return sql;
    }
  }
}

std::string first_word(std::string_view sql) {
  std::string word;
  for (const char c : without_lead(sql)) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) break;
    word.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
  }
  return word;
}

// As libpq accepts them: numbers as digits, because the server knows best which type it needs.
struct Parameters {
  explicit Parameters(std::span<const SqlValue> params) {
    constexpr Oid bytea = 17;
    texts.reserve(params.size());
    for (const SqlValue& param : params) {
      const auto* bytes = std::get_if<SqlValue::Bytes>(&param.any());
      texts.push_back(param.text());
      values.push_back(param.is_null() ? nullptr : texts.back().c_str());
      types.push_back(bytes == nullptr ? 0 : bytea);
      lengths.push_back(static_cast<int>(texts.back().size()));
      formats.push_back(bytes == nullptr ? 0 : 1);
    }
  }
  std::vector<std::string> texts;
  std::vector<const char*> values;
  std::vector<Oid> types;
  std::vector<int> lengths;
  std::vector<int> formats;
};

SqlValue column_of(const PGresult* result, int row, int column) {
  if (PQgetisnull(result, row, column) != 0) return nullptr;
  const char* text = PQgetvalue(result, row, column);
  std::string value(text, static_cast<std::size_t>(PQgetlength(result, row, column)));
  switch (PQftype(result, column)) {
    case 16:
      return value == "t" ? 1 : 0;  // boolean
    case 20:
    case 21:
    case 23:
    case 26:
      return SqlValue(std::move(value)).integer();
    case 700:
    case 701:
      return SqlValue(std::move(value)).real();
    case 17: {
      std::size_t size = 0;
      unsigned char* bytes = PQunescapeBytea(reinterpret_cast<const unsigned char*>(text), &size);
      SqlValue::Bytes taken{bytes == nullptr ? std::string() : std::string(reinterpret_cast<char*>(bytes), size)};
      PQfreemem(bytes);
      return taken;
    }
    default:
      return value;
  }
}

// Rows arrive one by one, so that an answer that is too large is noticed in time.
std::size_t take_row(const PGresult* result, SqlRows& rows) {
  std::size_t bytes = 0;
  const int columns = PQnfields(result);
  for (int row = 0; row < PQntuples(result); ++row) {
    auto& taken = rows.rows.emplace_back();
    for (int column = 0; column < columns; ++column) {
      taken.push_back(column_of(result, row, column));
      bytes += static_cast<std::size_t>(PQgetlength(result, row, column));
    }
  }
  return bytes;
}

void cancel(PGconn* handle) {
  if (PGcancel* cancel = PQgetCancel(handle)) {
    std::array<char, 256> ignored{};
    PQcancel(cancel, ignored.data(), static_cast<int>(ignored.size()));
    PQfreeCancel(cancel);
  }
}

}  // namespace

Status check_statement(std::string_view sql) {
  const std::string word = first_word(sql);
  if (word.empty()) return Error{ErrorCode::invalid, "the text holds no statement"};
  if (std::find(refused_words.begin(), refused_words.end(), word) == refused_words.end()) return {};
  return Error{
      ErrorCode::invalid,
      format("{} is refused: the transaction and the session are the store's; it ends when the worker returns", word)};
}

Result<SqlRows> run_statement(PGconn* handle, std::string_view sql, std::span<const SqlValue> params,
                              const std::function<Error(const PGresult*)>& error_of) {
  const Parameters given(params);
  const std::string text(sql);
  if (PQsendQueryParams(handle, text.c_str(), static_cast<int>(params.size()), given.types.data(), given.values.data(),
                        given.lengths.data(), given.formats.data(), 0) != 1)
    return error_of(nullptr);
  PQsetSingleRowMode(handle);
  SqlRows rows;
  std::optional<Error> failed;
  std::size_t bytes = 0;
  while (const ResultPtr result{PQgetResult(handle)}) {
    const ExecStatusType status = PQresultStatus(result.get());
    const bool good = status == PGRES_SINGLE_TUPLE || status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
    if (failed) continue;
    if (!good) {
      failed = error_of(result.get());
      continue;
    }
    if (rows.columns.empty())
      for (int column = 0; column < PQnfields(result.get()); ++column)
        rows.columns.emplace_back(PQfname(result.get(), column));
    bytes += take_row(result.get(), rows);
    const std::string count = PQcmdTuples(result.get());
    const bool reads = std::string_view(PQcmdStatus(result.get())).starts_with("SELECT");
    if (!count.empty() && !reads) rows.changed = static_cast<std::uint64_t>(SqlValue(count).integer());
    if (rows.rows.size() <= pawl::limits::sql_rows_max && bytes <= pawl::limits::sql_bytes_max) continue;
    failed = Error{ErrorCode::over_limit,
                   format("the statement answers more than {} rows or {} bytes (sql_rows_max, sql_bytes_max)",
                          pawl::limits::sql_rows_max, pawl::limits::sql_bytes_max)};
    cancel(handle);
  }
  if (failed) return *failed;
  return rows;
}

}  // namespace pawl::store::postgres
