#include "mapping/suggest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace pawl::mapping {

namespace {

char folded(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// Insertions, removals, changes and swaps of neighbours, each counted once; case does not count.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_back(b.size() + 1);
  std::vector<std::size_t> back(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    two_back.swap(back);
    back.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = folded(a[i - 1]) == folded(b[j - 1]);
      row[j] = std::min({back[j] + 1, row[j - 1] + 1, back[j - 1] + (same ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], two_back[j - 2] + 1);
    }
  }
  return row[b.size()];
}

constexpr std::size_t name_bytes_max = 64;  // longer names are not worth the comparison

constexpr std::size_t beginning_bytes_min = 3;

// The only name that begins so: somebody wrote a short form of it.
std::string_view whole_word(std::string_view beginning, std::span<const std::string_view> known) {
  if (beginning.size() < beginning_bytes_min) return {};
  std::string_view found;
  for (const std::string_view name : known) {
    const bool begins =
        name.size() > beginning.size() && std::equal(beginning.begin(), beginning.end(), name.begin(),
                                                     [](char a, char b) { return folded(a) == folded(b); });
    if (!begins) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return found;
}

}  // namespace

std::string_view nearest(std::string_view wrong, std::span<const std::string_view> known) {
  if (wrong.empty() || wrong.size() > name_bytes_max) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, wrong.size() / 3) + 1;
  for (const std::string_view name : known) {
    const std::size_t distance = edit_distance(wrong, name);
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return best.empty() ? whole_word(wrong, known) : best;
}

}  // namespace pawl::mapping
