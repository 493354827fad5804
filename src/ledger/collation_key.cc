#include "ledger/collation_key.h"

#include "base/format.h"
#include "base/invariant.h"
#include "ledger/digit_map.h"

#include <cstdlib>
#include <iterator>
#include <vector>

namespace pawl::ledger {

namespace {

using State = CollationKey::State;

constexpr char unused = '0';
constexpr char opens = '1';   // the left parenthesis
constexpr char closes = '2';  // the right parenthesis
constexpr std::size_t padded_length = digit_count;
constexpr std::size_t shown_length_max = 64;

constexpr State all_states[] = {State::skipped, State::released, State::paused, State::completed,
                                State::errored, State::started,  State::pending};

constexpr bool is_state(char c) { return c >= digit_of(State::skipped) && c <= '9'; }

Error invalid(std::string_view text, std::string_view why) {
  return Error{ErrorCode::invalid, format("collation key \"{}\": {}", text.substr(0, shown_length_max), why)};
}

Error over_limit(std::string_view what, std::size_t count, std::size_t max) {
  return Error{ErrorCode::over_limit, format("a collation key with {} {}; at most {} are allowed", count, what, max)};
}

// The offset behind the activity whose digit is at `at`, including its awaited job.
std::size_t behind(std::string_view digits, std::size_t at) {
  std::size_t end = at + 1;
  std::size_t depth = 0;
  while (end < digits.size() && (depth > 0 || digits[end] == opens)) {
    if (digits[end] == opens) ++depth;
    if (digits[end] == closes && --depth == 0) return end + 1;
    ++end;
  }
  return end;
}

// Checks the digits, without padding, against the grammar of the header and every limit.
Status check(std::string_view digits) {
  if (digits.empty()) return invalid(digits, "a job has at least one activity");
  if (digits.size() > CollationKey::digits_max) return over_limit("digits", digits.size(), CollationKey::digits_max);
  std::vector<std::size_t> activities = {0};  // of each job that is open here, outermost first
  char before = opens;                        // a job begins as if behind a parenthesis
  for (const char c : digits) {
    if (c == opens) {
      if (!is_state(before)) return invalid(digits, "1 stands only behind the activity that awaits a job");
      if (activities.size() > CollationKey::awaited_depth_max)
        return over_limit("nested jobs", activities.size(), CollationKey::awaited_depth_max);
      activities.push_back(0);
    } else if (c == closes) {
      if (before == opens) return invalid(digits, "an awaited job has at least one activity");
      activities.pop_back();
      if (activities.empty()) return invalid(digits, "2 without its 1");
    } else if (!is_state(c)) {
      return invalid(digits, "a digit is no state; 0 only fills up a key to 15 digits");
    } else if (++activities.back() > CollationKey::activities_max) {
      return over_limit("activities", activities.back(), CollationKey::activities_max);
    }
    before = c;
  }
  if (activities.size() > 1) return invalid(digits, "1 without its 2");
  return {};
}

}  // namespace

Result<CollationKey> CollationKey::from(const States& states) {
  std::string digits;
  digits.reserve(states.size());
  for (const auto& [id, state] : states) digits.push_back(digit_of(state));
  if (const Status checked = check(digits); !checked) return checked.error();
  return CollationKey(std::move(digits));
}

Result<CollationKey> CollationKey::parse(std::string_view text) {
  const std::string_view digits = text.substr(0, text.find_last_not_of(unused) + 1);
  if (const Status checked = check(digits); !checked) return checked.error();
  CollationKey key{std::string(digits)};
  // One text per key: the same job is never found under two texts.
  if (key.text() != text) return invalid(text, "not padded as keys are");
  return key;
}

std::string CollationKey::text() const {
  std::string text = digits_;
  const bool composed = digits_.find(opens) != std::string::npos;
  if (!composed && text.size() < padded_length) text.resize(padded_length, unused);
  return text;
}

std::size_t CollationKey::offset_of(std::size_t position) const {
  std::size_t at = 0;
  for (; position > 0 && at < digits_.size(); --position) at = behind(digits_, at);
  return at;
}

std::string CollationKey::own_digits() const {
  std::string own;
  for (std::size_t at = 0; at < digits_.size(); at = behind(digits_, at)) own.push_back(digits_[at]);
  return own;
}

CollationKey::State CollationKey::state(std::size_t position) const {
  const std::size_t at = offset_of(position);
  invariant(at < digits_.size(), "a position comes from the job's own activities");
  return static_cast<State>(digits_[at] - '0');
}

std::optional<CollationKey> CollationKey::awaited(std::size_t position) const {
  const std::size_t at = offset_of(position);
  invariant(at < digits_.size(), "a position comes from the job's own activities");
  const std::size_t end = behind(digits_, at);
  if (end == at + 1) return std::nullopt;
  return CollationKey(digits_.substr(at + 2, end - at - 3));  // between the parentheses
}

Result<CollationKey> CollationKey::with_awaited(std::size_t position, const CollationKey& job) const {
  const std::size_t at = offset_of(position);
  if (at >= digits_.size())
    return Error{ErrorCode::not_found, format("no activity at position {} of collation key {}", position, text())};
  if (behind(digits_, at) != at + 1)
    return Error{ErrorCode::already_exists,
                 format("the activity at position {} of collation key {} awaits a job already", position, text())};
  std::string digits = digits_;
  digits.insert(at + 1, opens + job.digits_ + closes);
  if (const Status checked = check(digits); !checked) return checked.error();
  return CollationKey(std::move(digits));
}

bool CollationKey::is_complete() const {
  const std::string own = own_digits();
  constexpr char active[] = {digit_of(State::pending), digit_of(State::started), digit_of(State::paused)};
  return own.find_first_of(std::string_view(active, std::size(active))) == std::string::npos;
}

bool CollationKey::has(State state) const { return own_digits().find(digit_of(state)) != std::string::npos; }

std::string_view name_of(CollationKey::State state) {
  switch (state) {
    case State::skipped:
      return "skipped";
    case State::released:
      return "released";
    case State::paused:
      return "paused";
    case State::completed:
      return "completed";
    case State::errored:
      return "errored";
    case State::started:
      return "started";
    case State::pending:
      return "pending";
  }
  std::abort();
}

std::optional<CollationKey::State> find_state(std::string_view name) {
  for (const State state : all_states)
    if (name_of(state) == name) return state;
  return std::nullopt;
}

}  // namespace pawl::ledger
