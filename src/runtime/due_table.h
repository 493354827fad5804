// DueTable: what is due next in one lane. The soonest entries are in memory; a horizon marks where they end, and the
// store is read beyond it when their time comes. A million timers cost no more than a thousand. Not thread-safe: the
// engine owns it.
//
// An entry only means "look there now": when its time comes, its subject may be over or due later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "store/store.h"

namespace pawl::runtime {

class DueTable {
 public:
  DueTable(Instant since, std::size_t entries_max) : since_(since), entries_max_(entries_max) {}

  // When the lane was taken. What was due before may have been served by an owner that is gone.
  Instant since() const { return since_; }

  // Other processes may have written: read the store from the beginning again.
  void forget_horizon();
  bool wants_page() const { return !complete_ && entries_.empty() && !asked_; }
  // Where the next page begins.
  const std::optional<store::Due>& horizon() const { return horizon_; }
  // The next page is being read. Entries that are added until it arrives may be missing on it, so they are kept
  // separately.
  std::uint64_t ask_page();
  // A page that was asked for before the horizon was forgotten is ignored.
  void add_page(std::uint64_t number, const std::vector<store::Due>& page, std::size_t rows_asked);
  void page_failed(std::uint64_t number);
  std::uint64_t pages() const { return pages_; }  // read so far
  // Just committed, so the store has it as well.
  void add(const store::Due& due);
  // Not in the store's list: the entry there has passed, and the item has a later time.
  void remind(const store::Due& due);

  std::optional<Instant> next() const;
  const store::Due* first(Instant now) const;  // what take() would return; none: nothing is due
  // The next one whose time has come.
  std::optional<store::Due> take(Instant now);

  // What will be due soon is looked at once before its time, in order; it stays in the table. The time of the next one
  // that was not looked at, or of the horizon, if the page behind it has to be read for that.
  std::optional<Instant> next_ahead(Instant now) const;
  std::optional<store::Due> take_ahead(Instant now, Instant until);
  bool wants_page_ahead(Instant now, Instant until) const;

 private:
  void trim();
  std::set<store::Due>::const_iterator first_ahead(Instant now) const;
  bool has_room_for_page() const;

  Instant since_;
  std::size_t entries_max_;
  std::set<store::Due> entries_;
  std::set<store::Due> reminders_;
  store::Due looked_at_;               // up to here it was looked at before its time
  std::optional<store::Due> horizon_;  // everything in the store up to here was read
  bool complete_ = false;              // the store has nothing beyond the horizon that was not added
  bool asked_ = false;                 // a page is being read
  std::uint64_t last_asked_ = 0;
  std::uint64_t pages_ = 0;
  std::set<store::Due> meanwhile_;  // added since the page was asked for, beyond the horizon
};

}  // namespace pawl::runtime
