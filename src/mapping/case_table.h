// The case of one character. Most map to one, some to two or three ("ß" to "SS").
#pragma once

#include <array>
#include <cstdint>

namespace pawl::mapping {

struct CaseMapping {
  std::array<char32_t, 3> points;  // ends at the first 0
};

CaseMapping lower_case(char32_t point);
CaseMapping upper_case(char32_t point);

}  // namespace pawl::mapping
