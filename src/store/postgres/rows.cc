#include "store/postgres/rows.h"

#include <bit>
#include <charconv>
#include <limits>
#include <string>

namespace pawl::store::postgres {

namespace {

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

}  // namespace

std::int64_t Rows::affected() const {
  if (!result_) return 0;
  const std::string_view text = PQcmdTuples(result_.get());
  std::int64_t rows = 0;
  std::from_chars(text.data(), text.data() + text.size(), rows);
  return rows;
}

std::string_view Rows::text(int column) const {
  return {PQgetvalue(result_.get(), row_, column), static_cast<std::size_t>(PQgetlength(result_.get(), row_, column))};
}

std::int64_t Rows::number(int column) {
  const std::string_view bytes = text(column);
  switch (bytes.size()) {
    case 8:
      return static_cast<std::int64_t>(big_endian(bytes));
    case 4:
      return static_cast<std::int32_t>(big_endian(bytes));
    case 2:
      return static_cast<std::int16_t>(big_endian(bytes));
    default:
      malformed_ = true;
      return 0;
  }
}

std::uint32_t Rows::small(int column) {
  const std::int64_t value = number(column);
  if (value >= 0 && value <= std::numeric_limits<std::uint32_t>::max()) return static_cast<std::uint32_t>(value);
  malformed_ = true;
  return 0;
}

std::int32_t Rows::integer(int column) {
  const std::int64_t value = number(column);
  if (value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max())
    return static_cast<std::int32_t>(value);
  malformed_ = true;
  return 0;
}

bool Rows::flag(int column) {
  const std::string_view bytes = text(column);
  if (bytes.size() != 1) malformed_ = true;
  return bytes == std::string_view("\1", 1);
}

double Rows::real(int column) {
  const std::string_view bytes = text(column);
  if (bytes.size() == 8) return std::bit_cast<double>(big_endian(bytes));
  malformed_ = true;
  return 0;
}

std::vector<std::string_view> Rows::array(int column) {
  // Dimensions, flags, type; then the number of elements and the first index; then each element with its length before
  // it.
  std::vector<std::string_view> elements;
  std::string_view bytes = text(column);
  const auto take = [&](std::size_t size) {
    if (bytes.size() < size) {
      malformed_ = true;
      return std::string_view();
    }
    const std::string_view taken = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return taken;
  };
  const std::uint64_t dimensions = big_endian(take(4));
  take(8);
  if (malformed_ || dimensions == 0) return elements;
  const std::uint64_t count = big_endian(take(4));
  take(4);
  for (std::uint64_t i = 0; i < count && !malformed_; ++i) elements.push_back(take(big_endian(take(4))));
  return elements;
}

Payload Rows::payload(int column) const { return is_null(column) ? Payload() : Payload(text(column)); }

core::Guid Rows::guid(int column) {
  const std::string_view bytes = text(column);
  if (bytes.size() == 16) return {big_endian(bytes.substr(0, 8)), big_endian(bytes.substr(8))};
  malformed_ = true;
  return {};
}

}  // namespace pawl::store::postgres
