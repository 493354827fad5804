#include "ledger/collation_pattern.h"

#include "base/format.h"
#include "ledger/digit_map.h"

#include <algorithm>

namespace pawl::ledger {

namespace {

constexpr char any_state = '?';
constexpr char any_rest = '*';
constexpr std::size_t padded_length = digit_count;

bool is_pattern_character(char c) { return c == any_state || (c >= '3' && c <= '9'); }

std::string_view without_padding(std::string_view text) {
  return text.size() == padded_length ? text.substr(0, text.find_last_not_of('0') + 1) : text;
}

}  // namespace

Result<CollationPattern> CollationPattern::parse(std::string_view text) {
  if (text.size() > CollationKey::activities_max + 1)
    return Error{ErrorCode::over_limit, format("a collation pattern has {} characters; at most {}", text.size(),
                                               CollationKey::activities_max + 1)};
  const std::string_view pattern = without_padding(text);
  if (pattern.empty()) return Error{ErrorCode::invalid, "a collation pattern without an activity matches nothing"};
  const bool open_ended = pattern.back() == any_rest;
  const std::string_view activities = pattern.substr(0, pattern.size() - (open_ended ? 1 : 0));
  const auto wrong = std::find_if_not(activities.begin(), activities.end(), is_pattern_character);
  if (wrong != activities.end())
    return Error{ErrorCode::invalid, format("collation pattern: character {} is none of 3 to 9, ? or a last *",
                                            wrong - activities.begin() + 1)};
  return CollationPattern(std::string(pattern));
}

Result<CollationPattern> CollationPattern::where(const ActivityOrder& order, std::string_view activity_id,
                                                 CollationKey::State state) {
  const auto position = order.find_position(activity_id);
  if (!position) return Error{ErrorCode::not_found, format("the graph has no activity \"{}\"", activity_id)};
  std::string text(*position, any_state);
  text.push_back(digit_of(state));
  text.push_back(any_rest);
  return CollationPattern(std::move(text));
}

bool CollationPattern::matches(const CollationKey& key) const {
  const std::string own = key.own_digits();
  const bool open_ended = text_.back() == any_rest;
  const std::size_t length = text_.size() - (open_ended ? 1 : 0);
  if (open_ended ? own.size() < length : own.size() != length) return false;
  for (std::size_t at = 0; at < length; ++at)
    if (text_[at] != any_state && text_[at] != own[at]) return false;
  return true;
}

}  // namespace pawl::ledger
