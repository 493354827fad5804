#include "mapping/functions/sort.h"

#include "mapping/convert.h"
#include "mapping/text.h"

#include <boost/json/array.hpp>

#include <algorithm>
#include <bit>
#include <string_view>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

int rank_of(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return 0;
    case json::kind::bool_:
      return 1;
    case json::kind::string:
      return 3;
    case json::kind::array:
      return 4;
    case json::kind::object:
      return 5;
    default:
      return 2;
  }
}

// The order of an English dictionary: marks, digits, then letters with both cases together.
int locale_weight(char c) {
  constexpr std::string_view marks = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
  if (c >= '0' && c <= '9') return 100 + c - '0';
  if (c >= 'a' && c <= 'z') return 200 + c - 'a';
  if (c >= 'A' && c <= 'Z') return 200 + c - 'A';
  const std::size_t mark = marks.find(c);
  if (mark != std::string_view::npos) return 1 + static_cast<int>(mark);
  return static_cast<unsigned char>(c) < 0x80 ? 0 : 300 + static_cast<unsigned char>(c);
}

int compare_locale_like(std::string_view a, std::string_view b) {
  const std::size_t common = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < common; ++i) {
    const int difference = locale_weight(a[i]) - locale_weight(b[i]);
    if (difference != 0) return difference;
  }
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return -compare_units(a, b);  // small letters before capitals
}

int compare(const json::value& a, const json::value& b, const SortOrder& order) {
  const int rank = rank_of(a);
  if (rank != rank_of(b)) return rank - rank_of(b);
  if (a.is_string()) {
    return order.locale_like ? compare_locale_like(a.get_string(), b.get_string())
                             : compare_units(a.get_string(), b.get_string());
  }
  if (a.is_bool()) return static_cast<int>(a.get_bool()) - static_cast<int>(b.get_bool());
  if (a.is_int64() && b.is_int64()) return a.get_int64() < b.get_int64() ? -1 : a.get_int64() > b.get_int64();
  if (is_number(a)) return number_of(a) < number_of(b) ? -1 : number_of(a) > number_of(b);
  return 0;  // arrays and objects keep their order
}

bool charge_sort(const json::array& array, Budget& budget) {
  constexpr std::uint64_t text_bytes_per_step = 64;
  std::uint64_t work = array.size();
  for (const json::value& value : array)
    if (value.is_string()) work += value.get_string().size() / text_bytes_per_step;
  return budget.spend_steps(work * std::bit_width(array.size()));
}

}  // namespace

void sort_values(json::array& array, const SortOrder& order, Budget& budget) {
  if (!charge_sort(array, budget)) return;
  std::stable_sort(array.begin(), array.end(), [&order](const json::value& a, const json::value& b) {
    const int difference = compare(a, b, order);
    return order.descending ? difference > 0 : difference < 0;
  });
}

}  // namespace pawl::mapping
