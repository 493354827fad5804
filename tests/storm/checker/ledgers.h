// The digits of docs/LEDGER.md, read from text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace storm {

struct Digits {
  std::int64_t attempts = 0;  // of an activity; 0 on a message
  int fourth = 0;             // activity: leg 1 complete; message: closed the job
  int work = 0, children = 0, completion = 0;
  std::int64_t entries = 0;  // message: its ordinal
  bool legal = false;        // 15 digits, marks 0 or 1, in their order
};

inline Digits read_digits(const std::string& text) {
  Digits digits;
  const bool numeric =
      text.size() == 15 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!numeric) return digits;
  digits.attempts = std::stoll(text.substr(0, 3));
  digits.fourth = text[3] - '0';
  digits.work = text[4] - '0';
  digits.children = text[5] - '0';
  digits.completion = text[6] - '0';
  digits.entries = std::stoll(text.substr(7));
  digits.legal = std::max({digits.fourth, digits.work, digits.children, digits.completion}) <= 1;
  return digits;
}

inline Digits read_activity_ledger(const std::string& text) {
  Digits digits = read_digits(text);
  const bool ordered = (digits.work == 0 || digits.fourth == 1) && digits.children <= digits.work &&
                       (digits.completion == 0 || digits.work == 1);
  digits.legal = digits.legal && ordered && digits.attempts >= 1;
  return digits;
}

// The nine combinations that exist.
inline Digits read_message_ledger(const std::string& text) {
  Digits digits = read_digits(text);
  const bool ordered = digits.children <= digits.work && digits.completion <= digits.fourth;
  digits.legal = digits.legal && ordered && digits.attempts == 0 && digits.entries >= 1;
  return digits;
}

}  // namespace storm
