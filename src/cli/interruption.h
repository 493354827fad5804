// Ctrl-C and SIGTERM as something to ask about: the first is a wish, the second ends the process at once.
#pragma once

namespace pawl::cli {

// While it lives, the signals are counted and not obeyed. One at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  bool asked() const;
};

inline constexpr int exit_code_interrupted = 130;

}  // namespace pawl::cli
