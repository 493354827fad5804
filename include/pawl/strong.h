// Strong<Tag, Rep>: a value with a name. No implicit conversion in either direction, no arithmetic, no
// default value: two ids of different meaning cannot be swapped by accident.
//
//   using Account = pawl::Strong<struct AccountTag, int>;
//   inline int number_of(Account account) { return account.raw(); }
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <utility>

namespace pawl {

template <class Tag, class Rep>
class Strong {
 public:
  using rep = Rep;

  explicit constexpr Strong(Rep value) : value_(std::move(value)) {}
  constexpr const Rep& raw() const { return value_; }  // the only way back, easy to grep

  friend constexpr auto operator<=>(const Strong&, const Strong&) = default;
  friend constexpr bool operator==(const Strong&, const Strong&) = default;

 private:
  Rep value_;
};

}  // namespace pawl

template <class Tag, class Rep>
struct std::hash<pawl::Strong<Tag, Rep>> {
  std::size_t operator()(const pawl::Strong<Tag, Rep>& value) const noexcept { return std::hash<Rep>{}(value.raw()); }
};
