#include "runtime/due_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/limits.h"

namespace pawl::runtime {

void DueTable::forget_horizon() {
  entries_.clear();  // all are in the store: reading again leaves no gap
  horizon_.reset();
  complete_ = false;
  asked_ = false;
  meanwhile_.clear();
  looked_at_ = {};
}

std::uint64_t DueTable::ask_page() {
  asked_ = true;
  return ++last_asked_;
}

void DueTable::page_failed(std::uint64_t number) {
  if (!asked_ || number != last_asked_) return;
  asked_ = false;
  meanwhile_.clear();  // all are in the store: the next page has them
}

void DueTable::add_page(std::uint64_t number, const std::vector<store::Due>& page, std::size_t rows_asked) {
  if (!asked_ || number != last_asked_) return;
  asked_ = false;
  ++pages_;
  entries_.insert(page.begin(), page.end());
  if (!page.empty()) horizon_ = page.back();
  complete_ = page.size() < rows_asked;
  trim();
  for (const store::Due& due : std::exchange(meanwhile_, {})) add(due);
}

void DueTable::add(const store::Due& due) {
  const bool will_be_read = !complete_ && (!horizon_ || *horizon_ < due);
  if (will_be_read && asked_) meanwhile_.insert(due);
  if (meanwhile_.size() > entries_max_) forget_horizon();  // too many to remember: read again
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

void DueTable::remind(const store::Due& due) {
  reminders_.insert(due);
  // The latest are dropped: they are found again when the list is read from its beginning.
  if (reminders_.size() > limits::due_reminders_max) reminders_.erase(std::prev(reminders_.end()));
}

std::optional<Instant> DueTable::next() const {
  std::optional<Instant> next;
  for (const auto* list : {&entries_, &reminders_})
    if (!list->empty() && (!next || list->begin()->at < *next)) next = list->begin()->at;
  return next;
}

const store::Due* DueTable::first(Instant now) const {
  for (const auto* list : {&entries_, &reminders_})
    if (!list->empty() && list->begin()->at <= now) return &*list->begin();
  return nullptr;
}

std::optional<store::Due> DueTable::take(Instant now) {
  for (auto* list : {&entries_, &reminders_})
    if (!list->empty() && list->begin()->at <= now) return list->extract(list->begin()).value();
  return std::nullopt;
}

// What is due already needs no look: it is about to be taken.
std::set<store::Due>::const_iterator DueTable::first_ahead(Instant now) const {
  const store::Due last_due{now, RunId(~std::uint64_t{0}), store::Due::Kind::key};
  return entries_.upper_bound(std::max(looked_at_, last_due));
}

bool DueTable::has_room_for_page() const {
  return !complete_ && !asked_ && horizon_ && entries_.size() + limits::due_page_rows <= entries_max_;
}

std::optional<Instant> DueTable::next_ahead(Instant now) const {
  const auto next = first_ahead(now);
  if (next != entries_.end()) return next->at;
  if (has_room_for_page() && horizon_->at > now) return horizon_->at;
  return std::nullopt;
}

std::optional<store::Due> DueTable::take_ahead(Instant now, Instant until) {
  const auto next = first_ahead(now);
  if (next == entries_.end() || next->at > until) return std::nullopt;
  looked_at_ = *next;
  return looked_at_;
}

bool DueTable::wants_page_ahead(Instant now, Instant until) const {
  return has_room_for_page() && horizon_->at > now && horizon_->at <= until && first_ahead(now) == entries_.end();
}

}  // namespace pawl::runtime
