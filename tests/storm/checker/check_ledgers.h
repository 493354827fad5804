// One activity instance of a job that has ended: its row, its messages, and its model.
#pragma once

#include <string>
#include <vector>

#include "history.h"
#include "model.h"

namespace storm {

struct LedgerCheck {
  std::vector<std::string> problems;
  bool concluded = false;
  int closers = 0;  // messages that closed the job and ran its completion tasks
};

LedgerCheck check_ledgers(const ExpectedActivity& expected, const ActivityRow& row,
                          const std::vector<const MessageRow*>& messages);

}  // namespace storm
