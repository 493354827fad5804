// Sums: how many records of each kind there are, and a checksum over them that does not depend on their order. Two
// stores with the same sums have the same content, except for a chance of one in 2^64.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "store/transfer/record.h"

namespace pawl::store::transfer {

struct Sum {
  std::uint64_t records = 0;
  std::uint64_t high = 0, low = 0;
  std::string text() const;  // 32 hexadecimal digits
  friend bool operator==(const Sum&, const Sum&) = default;
};

class Sums {
 public:
  void add(const Record& record);
  const Sum& of(std::size_t kind) const { return sums_[kind]; }
  std::uint64_t records() const;
  std::uint64_t bytes() const { return bytes_; }  // of all records in their neutral form
  // The differences, for people; empty: none.
  std::string differences(const Sums& other) const;

 private:
  std::array<Sum, kinds> sums_{};
  std::uint64_t bytes_ = 0;
};

}  // namespace pawl::store::transfer
