// Params: the values of one statement, in PostgreSQL's binary format. Batch: many rows as one array for each column,
// which a statement splits with UNNEST.
//
// All whole numbers are sent as bigint; assignment converts them for a smaller column. Unsigned 64-bit values keep
// their bits.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/guid.h"
#include "core/secret.h"
#include "pawl/payload.h"
#include "pawl/strong.h"
#include "pawl/time.h"

namespace pawl::store::postgres {

struct Blob {
  std::string_view bytes;
};

namespace wire {

// The numbers that PostgreSQL assigned to its types; they never change.
enum class Type : std::uint32_t { boolean = 16, bytea = 17, bigint = 20, text = 25, real = 701 };

// Most significant byte first.
inline void write_32(char* to, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) *to++ = static_cast<char>(value >> shift & 0xff);
}
inline void put_32(std::string& out, std::uint32_t value) {
  char bytes[4];
  write_32(bytes, value);
  out.append(bytes, sizeof bytes);
}
inline void put_64(std::string& out, std::uint64_t value) {
  char bytes[8];
  write_32(bytes, static_cast<std::uint32_t>(value >> 32));
  write_32(bytes + 4, static_cast<std::uint32_t>(value));
  out.append(bytes, sizeof bytes);
}

// One value: its type, and its bytes after their length (NULL: a length of -1).
template <class T>
struct Codec;

inline void put_bytes(std::string& out, std::string_view bytes) {
  put_32(out, static_cast<std::uint32_t>(bytes.size()));
  out.append(bytes);
}
inline void put_null(std::string& out) { put_32(out, 0xffffffffu); }
inline void put_number(std::string& out, std::int64_t value) {
  char bytes[12];  // in one append: most values are numbers
  write_32(bytes, 8);
  write_32(bytes + 4, static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) >> 32));
  write_32(bytes + 8, static_cast<std::uint32_t>(value));
  out.append(bytes, sizeof bytes);
}

template <std::integral T>
struct Codec<T> {
  static constexpr Type type = Type::bigint;
  static void put(std::string& out, T value) { put_number(out, static_cast<std::int64_t>(value)); }
};
template <>
struct Codec<bool> {
  static constexpr Type type = Type::boolean;
  static void put(std::string& out, bool value) {
    put_32(out, 1);
    out.push_back(value ? '\1' : '\0');
  }
};
template <class T>
requires std::is_enum_v<T>
struct Codec<T> {
  static constexpr Type type = Type::bigint;
  static void put(std::string& out, T value) { put_number(out, static_cast<std::int64_t>(value)); }
};
template <>
struct Codec<double> {
  static constexpr Type type = Type::real;
  static void put(std::string& out, double value) {
    put_32(out, 8);
    put_64(out, std::bit_cast<std::uint64_t>(value));
  }
};
template <>
struct Codec<Instant> {
  static constexpr Type type = Type::bigint;
  static void put(std::string& out, Instant value) { put_number(out, value.micros()); }
};
template <>
struct Codec<Duration> {
  static constexpr Type type = Type::bigint;
  static void put(std::string& out, Duration value) { put_number(out, value.count()); }
};
template <>
struct Codec<std::string_view> {
  static constexpr Type type = Type::text;
  static void put(std::string& out, std::string_view value) { put_bytes(out, value); }
};
template <>
struct Codec<std::string> : Codec<std::string_view> {};
template <>
struct Codec<Blob> {
  static constexpr Type type = Type::bytea;
  static void put(std::string& out, const Blob& value) { put_bytes(out, value.bytes); }
};
// 16 bytes, most significant first: the byte order is the order of guids, and their hex is Guid::text().
template <>
struct Codec<core::Guid> {
  static constexpr Type type = Type::bytea;
  static void put(std::string& out, const core::Guid& value) {
    put_32(out, 16);
    put_64(out, value.high);
    put_64(out, value.low);
  }
};
template <>
struct Codec<core::JobSecret> {  // NULL: none
  static constexpr Type type = Type::bytea;
  static void put(std::string& out, const core::JobSecret& value) {
    if (core::is_set(value))
      Codec<core::Guid>::put(out, value.raw());
    else
      put_null(out);
  }
};
template <>
struct Codec<Payload> {  // NULL: the empty one
  static constexpr Type type = Type::bytea;
  static void put(std::string& out, const Payload& value) {
    if (value.empty())
      put_null(out);
    else
      put_bytes(out, value.view());
  }
};
template <class Tag, class Rep>
struct Codec<Strong<Tag, Rep>> {
  static constexpr Type type = Codec<Rep>::type;
  static void put(std::string& out, const Strong<Tag, Rep>& value) { Codec<Rep>::put(out, value.raw()); }
};
template <class T>
struct Codec<std::optional<T>> {
  static constexpr Type type = Codec<T>::type;
  static void put(std::string& out, const std::optional<T>& value) {
    if (value)
      Codec<T>::put(out, *value);
    else
      put_null(out);
  }
};

// An array of one dimension. One that holds only NULLs is sent empty: UNNEST in a select list returns NULL after the
// end of an array while another array has more, and that costs neither side anything.
class Array {
 public:
  explicit Array(Type type) : type_(type) {}
  template <class T>
  void add(const T& value) {
    const std::size_t before = elements_.size();
    Codec<T>::put(elements_, value);
    ++count_;
    is_null_ = is_null_ && elements_.size() == before + 4 && elements_.compare(before, 4, "\xff\xff\xff\xff") == 0;
  }
  std::size_t bytes() const { return elements_.size() + 20; }
  void put_value(std::string& out) const {
    put_32(out, is_null_ ? 0 : 1);
    put_32(out, 1);  // there may be NULLs
    put_32(out, static_cast<std::uint32_t>(type_));
    if (is_null_) return;
    put_32(out, count_);
    put_32(out, 1);  // the first index
    out.append(elements_);
  }

 private:
  Type type_;
  std::uint32_t count_ = 0;
  bool is_null_ = true;  // all of it
  std::string elements_;
};

}  // namespace wire

// Values that most rows have are sent as NULL: the statement says coalesce(column, 0), or false, or ''.
template <class T>
std::optional<T> unless_none(const T& value) {
  return value == T{} ? std::nullopt : std::optional<T>(value);
}

class Batch {
 public:
  template <class... Args>
  void row(const Args&... args) {
    if (columns_.empty()) (columns_.emplace_back(wire::Codec<Args>::type), ...);
    std::size_t column = 0;
    (columns_[column++].add(args), ...);
    ++rows_;
  }
  bool empty() const { return rows_ == 0; }
  std::size_t rows() const { return rows_; }
  const std::vector<wire::Array>& columns() const { return columns_; }

 private:
  std::vector<wire::Array> columns_;
  std::size_t rows_ = 0;
};

class Params {
 public:
  Params() = default;
  template <class... Args>
  static Params of(const Args&... args) {
    Params params;
    (params.add(args), ...);
    return params;
  }
  // The columns of the batch first. REQUIRES: it has a row.
  template <class... Args>
  static Params of_rows(const Batch& batch, const Args&... args) {
    Params params;
    for (const wire::Array& column : batch.columns()) params.add(column);
    (params.add(args), ...);
    return params;
  }

  template <class T>
  void add(const T& value) {
    std::string bytes;
    wire::Codec<T>::put(bytes, value);
    const bool null = bytes.compare(0, 4, "\xff\xff\xff\xff") == 0;
    values_.push_back({bytes.substr(4), null});
  }
  template <class T>
  void add(const std::vector<T>& values) {
    wire::Array array(wire::Codec<T>::type);
    for (const T& value : values) array.add(value);
    add(array);
  }

  void add(const wire::Array& array) {
    std::string bytes;
    bytes.reserve(array.bytes());
    array.put_value(bytes);
    values_.push_back({std::move(bytes), false});
  }

  struct Value {
    std::string bytes;
    bool null = false;
  };
  const std::vector<Value>& values() const { return values_; }

 private:
  std::vector<Value> values_;
};

}  // namespace pawl::store::postgres
