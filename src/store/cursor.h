// Cursor: how far a reader has read rows of several lanes: one place in each lane.
//
// 1. Lanes commit in parallel. With one number over all lanes, a reader could pass a commit that is still under way in
//    another lane and miss its rows. The numbers of one lane follow the order of its commits.
// 2. Outside the store a cursor is an opaque text: a version, the kind of list, and the places. A text that was not
//    made here, or was cut, is a clear error.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/ids.h"
#include "pawl/result.h"

namespace pawl::store {

class Cursor {
 public:
  // The kind of list. The letter is part of the text: never change one.
  enum class Of : char { announcements = 'a', oldest_jobs = 'o', newest_jobs = 'n' };

  explicit Cursor(Of of) : of_(of) {}
  static Result<Cursor> parse(std::string_view text, Of of);

  // 0: the beginning.
  std::uint64_t place(core::LaneId lane) const;
  void set(core::LaneId lane, std::uint64_t place) { places_[lane] = place; }
  std::string text() const;

  friend bool operator==(const Cursor&, const Cursor&) = default;

 private:
  Of of_;
  std::map<core::LaneId, std::uint64_t> places_;
};

}  // namespace pawl::store
