// Cursor: how far somebody has read what lies in several lanes: a place in each of them.
//
// 1. Lanes commit side by side. One number over all of them would be passed by a commit that is still on its way in
//    another lane, and what it brings would be missed; a lane's own numbers are given in the order of its commits.
// 2. Outside the store it is a text that means nothing to its holder: a version, what it is a place in, and the places.
//    A text that was not made here, or was cut, is an error that says so.
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
  // What it is a place in; a letter of the text, so never change one.
  enum class Of : char { announcements = 'a', oldest_jobs = 'o', newest_jobs = 'n' };

  explicit Cursor(Of of) : of_(of) {}
  static Result<Cursor> parse(std::string_view text, Of of);

  // 0: none.
  std::uint64_t place(core::LaneId lane) const;
  void set(core::LaneId lane, std::uint64_t place) { places_[lane] = place; }
  std::string text() const;

  friend bool operator==(const Cursor&, const Cursor&) = default;

 private:
  Of of_;
  std::map<core::LaneId, std::uint64_t> places_;
};

}  // namespace pawl::store
