// A shell command: run with /bin/sh -c in a process group of its own, fed with an input, heard while it runs. What it
// leaves running ends with it.
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
  std::vector<std::pair<std::string, std::string>> environment;  // beside what this process has
  std::string input;                                             // its standard input
};

// Called on the thread that runs the command.
struct ShellListener {
  std::function<void(std::string_view)> output;  // some bytes of the standard output
  std::function<void(std::string_view)> errors;  // likewise
  // Asked now and then. False: the whole process group is ended, first politely.
  std::function<bool()> goes_on;
};

struct ShellEnd {
  int exit_code = 0;  // 128 + n when signal n ended it, as shells say it
  bool ended_by_us = false;
};

// An error means that it could not be started; retry_later: for our own lack of descriptors, processes or memory, so
// it may well be a moment later.
Result<ShellEnd> run_shell(const ShellCommand& command, const ShellListener& listener);

}  // namespace pawl::cli
