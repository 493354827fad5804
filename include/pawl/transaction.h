// Transaction: a worker's own SQL, in the transaction that commits its reply. What it writes counts once, whatever
// crashes: either both the writes and the reply are committed, or neither is (docs/TRANSACTIONS.md).
//
//   int transfer(const int& sum, pawl::Transaction& sql) {
//     const auto taken = sql.execute("UPDATE account SET balance = balance - $1 WHERE id = $2 AND balance >= $1",
//                                    {sum, "ann"});
//     if (!taken) throw pawl::Failure{.message = taken.error().detail};
//     if (taken->changed == 0) throw pawl::Failure{.code = 402, .message = "too little money", .retryable = false};
//     return sum;  // what was written is committed with this answer, or neither is
//   }
//   pawl::Status serve(pawl::Runtime& runtime) { return runtime.serve_transaction("bank.transfer", transfer); }
//
// When a worker fails, its writes are rolled back.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pawl/result.h"
#include "pawl/worker.h"

namespace pawl {

// A parameter, or a column of a row.
class SqlValue {
 public:
  struct Bytes {
    std::string bytes;
    friend bool operator==(const Bytes&, const Bytes&) = default;
  };

  SqlValue() = default;  // NULL
  SqlValue(std::nullptr_t) {}
  template <std::integral T>
  SqlValue(T value) : value_(static_cast<std::int64_t>(value)) {}
  SqlValue(double value) : value_(value) {}
  SqlValue(std::string text) : value_(std::move(text)) {}
  SqlValue(std::string_view text) : value_(std::string(text)) {}
  SqlValue(const char* text) : value_(std::string(text)) {}
  SqlValue(Bytes bytes) : value_(std::move(bytes)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  // A number, or a text that is one (a NUMERIC of PostgreSQL comes as text, exact). Anything else is 0.
  std::int64_t integer() const;
  double real() const;
  // A text, a number in its digits, or bytes as they are. NULL is empty.
  std::string text() const;

  using Any = std::variant<std::monostate, std::int64_t, double, std::string, Bytes>;
  const Any& any() const { return value_; }
  friend bool operator==(const SqlValue&, const SqlValue&) = default;

 private:
  Any value_;
};

// The result of a statement.
struct SqlRows {
  std::vector<std::string> columns;
  std::vector<std::vector<SqlValue>> rows;
  std::uint64_t changed = 0;  // rows that were inserted, updated or deleted

  bool empty() const { return rows.empty(); }
  // REQUIRES: there is such a row and column.
  const SqlValue& at(std::size_t row, std::size_t column) const { return rows.at(row).at(column); }
};

// Valid while the worker runs, and as long as the store allows (docs/TRANSACTIONS.md, "Limits"); afterwards every call
// is refused. One thread at a time.
class Transaction {
 public:
  enum class Kind : std::uint8_t { sqlite, postgres };

  // One statement; $1, $2 ... are the parameters, in both stores. An error ends the transaction: nothing more is
  // executed, and nothing of it is committed, whatever the worker replies.
  virtual Result<SqlRows> execute(std::string_view sql, std::span<const SqlValue> params) = 0;
  Result<SqlRows> execute(std::string_view sql, std::initializer_list<SqlValue> params = {}) {
    return execute(sql, std::span<const SqlValue>(params.begin(), params.size()));
  }

  virtual Kind kind() const = 0;
  // The session itself, for your own libraries: an sqlite3* or a PGconn*, inside the transaction. It belongs to the
  // store: do not end the transaction, do not change settings, and do not keep it when the worker returns.
  virtual void* handle() = 0;

 protected:
  ~Transaction() = default;
};

// If the reply is a success, it is committed together with the worker's writes; otherwise the writes are rolled back.
using TransactionWorker = std::function<Reply(Work&, Transaction&)>;

}  // namespace pawl
