#include "check_ledgers.h"

#include <set>

#include "ledgers.h"

namespace storm {

LedgerCheck check_ledgers(const ExpectedActivity& expected, const ActivityRow& row,
                          const std::vector<const MessageRow*>& messages) {
  LedgerCheck result;
  const auto problem = [&](std::string text) { result.problems.push_back(std::move(text)); };
  const Digits ledger = read_activity_ledger(row.ledger);
  if (!ledger.legal) problem("ledger " + row.ledger + " is not legal");
  result.concluded = ledger.work == 1;
  if (result.concluded) {
    if (row.output != expected.output) problem("output '" + row.output + "', expected '" + expected.output + "'");
    if (row.status != expected.status || row.code != expected.code)
      problem("status " + std::to_string(row.status) + " code " + std::to_string(row.code));
  } else if (row.status != activity_open) {
    problem("not concluded, but its status is " + std::to_string(row.status));
  }
  const auto count = static_cast<std::int64_t>(messages.size());
  if (ledger.entries != count)
    problem("ledger " + row.ledger + " counts " + std::to_string(ledger.entries) + " entries, the store has " +
            std::to_string(count));
  if (!expected.may_be_cut) {
    if (!result.concluded || ledger.children != 1) problem("ledger " + row.ledger + " is not done");
    if (count != expected.messages)
      problem(std::to_string(count) + " messages, expected " + std::to_string(expected.messages));
  }

  std::set<std::int64_t> ordinals;
  for (const MessageRow* message : messages) {
    const Digits digits = read_message_ledger(message->ledger);
    if (!digits.legal) problem("message ledger " + message->ledger + " is not legal");
    if (!ordinals.insert(digits.entries).second || digits.entries > count)
      problem("message ledger " + message->ledger + " has an ordinal that is taken or too high");
    if (digits.fourth == 1) ++result.closers;
    if (digits.fourth != digits.completion) problem("message ledger " + message->ledger + " owes the completion tasks");
    if (!expected.may_be_cut && digits.children != 1) problem("message ledger " + message->ledger + " is half done");
  }
  if (ledger.completion != (result.closers > 0 ? 1 : 0))
    problem("ledger " + row.ledger + " and its messages differ on who closed the job");
  return result;
}

}  // namespace storm
