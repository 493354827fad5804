// CollationPattern: a search over collation keys, such as "all jobs where `ate` is errored".
//
//   pattern = one character per activity, then perhaps * for "and whatever follows"
//   3 .. 9  = exactly this state        ? = any state
//
// Without * the job has exactly as many activities as the pattern; a pattern of 15 characters may be padded with 0 like
// a key, so a key is its own pattern. It matches the job itself: the digits of awaited jobs are skipped.
#pragma once

#include "ledger/collation_key.h"
#include "pawl/result.h"

#include <string>
#include <string_view>

namespace pawl::ledger {

class CollationPattern {
 public:
  static Result<CollationPattern> parse(std::string_view text);
  // Fails with not_found when the graph has no such activity.
  static Result<CollationPattern> where(const ActivityOrder& order, std::string_view activity_id,
                                        CollationKey::State state);

  bool matches(const CollationKey& key) const;
  const std::string& text() const { return text_; }

  friend bool operator==(const CollationPattern&, const CollationPattern&) = default;

 private:
  explicit CollationPattern(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace pawl::ledger
