// Ctrl-C and SIGTERM as a state to query, or as a file descriptor to wait for: the first is a request, the second ends
// the process at once.
#pragma once

namespace pawl::cli {

// During its lifetime the signals are counted and have no other effect. One at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  bool asked() const;
  int descriptor() const;  // becomes readable with the first signal
};

inline constexpr int exit_code_interrupted = 130;

}  // namespace pawl::cli
