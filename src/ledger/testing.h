// Shared by the tests of this folder: values made from digits as they are written in the documents.
#pragma once

#include "ledger/activity_ledger.h"
#include "ledger/message_ledger.h"
#include "pawl/result.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cstdint>
#include <string_view>

namespace pawl::ledger {

inline std::uint64_t number_of(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

inline ActivityLedger activity(std::string_view digits) { return ActivityLedger::decode(number_of(digits)).value(); }

inline MessageLedger message(std::string_view digits) { return MessageLedger::decode(number_of(digits)).value(); }

// "ok", or the name of the error: compares in one line and prints well.
template <class T>
std::string_view outcome(const Result<T>& result) {
  return result ? "ok" : name_of(result.error().code);
}

}  // namespace pawl::ledger
