#include "runtime/due_table.h"

#include <iterator>

namespace pawl::runtime {

void DueTable::forget_horizon() {
  horizon_.reset();
  complete_ = false;
}

void DueTable::add_page(const std::vector<store::Due>& page, std::size_t rows_asked) {
  entries_.insert(page.begin(), page.end());
  if (!page.empty()) horizon_ = page.back();
  complete_ = page.size() < rows_asked;
  trim();
}

void DueTable::add(const store::Due& due) {
  const bool will_be_read = !complete_ && (!horizon_ || *horizon_ < due);
  if (will_be_read) return;
  entries_.insert(due);
  trim();
}

void DueTable::trim() {
  while (entries_.size() > entries_max_) {
    entries_.erase(std::prev(entries_.end()));
    horizon_ = *entries_.rbegin();
    complete_ = false;
  }
}

std::optional<Instant> DueTable::next() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.begin()->at;
}

std::optional<store::Due> DueTable::take(Instant now) {
  if (entries_.empty() || entries_.begin()->at > now) return std::nullopt;
  return entries_.extract(entries_.begin()).value();
}

}  // namespace pawl::runtime
