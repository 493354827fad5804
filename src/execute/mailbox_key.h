// The name under which a signal meets the hooks that wait for it: the rule's hash, then the values that both sides must
// agree on. The waiting job computes it from `expected`, the signal from `actual`; equal values give equal texts.
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <string>

#include "execute/plan.h"
#include "pawl/payload.h"
#include "pawl/result.h"

namespace pawl::execute {

inline constexpr std::size_t mailbox_key_bytes_max = 1024;

// Errors: over_limit.
Result<std::string> mailbox_key(std::uint64_t rule, boost::json::array values);

// The keys of all rules of a topic for this payload. Errors: not_found when no hook of the app
// waits for the topic; invalid when the payload fits the schema of none of them.
Result<std::vector<std::string>> mailbox_keys(const AppPlan& app, std::string_view topic,
                                              const boost::json::value& payload);

}  // namespace pawl::execute
