// Rows: the answer of a statement, one row at a time, in PostgreSQL's binary format.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/guid.h"
#include "pawl/payload.h"
#include "pawl/time.h"

namespace pawl::store::postgres {

class Rows {
 public:
  Rows() = default;
  explicit Rows(PGresult* result) : result_(result) {}

  bool next() { return ++row_ < (result_ ? PQntuples(result_.get()) : 0); }
  int count() const { return result_ ? PQntuples(result_.get()) : 0; }
  std::int64_t affected() const;  // rows that the statement wrote

  // A value whose length does not fit its type marks the row as malformed and reads as empty.
  std::int64_t number(int column);
  std::uint64_t word(int column) { return static_cast<std::uint64_t>(number(column)); }
  std::uint32_t small(int column);   // 0 .. 2^32 - 1
  std::int32_t integer(int column);  // -2^31 .. 2^31 - 1
  bool flag(int column);
  double real(int column);
  Instant instant(int column) { return Instant::from_micros(number(column)); }
  std::string_view text(int column) const;  // valid as long as these rows
  std::string_view bytes(int column) const { return text(column); }
  Payload payload(int column) const;  // NULL is the empty payload
  core::Guid guid(int column);
  std::vector<std::string_view> array(int column);  // the bytes of its elements, none of them NULL
  bool is_null(int column) const { return PQgetisnull(result_.get(), row_, column) != 0; }
  bool malformed() const { return malformed_; }
  void mark_malformed() { malformed_ = true; }
  void forget_damage() { malformed_ = false; }  // the next row may be good

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
  int row_ = -1;
  bool malformed_ = false;
};

}  // namespace pawl::store::postgres
