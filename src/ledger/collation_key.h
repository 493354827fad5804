// CollationKey: the state of a whole job in one text, one digit per activity, ids in ascending order. A view for people
// and for searching; no decision depends on it.
//
//   key      = activities, padded with 0 on the right to 15 digits; longer ones just grow
//   activity = state digit, and for an activity that awaits a job: 1, that job's activities, 2
//
// A key that contains an awaited job is written without padding, as in "99996146636629".
// No state is written 0, 1 or 2, so the text can be read in only one way.
#pragma once

#include "ledger/activity_order.h"
#include "pawl/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::ledger {

class CollationKey {
 public:
  // The number is the digit that is shown and stored: never renumber.
  enum class State : std::uint8_t {
    skipped = 3,
    released = 4,
    paused = 5,
    completed = 6,
    errored = 7,
    started = 8,
    pending = 9,
  };
  using States = std::map<std::string, State, std::less<>>;

  static constexpr std::size_t activities_max = ActivityOrder::activities_max;
  static constexpr std::size_t digits_max = 100'000;    // all awaited jobs together
  static constexpr std::size_t awaited_depth_max = 32;  // a job awaits a job awaits a job ...

  static Result<CollationKey> from(const States& states);
  // Reads only what text() writes.
  static Result<CollationKey> parse(std::string_view text);
  std::string text() const;

  // One digit per activity of this job: no padding, no awaited jobs.
  std::string own_digits() const;
  // The state of this job's own activity at `position`, counted from 0. REQUIRES: there is such an activity.
  State state(std::size_t position) const;
  std::optional<CollationKey> awaited(std::size_t position) const;

  // The same key with the awaited job's digits behind the activity that awaits it. Fails with not_found when there is
  // no such position, already_exists when that activity already awaits a job.
  Result<CollationKey> with_awaited(std::size_t position, const CollationKey& job) const;

  // No activity of this job can still do anything: none is pending, started or paused. Awaited jobs do not count,
  // because the awaiting activity itself stays started until the answer is there.
  bool is_complete() const;
  bool has(State state) const;

  friend bool operator==(const CollationKey&, const CollationKey&) = default;

 private:
  explicit CollationKey(std::string digits) : digits_(std::move(digits)) {}
  std::size_t offset_of(std::size_t position) const;  // digits_.size() when there is none

  std::string digits_;  // without padding
};

constexpr char digit_of(CollationKey::State state) { return static_cast<char>('0' + static_cast<int>(state)); }
std::string_view name_of(CollationKey::State state);
// By the name that name_of() returns, for search requests written by people.
std::optional<CollationKey::State> find_state(std::string_view name);

}  // namespace pawl::ledger
