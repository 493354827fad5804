// A shell command: run with /bin/sh -c in a separate process group, with an input; its output is read while it runs.
// Processes that it leaves behind end with it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pawl/result.h"

namespace pawl::cli {

struct ShellCommand {
  std::string command;
  std::vector<std::pair<std::string, std::string>> environment;  // added to this process's environment
  std::string input;                                             // its standard input
};

// Called on the thread that runs the command.
struct ShellListener {
  std::function<void(std::string_view)> output;  // some bytes of the standard output
  std::function<void(std::string_view)> errors;  // some bytes of the standard error
  // Called from time to time. False: the whole process group is ended, first with SIGTERM.
  std::function<bool()> goes_on;
};

struct ShellEnd {
  int exit_code = 0;  // 128 + n when signal n ended it, as in shells
  bool ended_by_us = false;
};

// An error means that it could not be started. retry_later: this process lacked descriptors, processes or memory, so it
// may succeed a moment later.
Result<ShellEnd> run_shell(const ShellCommand& command, const ShellListener& listener);

}  // namespace pawl::cli
